// Records as rows of the ledger, and the sums of rows.

import { PARTIAL } from '../../engine/control/records.js'
import { DAY, FLAG_ESTIMATED, FLAG_HEDGED, FLAG_MIRROR, FLAG_STREAM, HOUR, RARE_METERS, ROLLUPS, SUMS } from '../store/columns.js'
import type { NameKind } from '../store/names.js'
import type { Store } from '../store/store.js'
import type { LedgerTable, Sums } from '../store/tables.js'
import type { Price, Pricing } from './price.js'
import type { ExchangeRecord } from './record.js'

/** A row, and its detail if it has one. */
export interface Entry {
  row: LedgerTable
  detail: string | undefined
  /** The accounts that it counts in, and the holder of the money; absent if it counts in none. */
  spending?: { accounts: readonly string[]; holder: string } | undefined
}

/** Characters of a text that a client may have chosen. */
const LONGEST = 256

const orNull = (value: number | undefined): number | null => value ?? null
const whole = (value: number | undefined): number | null => (value === undefined ? null : Math.round(value))

/** The columns that refer to texts by their ids: the kind of each text, and the text of a record. */
const NAMED = {
  key: ['key', ({ key }) => key],
  team: ['team', ({ team }) => team],
  grp: ['group', ({ group }) => group],
  end_user: ['end_user', ({ endUser }) => endUser],
  session: ['session', ({ session }) => session],
  tags: ['tags', tagsOf],
  model: ['model', ({ model }) => model],
  target: ['target', ({ target }) => target],
  route: ['route', ({ route }) => route],
  dialect: ['dialect', ({ dialect }) => dialect],
  upstream_dialect: ['dialect', ({ upstreamDialect }) => upstreamDialect],
  error: ['error', ({ error }) => error],
  price_set: ['price_set', (_record, price) => price?.set],
  purse: ['purse', ({ accounts }) => accounts],
  region: ['region', ({ region }) => region],
  facts: ['facts', ({ facts }) => facts],
} as const satisfies Partial<Record<keyof LedgerTable, readonly [NameKind, TextOf]>>

type TextOf = (record: ExchangeRecord, price: Price | undefined) => string | undefined
type NamedColumn = keyof typeof NAMED

const NAMED_COLUMNS = Object.keys(NAMED) as NamedColumn[]

/** Makes rows of records; names that are new are added to the store. */
export async function rowsOf(records: readonly ExchangeRecord[], store: Store, pricing: Pricing): Promise<Entry[]> {
  const prices = records.map(pricing)
  const texts: (readonly [NameKind, string] | undefined)[] = []
  records.forEach((record, index) => {
    for (const column of NAMED_COLUMNS) texts.push(namedText(column, record, prices[index]))
  })
  const ids = await store.names.idsOf(texts)
  let next = 0
  return records.map((record, index) => {
    const names = {} as Record<NamedColumn, number | null>
    for (const column of NAMED_COLUMNS) names[column] = ids[next++] as number | null
    return { row: rowOf(record, names, prices[index]), detail: detailOf(record), spending: spendingOf(record) }
  })
}

/** A text in a column, cut if a client may have chosen it. */
function namedText(column: NamedColumn, record: ExchangeRecord, price: Price | undefined): readonly [NameKind, string] | undefined {
  const [kind, textOf] = NAMED[column]
  const text = textOf(record, price)
  if (text === undefined || text === '') return undefined
  return [kind, column === 'purse' ? text : text.slice(0, LONGEST)]
}

function rowOf(record: ExchangeRecord, names: Record<NamedColumn, number | null>, price: Price | undefined): LedgerTable {
  return {
    id: record.id,
    at: record.at,
    ...names,
    ...rareOf(record),
    status: record.status,
    ended: record.ended,
    flags:
      (record.isStream ? FLAG_STREAM : 0) +
      (record.isEstimated ? FLAG_ESTIMATED : 0) +
      (record.isMirror ? FLAG_MIRROR : 0) +
      (record.isHedged ? FLAG_HEDGED : 0),
    input: whole(record.input),
    output: whole(record.output),
    cached: whole(record.cached),
    cache_write: whole(record.cacheWrite),
    reasoning: whole(record.reasoning),
    cost: orNull(price?.cost),
    charge: orNull(price?.charge),
    attempts: record.attempts,
    first_token_ms: whole(record.firstToken),
    total_ms: Math.round(record.total),
    bytes_in: record.bytesIn,
    bytes_out: record.bytesOut,
  }
}

