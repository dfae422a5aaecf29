// Queries of the ledger: sums, rows, exports, and the verification of its sums.

import { type Kysely, type RawBuilder, sql } from 'kysely'
import { ESTIMATED, HEDGED, MIRROR, STREAM } from '../../engine/control/records.js'
import type { Bound } from '../audit.js'
import { verifyAccounts } from '../budgets/accounts.js'
import { DAY, ENDED, HOUR, LEDGER, QUANTITIES, ROLLUPS, SUMS } from '../store/columns.js'
import { pageOf } from '../store/pages.js'
import { idAt } from '../store/periods.js'
import type { Store } from '../store/store.js'
import type { LedgerTable, Sums, Tables } from '../store/tables.js'
import { turn } from '../turns.js'
import { readList } from './lists.js'
import { NAMED_COLUMNS, type NamedColumn, sumsOf } from './rows.js'

/** The names that usage may be grouped by. */
export type By =
  | 'key'
  | 'model'
  | 'target'
  | 'group'
  | 'day'
  | 'hour'
  | 'team'
  | 'end_user'
  | 'session'
  | 'tags'
  | 'route'
  | 'region'
  | 'status'

export interface Range {
  from: number
  to: number
}

export interface UsageQuery extends Range {
  by: readonly By[]
  key: string | undefined
  model: string | undefined
  /** The place in the list after which the rows begin: the number of exchanges and the numbers of `by` of a row. */
  after?: readonly number[] | undefined
  limit: number
  /** Only of these teams or keys. */
  of?: Bound | undefined
}

export type UsageRow = Record<string, string | number | null>

/** The rollups, the smallest first, and the columns of what each can be grouped by. */
const SOURCES = (Object.keys(ROLLUPS) as (keyof typeof ROLLUPS)[]).map(table => {
  const [time, ...columns] = ROLLUPS[table].filter(name => name !== 'part')
  const has = new Map<string, string>([time as string, ...columns].map(name => [name === 'grp' ? 'group' : name, name]))
  return { table, time: time as 'day' | 'hour', unit: time === 'hour' ? HOUR : DAY, has }
})
type Source = (typeof SOURCES)[number]

/** Columns of the ledger for sums that are counted from rows. */
const COLUMNS: Partial<Record<By, keyof LedgerTable>> = {
  key: 'key',
  model: 'model',
  target: 'target',
  group: 'grp',
  team: 'team',
  end_user: 'end_user',
  session: 'session',
  tags: 'tags',
  route: 'route',
  region: 'region',
  status: 'status',
}

const fits = ({ from, to }: Range, unit: number, now: number): boolean => from % unit === 0 && (to % unit === 0 || to >= now)

export async function usage(store: Store, query: UsageQuery): Promise<UsageRow[]> {
  return (await usagePage(store, query)).rows
}

/**
 * Sums of a range, most exchanges first, and the place after which more of them follow. From a rollup if one has all
 * requested names and the range starts and ends at its boundaries, otherwise from rows, as far back as they are kept.
 */
export async function usagePage(store: Store, query: UsageQuery): Promise<{ rows: UsageRow[]; next: number[] | null }> {
  const wanted = new Set<string>([
    ...query.by,
    ...(query.key === undefined ? [] : ['key']),
    ...(query.model === undefined ? [] : ['model']),
    ...(query.of === undefined ? [] : ['teams' in query.of ? 'team' : 'key']),
  ])
  const source = SOURCES.find(one => fits(query, one.unit, Date.now()) && [...wanted].every(name => one.has.has(name)))
  const key = query.key === undefined ? undefined : ((await store.names.find('key', query.key)) ?? -1)
  const model = query.model === undefined ? undefined : ((await store.names.find('model', query.model)) ?? -1)
  const of = await boundIn(store, query.of)
  const sums = source ? fromRollup(query, source, key, model, of) : fromRows(query, key, model, of)
  const rows = await inPages(store, query, sums)
  const { page, next } = pageOf(rows, query.limit, last => ['n', ...query.by].map(name => last[name] as number))
  return { rows: await withTexts(store, page, query.by), next }
}

