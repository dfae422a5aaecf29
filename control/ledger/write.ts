// Writes rows into the ledger exactly once: an existing row stays unchanged and counts nowhere again.

import type { Transaction } from 'kysely'
import { LEDGER, ROLLUPS, SUMS } from '../store/columns.js'
import type { Rows } from '../store/engine.js'
import type { Store } from '../store/store.js'
import type { LedgerTable, Tables } from '../store/tables.js'
import { type Entry, sumsOf } from './rows.js'

/** A booking in the transaction of new rows. */
export type Booking = (trx: Transaction<Tables>, rows: readonly LedgerTable[], entries: readonly Entry[]) => Promise<void>

const DETAIL = { ledger_id: 'text', detail: 'text' } as const
const COLUMNS = Object.keys(LEDGER) as (keyof LedgerTable)[]

/** Writes entries with their rollups, all or nothing; returns the new rows. `part` is the instance's. */
export async function writeEntries(
  store: Store,
  entries: readonly Entry[],
  part: number,
  bookings: readonly Booking[],
): Promise<LedgerTable[]> {
  if (entries.length === 0) return []
  await store.periods.ensure(new Set(entries.map(entry => entry.row.at)))
  // Every instance locks in the same order, which prevents deadlocks.
  const sorted = [...entries].sort((left, right) => (left.row.id < right.row.id ? -1 : 1))
  return store.db.transaction().execute(async trx => {
    const ids = await store.writeRows(trx, { table: 'ledger', conflict: 'do nothing', ...valuesOf(sorted) })
    const fresh = sorted.filter(entry => ids.has(entry.row.id))
    const details = fresh.flatMap(({ row, detail }) => (detail === undefined ? [] : [[row.id, detail]]))
    if (details.length > 0) await store.writeRows(trx, { table: 'detail', columns: DETAIL, conflict: 'do nothing', lists: details })
    const freshRows = fresh.map(entry => entry.row)
    const sums = sumsOf(freshRows, part)
    for (const table of Object.keys(ROLLUPS) as (keyof typeof ROLLUPS)[]) await addUp(trx, store, table, sums[table])
    for (const book of bookings) await book(trx, freshRows, fresh)
    return freshRows
  })
}

/** The columns that any of the rows has a value in, and their values: each costs as much when it is null. */
function valuesOf(entries: readonly Entry[]): Pick<Rows, 'columns' | 'lists'> {
  const used = COLUMNS.filter(name => entries.some(({ row }) => row[name] !== null))
  return {
    columns: Object.fromEntries(used.map(name => [name, LEDGER[name]])),
    lists: entries.map(({ row }) => used.map(name => row[name])),
  }
}

async function addUp(trx: Transaction<Tables>, store: Store, table: keyof typeof ROLLUPS, lists: number[][]): Promise<void> {
  if (lists.length === 0) return
  const by = ROLLUPS[table].map(name => `"${name}"`).join(', ')
  const columns = Object.fromEntries([...ROLLUPS[table], ...SUMS].map(name => [name, 'bigint' as const]))
  const added = SUMS.map(name => `"${name}" = "${table}"."${name}" + excluded."${name}"`).join(', ')
  await store.writeRows(trx, { table, columns, conflict: `(${by}) do update set ${added}`, lists })
}
