// Records as rows of the ledger, and the sums of rows.

import { ESTIMATED, HEDGED, MIRROR, PARTIAL, STREAM } from '../../engine/control/records.js'
import { storable } from '../../engine/core/text.js'
import { DAY, HOUR, QUANTITIES, RARE_METERS, ROLLUPS, SUMS } from '../store/columns.js'
import type { NameKind } from '../store/names.js'
import type { Store } from '../store/store.js'
import type { LedgerTable, Sums } from '../store/tables.js'
import { isTooLong, listOf } from './lists.js'
import { type Price, type Pricing, recordedPrice } from './price.js'
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
/** A column with the id of a name. */
export type NamedColumn = keyof typeof NAMED

export const NAMED_COLUMNS = Object.keys(NAMED) as NamedColumn[]
const KINDS = NAMED_COLUMNS.map(column => NAMED[column][0])
const TEXTS = NAMED_COLUMNS.map((column): TextOf => NAMED[column][1])
/** JSON, which is never cut: accounts and facts are made of what the configuration names, and lists of tags are bounded. */
const WHOLE = new Set((['purse', 'facts', 'tags'] as const).map(name => NAMED_COLUMNS.indexOf(name)))

/** Makes rows of records; names that are new are added to the store. */
export async function rowsOf(records: readonly ExchangeRecord[], store: Store, pricing: Pricing = recordedPrice): Promise<Entry[]> {
  const prices = records.map(record => pricing(record))
  const texts: (string | undefined)[] = []
  for (const [index, record] of records.entries())
    for (const [place, textOf] of TEXTS.entries()) texts.push(cut(textOf(record, prices[index]), place))
  const ids = await store.names.idsOf(KINDS, texts)
  return records.map((record, index) => {
    const names = {} as Record<NamedColumn, number | null>
    for (const [place, column] of NAMED_COLUMNS.entries()) names[column] = ids[index * NAMED_COLUMNS.length + place] as number | null
    return { row: rowOf(record, names, prices[index]), detail: detailOf(record), spending: spendingOf(record) }
  })
}

/** A text in a column, cut if a client may have chosen it; undefined for an empty one. */
function cut(text: string | undefined, place: number): string | undefined {
  if (text === undefined || text === '') return undefined
  // The cut may divide a character, and the store would hold another text.
  return text.length <= LONGEST || WHOLE.has(place) ? text : storable(text.slice(0, LONGEST))
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
      (record.isStream ? STREAM : 0) +
      (record.isEstimated ? ESTIMATED : 0) +
      (record.isMirror ? MIRROR : 0) +
      (record.isHedged ? HEDGED : 0),
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

/** The tags of the key and those of the request, as one list: no client displaces a tag of the key. */
function tagsOf(record: ExchangeRecord): string | undefined {
  const more = record.words?.tags
  if (more === undefined && (record.tags === undefined || !isTooLong(record.tags))) return record.tags
  const own = record.tags === undefined ? [] : (JSON.parse(record.tags) as string[])
  return listOf(new Set([...own, ...(more ?? [])]))
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

/** Rows with the same names in the same hour. */
interface Group {
  /** The values of `GROUPED_BY`. */
  values: readonly number[]
  sums: Sums
}

/** The columns that rollups are grouped by. */
const GROUPED_BY = [
  'hour',
  'day',
  'part',
  'key',
  'team',
  'grp',
  'end_user',
  'tags',
  'model',
  'target',
  'route',
  'region',
] as const satisfies Column[]
const BY = Object.fromEntries(
  NAMES.map(name => [name, ROLLUPS[name].map((column: Column) => (GROUPED_BY as readonly Column[]).indexOf(column))]),
) as Record<Rollup, number[]>

/** The sums that rows add to each rollup: lists of the columns that it is grouped by and its sums, in the order of their keys. */
export function sumsOf(rows: readonly LedgerTable[], part: number): Record<Rollup, number[][]> {
  // Most exchanges of a moment have their names in common: they are added up before all rollups are.
  const groups = [...groupsOf(rows, part).values()]
  return Object.fromEntries(NAMES.map(name => [name, listsOf(groups, BY[name])])) as Record<Rollup, number[][]>
}

function groupsOf(rows: readonly LedgerTable[], part: number): Map<string, Group> {
  const groups = new Map<string, Group>()
  for (const row of rows) {
    const hour = Math.floor(row.at / HOUR)
    const key = `${hour},${row.key},${row.team},${row.grp},${row.end_user},${row.tags},${row.model},${row.target},${row.route},${row.region}`
    let group = groups.get(key)
    if (group === undefined) groups.set(key, (group = { values: valuesOf(row, hour, part), sums: { ...NO_SUMS } }))
    addRow(group.sums, row)
  }
  return groups
}

function valuesOf(row: LedgerTable, hour: number, part: number): number[] {
  const { key, team, grp, end_user, tags, model, target, route, region } = row
  const day = Math.floor(row.at / DAY)
  return [hour, day, part, key ?? 0, team ?? 0, grp ?? 0, end_user ?? 0, tags ?? 0, model ?? 0, target ?? 0, route ?? 0, region ?? 0]
}

const NO_SUMS = Object.fromEntries(SUMS.map(name => [name, 0])) as unknown as Sums

function addRow(sums: Sums, row: LedgerTable): void {
  sums.n++
  if (row.status >= 400) sums.failures++
  if (row.ended >= PARTIAL) sums.partial++
  sums.input += row.input ?? 0
  sums.output += row.output ?? 0
  sums.cached += row.cached ?? 0
  sums.cache_write += row.cache_write ?? 0
  sums.reasoning += row.reasoning ?? 0
  sums.cost += row.cost ?? 0
  sums.charge += row.charge ?? 0
  if (row.cost === null && QUANTITIES.some(name => row[name] !== null)) sums.unpriced++
  sums.ms_sum += row.total_ms
}

/** The groups in the order of some values, those that are equal there as one. */
function listsOf(groups: readonly Group[], by: readonly number[]): number[][] {
  const lists: number[][] = []
  let last: Group | undefined
  for (const group of [...groups].sort((left, right) => compare(left, right, by))) {
    const sums = SUMS.map(name => group.sums[name])
    if (last !== undefined && compare(last, group, by) === 0) {
      const list = lists.at(-1) as number[]
      for (const [index, sum] of sums.entries()) list[by.length + index] = (list[by.length + index] as number) + sum
    } else lists.push([...by.map(index => group.values[index] as number), ...sums])
    last = group
  }
  return lists
}

function compare(left: Group, right: Group, by: readonly number[]): number {
  for (const index of by) {
    const difference = (left.values[index] as number) - (right.values[index] as number)
    if (difference !== 0) return difference
  }
  return 0
}