type Rare = Pick<LedgerTable, (typeof RARE_METERS)[number]>

const NOTHING = Object.fromEntries(RARE_METERS.map(name => [name, null])) as unknown as Rare

/** The amounts of meters that most exchanges do not use. */
function rareOf({ words }: ExchangeRecord): Rare {
  const meters = words?.meters
  if (meters === undefined) return NOTHING
  const rare = { ...NOTHING }
  for (const name of RARE_METERS) if (meters[name] !== undefined) rare[name] = name === 'second' ? meters[name] : Math.round(meters[name])
  return rare
}

/** The tags of the key and those of the request, as one list. */
function tagsOf(record: ExchangeRecord): string | undefined {
  const more = record.words?.tags
  if (more === undefined) return record.tags
  const own = record.tags === undefined ? [] : (JSON.parse(record.tags) as string[])
  return JSON.stringify([...new Set([...own, ...more])].sort())
}

function spendingOf({ accounts, worker }: ExchangeRecord): Entry['spending'] {
  if (accounts === undefined || worker === undefined) return undefined
  return { accounts: JSON.parse(accounts) as string[], holder: worker }
}

function detailOf({ words }: ExchangeRecord): string | undefined {
  if (words === undefined) return undefined
  const { message, cause, failed, cancelled, dropped } = words
  return message === undefined && failed === undefined && cancelled === undefined && dropped === undefined
    ? undefined
    : JSON.stringify({ message, cause, failed, cancelled, dropped })
}

type Rollup = keyof typeof ROLLUPS
type Column = (typeof ROLLUPS)[Rollup][number]

const NAMES = Object.keys(ROLLUPS) as Rollup[]

/** The sums that rows add to each rollup: lists of the columns that it is grouped by and its sums, in the order of their keys. */
export function sumsOf(rows: readonly LedgerTable[], part: number): Record<Rollup, number[][]> {
  const all = Object.fromEntries(NAMES.map(name => [name, new Map<string, number[]>()])) as Record<Rollup, Map<string, number[]>>
  for (const row of rows) {
    const values: Record<Column, number> = {
      hour: Math.floor(row.at / HOUR),
      day: Math.floor(row.at / DAY),
      part,
      key: row.key ?? 0,
      team: row.team ?? 0,
      grp: row.grp ?? 0,
      end_user: row.end_user ?? 0,
      tags: row.tags ?? 0,
      model: row.model ?? 0,
      target: row.target ?? 0,
      route: row.route ?? 0,
      region: row.region ?? 0,
    }
    const sums = sumsOfRow(row)
    for (const name of NAMES) add(all[name], ROLLUPS[name], values, sums)
  }
  return Object.fromEntries(NAMES.map(name => [name, sorted(all[name], ROLLUPS[name].length)])) as Record<Rollup, number[][]>
}

function sorted(map: Map<string, number[]>, width: number): number[][] {
  return [...map.values()].sort((left, right) => {
    for (let index = 0; index < width; index++) {
      const difference = (left[index] as number) - (right[index] as number)
      if (difference !== 0) return difference
    }
    return 0
  })
}

function sumsOfRow(row: LedgerTable): number[] {
  const sums: Sums = {
    n: 1,
    failures: row.status >= 400 ? 1 : 0,
    partial: row.ended >= PARTIAL ? 1 : 0,
    input: row.input ?? 0,
    output: row.output ?? 0,
    cached: row.cached ?? 0,
    cache_write: row.cache_write ?? 0,
    reasoning: row.reasoning ?? 0,
    cost: row.cost ?? 0,
    charge: row.charge ?? 0,
    unpriced: row.cost === null && (row.input !== null || row.output !== null) ? 1 : 0,
    ms_sum: row.total_ms,
  }
  return SUMS.map(name => sums[name])
}

function add(map: Map<string, number[]>, by: readonly Column[], values: Record<Column, number>, sums: readonly number[]): void {
  let key = ''
  for (const column of by) key += `${values[column]},`
  const known = map.get(key)
  if (known === undefined) {
    map.set(key, [...by.map(column => values[column]), ...sums])
    return
  }
  for (let index = 0; index < sums.length; index++)
    known[by.length + index] = (known[by.length + index] as number) + (sums[index] as number)
}
