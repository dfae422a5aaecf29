// Rows into the ledger, once each: what has been there before is left as it is and counted nowhere again.

import { sql, type Transaction } from 'kysely'
import { LEDGER, ROLLUPS, SUMS } from '../store/columns.js'
import type { Store } from '../store/store.js'
import type { LedgerTable, Tables } from '../store/tables.js'
import { type Entry, sumsOf } from './rows.js'

/** What is booked with rows in their transaction, for the rows that were not there before. */
export type Booking = (trx: Transaction<Tables>, rows: readonly LedgerTable[]) => Promise<void>

const COLUMNS = Object.keys(LEDGER) as (keyof LedgerTable)[]
const INTO = COLUMNS.map(name => `"${name}"`).join(', ')
const FROM = COLUMNS.map((name, index) => (LEDGER[name] === 'text' ? `value->>${index}` : `cast(value->>${index} as bigint)`)).join(', ')

/** Writes entries with their rollups, all or nothing; gives the rows that are new. `part` is the instance's. */
export async function writeEntries(
  store: Store,
  entries: readonly Entry[],
  part: number,
  bookings: readonly Booking[],
): Promise<LedgerTable[]> {
  if (entries.length === 0) return []
  await store.periods.ensure(new Set(entries.map(entry => entry.row.at)))
  // Every instance in the same order, so that none waits for another that waits for it.
  const sorted = [...entries].sort((left, right) => (left.row.id < right.row.id ? -1 : 1))
  const list = JSON.stringify(sorted.map(({ row }) => COLUMNS.map(name => row[name])))
  return store.db.transaction().execute(async trx => {
    const { rows } = await sql<{ id: string }>`
      insert into ledger (${sql.raw(INTO)}) select ${sql.raw(FROM)} from ${store.elementsOf(list)} as list where true
      on conflict do nothing returning id`.execute(trx)
    const ids = new Set(rows.map(row => row.id))
    const fresh = sorted.filter(entry => ids.has(entry.row.id))
    const details = fresh.filter(entry => entry.detail !== undefined).map(entry => [entry.row.id, entry.detail])
    if (details.length > 0)
      await sql`insert into detail (ledger_id, detail) select value->>0, value->>1 from ${store.elementsOf(JSON.stringify(details))} as list where true on conflict do nothing`.execute(
        trx,
      )
    const freshRows = fresh.map(entry => entry.row)
    const sums = sumsOf(freshRows, part)
    for (const table of Object.keys(ROLLUPS) as (keyof typeof ROLLUPS)[]) await addUp(trx, store, table, sums[table])
    for (const book of bookings) await book(trx, freshRows)
    return freshRows
  })
}

async function addUp(trx: Transaction<Tables>, store: Store, table: keyof typeof ROLLUPS, lists: number[][]): Promise<void> {
  if (lists.length === 0) return
  const by = ROLLUPS[table].map(name => `"${name}"`)
  const all = [...by, ...SUMS.map(name => `"${name}"`)]
  const values = all.map((_name, index) => `cast(value->>${index} as bigint)`)
  const added = SUMS.map(name => `"${name}" = ${table}."${name}" + excluded."${name}"`)
  await sql`insert into ${sql.table(table)} (${sql.raw(all.join(', '))}) select ${sql.raw(values.join(', '))}
    from ${store.elementsOf(JSON.stringify(lists))} as list where true
    on conflict (${sql.raw(by.join(', '))}) do update set ${sql.raw(added.join(', '))}`.execute(trx)
}