/** A page of sums, and a row more if there is one. Rows with as many exchanges are in the order of their numbers. */
async function inPages(store: Store, { by, after, limit }: UsageQuery, sums: RawBuilder<unknown>): Promise<UsageRow[]> {
  const names = sql.join(by.map(name => sql.ref(name)))
  const [count, ...numbers] = after ?? []
  const where =
    count === undefined ? sql`` : sql`where n < ${count} or (n = ${count} and (${names}) > (${sql.join(numbers.map(one => sql.lit(one)))}))`
  const { rows } = await sql<UsageRow>`select * from (${sums}) as sums ${where} order by n desc, ${names} limit ${limit + 1}`.execute(
    store.db,
  )
  return rows
}

/** The condition that a row belongs to some teams or keys; undefined if there is none. */
async function boundIn(store: Store, of: Bound | undefined): Promise<RawBuilder<unknown>[]> {
  if (of === undefined) return []
  const [kind, names] = 'teams' in of ? (['team', of.teams] as const) : (['key', of.keys] as const)
  const ids = await Promise.all(names.map(async name => (await store.names.find(kind, name)) ?? -1))
  return [sql`${sql.ref(kind)} in (${sql.join([-1, ...ids])})`]
}

function fromRollup(
  query: UsageQuery,
  source: Source,
  key: number | undefined,
  model: number | undefined,
  of: RawBuilder<unknown>[],
): RawBuilder<unknown> {
  const { table, unit, time, has } = source
  const by = query.by.map(name => sql`${sql.ref(has.get(name) as string)} as ${sql.ref(name)}`)
  const sums = SUMS.map(name => sql`sum(${sql.ref(name)}) as ${sql.ref(name)}`)
  const where = [sql`${sql.ref(time)} >= ${Math.floor(query.from / unit)}`, sql`${sql.ref(time)} < ${Math.ceil(query.to / unit)}`, ...of]
  if (key !== undefined) where.push(sql`key = ${key}`)
  if (model !== undefined) where.push(sql`model = ${model}`)
  return sql`select ${sql.join([...by, ...sums])} from ${sql.table(table)} where ${sql.join(where, sql` and `)}
    group by ${sql.join(by.map((_, index) => sql.lit(index + 1)))}`
}

function fromRows(query: UsageQuery, key: number | undefined, model: number | undefined, of: RawBuilder<unknown>[]): RawBuilder<unknown> {
  const by = query.by.map(name => {
    const expression: RawBuilder<unknown> =
      name === 'day'
        ? sql`at / ${sql.lit(DAY)}`
        : name === 'hour'
          ? sql`at / ${sql.lit(HOUR)}`
          : sql`coalesce(${sql.ref(COLUMNS[name] as string)}, 0)`
    return sql`${expression} as ${sql.ref(name)}`
  })
  const total = (name: string): RawBuilder<unknown> => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`
  const sums = [
    sql`count(*) as n`,
    sql`sum(case when status >= 400 then 1 else 0 end) as failures`,
    sql`sum(case when ended >= 3 then 1 else 0 end) as partial`,
    ...['input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge'].map(total),
    sql`sum(case when cost is null and (${HAS_QUANTITY}) then 1 else 0 end) as unpriced`,
    sql`sum(total_ms) as ms_sum`,
  ]
  const where = [...rowsIn(query), ...of]
  if (key !== undefined) where.push(sql`key = ${key}`)
  if (model !== undefined) where.push(sql`model = ${model}`)
  return sql`select ${sql.join([...by, ...sums])} from ledger where ${sql.join(where, sql` and `)}
    group by ${sql.join(by.map((_, index) => sql.lit(index + 1)))}`
}

const HAS_QUANTITY = sql.join(
  QUANTITIES.map(name => sql`${sql.ref(name)} is not null`),
  sql` or `,
)

const rowsIn = ({ from, to }: Range): RawBuilder<unknown>[] => [sql`id >= ${idAt(from)}`, sql`id < ${idAt(to)}`]

/** Numbers of names as their texts, and of times as such; null for missing values. */
async function withTexts(store: Store, rows: readonly UsageRow[], by: readonly By[]): Promise<UsageRow[]> {
  const named = by.filter(name => name !== 'day' && name !== 'hour' && name !== 'status')
  const texts = await textsOf(
    store,
    rows.flatMap(row => named.map(name => row[name] as number)),
  )
  return rows.map(row => {
    const shown: UsageRow = { ...row }
    for (const name of named) shown[name] = texts.get(row[name] as number) ?? null
    if ('day' in row) shown.day = new Date((row.day as number) * DAY).toISOString().slice(0, 10)
    if ('hour' in row) shown.hour = `${new Date((row.hour as number) * HOUR).toISOString().slice(0, 13)}:00Z`
    return shown
  })
}

/** The texts of ids. */
export async function textsOf({ db }: Store, ids: readonly (number | null)[]): Promise<Map<number, string>> {
  const wanted = [...new Set(ids)].filter((id): id is number => id !== null && id !== 0)
  const texts = new Map<number, string>()
  for (let index = 0; index < wanted.length; index += 500) {
    const rows = await db
      .selectFrom('name')
      .select(['id', 'text'])
      .where('id', 'in', wanted.slice(index, index + 500))
      .execute()
    for (const row of rows) texts.set(row.id, row.text)
  }
  return texts
}

// Rows --------------------------------------------------------------------------------------------------------------

export interface ExchangeQuery extends Range {
  key: string | undefined
  model: string | undefined
  target: string | undefined
  end_user: string | undefined
  session: string | undefined
  failed: boolean
  before: string | undefined
  limit: number
  of?: Bound | undefined
}

/** A row in the form of the admin API. */
export type ExchangeView = Record<string, unknown>

/** Columns that are returned unchanged. */
const FIGURES = (Object.keys(LEDGER) as (keyof LedgerTable)[]).filter(
  (name): name is Exclude<keyof LedgerTable, NamedColumn | 'id' | 'at' | 'ended' | 'flags'> =>
    !['id', 'at', 'ended', 'flags', ...NAMED_COLUMNS].includes(name),
)
/** Columns that are returned under another name. */
const SHOWN: Readonly<Record<string, string>> = { grp: 'group', purse: 'budgets' }

export async function listExchanges(store: Store, query: ExchangeQuery): Promise<{ exchanges: ExchangeView[]; next: string | null }> {
  let select = store.db
    .selectFrom('ledger')
    .selectAll()
    .where('id', '>=', idAt(query.from))
    .where('id', '<', query.before ?? idAt(query.to))
  for (const name of ['key', 'model', 'target', 'end_user', 'session'] as const) {
    const text = query[name]
    if (text !== undefined) select = select.where(name, '=', (await store.names.find(name, text)) ?? -1)
  }
  for (const condition of await boundIn(store, query.of)) select = select.where(condition as RawBuilder<boolean>)
  if (query.failed) select = select.where('status', '>=', 400)
  const rows = await select
    .orderBy('id', 'desc')
    .limit(query.limit + 1)
    .execute()
  const { page, next } = pageOf(rows, query.limit, row => row.id)
  return { exchanges: await shown(store, page), next }
}

export async function showExchange(store: Store, id: string, of?: Bound): Promise<ExchangeView | undefined> {
  let select = store.db.selectFrom('ledger').selectAll().where('id', '=', id)
  for (const condition of await boundIn(store, of)) select = select.where(condition as RawBuilder<boolean>)
  const row = await select.executeTakeFirst()
  if (row === undefined) return undefined
  const detail = await store.db.selectFrom('detail').select('detail').where('ledger_id', '=', id).executeTakeFirst()
  const [view] = await shown(store, [row])
  return { ...view, detail: detail ? JSON.parse(detail.detail) : null }
}

async function shown(store: Store, rows: readonly LedgerTable[]): Promise<ExchangeView[]> {
  const texts = await textsOf(
    store,
    rows.flatMap(row => NAMED_COLUMNS.map(name => row[name])),
  )
  return rows.map(row => {
    const { at, ended, flags } = row
    const text = (id: number | null): string | null => (id === null ? null : (texts.get(id) ?? null))
    const view: ExchangeView = { id: row.id, at: new Date(at).toISOString() }
    for (const name of NAMED_COLUMNS) view[SHOWN[name] ?? name] = text(row[name])
    if (typeof view.budgets === 'string') view.budgets = JSON.parse(view.budgets)
    if (typeof view.tags === 'string') view.tags = readList(view.tags)
    if (typeof view.facts === 'string') view.facts = readList(view.facts)
    const figures = Object.fromEntries(FIGURES.map(name => [name, row[name]]))
    return {
      ...view,
      ended: ENDED[ended] ?? null,
      stream: (flags & STREAM) !== 0,
      estimated: (flags & ESTIMATED) !== 0,
      mirror: (flags & MIRROR) !== 0,
      hedged: (flags & HEDGED) !== 0,
      ...figures,
    }
  })
}

/** Rows that are read at a time. */
const CHUNK = 1_000

/** Every row of a range, the oldest first, some at a time. */
export async function* exportRows(store: Store, range: Range): AsyncGenerator<ExchangeView[]> {
  let after = idAt(range.from)
  let isFirst = true
  for (;;) {
    const rows = await store.db
      .selectFrom('ledger')
      .selectAll()
      .where('id', isFirst ? '>=' : '>', after)
      .where('id', '<', idAt(range.to))
      .orderBy('id')
      .limit(CHUNK)
      .execute()
    if (rows.length === 0) return
    await turn()
    yield shown(store, rows)
    isFirst = false
    after = (rows.at(-1) as LedgerTable).id
  }
}

/** The columns of an export in their order. */
export const EXPORTED: readonly string[] = [
  'id',
  'at',
  ...NAMED_COLUMNS.map(name => SHOWN[name] ?? name),
  'ended',
  'stream',
  'estimated',
  'mirror',
  'hedged',
  ...FIGURES,
]

// Verification ------------------------------------------------------------------------------------------------------

/** Where the sums begin in a list of `day_model`. */
const BEGIN = ROLLUPS.day_model.length

export interface Verified {
  rows: number
  /** The excess of each rollup over the rows, for the figures that differ. */
  differences: Record<string, Partial<Sums> | { spent?: number; out?: number }>
}

/** Adds up the kept rows and compares. Rollups of days whose rows have been deleted are left out. */
export function verifyLedger(store: Store): Promise<Verified> {
  return store.reading(compared)
}

async function compared(db: Kysely<Tables>): Promise<Verified> {
  const oldest = await db
    .selectFrom('ledger')
    .select(expression => expression.fn.min('at').as('at'))
    .executeTakeFirst()
  // Without a row, those of all days before this one may have been deleted.
  const from = Math.floor((oldest?.at ?? Date.now()) / DAY) * DAY
  const sums = SUMS.map(() => 0)
  let rows = 0
  let after = idAt(from)
  for (;;) {
    const page = await db.selectFrom('ledger').selectAll().where('id', '>', after).orderBy('id').limit(CHUNK).execute()
    if (page.length === 0) break
    await turn()
    rows += page.length
    after = (page.at(-1) as LedgerTable).id
    for (const list of sumsOf(page, 0).day_model) {
      for (let index = 0; index < sums.length; index++) sums[index] = (sums[index] as number) + (list[BEGIN + index] as number)
    }
  }
  const differences: Verified['differences'] = {}
  for (const { table, unit, time } of SOURCES) {
    await turn()
    const { rows: found } = await sql<Record<string, number>>`
      select ${sql.join(SUMS.map(name => sql`coalesce(sum(${sql.ref(name)}), 0) as ${sql.ref(name)}`))} from ${sql.table(table)}
      where ${sql.ref(time)} >= ${from / unit}`.execute(db)
    const different = SUMS.map((name, index) => [name, (found[0]?.[name] ?? 0) - (sums[index] as number)] as const).filter(
      ([, by]) => by !== 0,
    )
    if (different.length > 0) differences[table] = Object.fromEntries(different)
  }
  Object.assign(differences, await verifyAccounts(db, from))
  return { rows, differences }
}
