// The interface of a store's database, for the differences between the two engines.

import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { Kind } from './columns.js'
import type { AccountTable, Tables } from './tables.js'

/** Rows of a table as lists, in the order of its columns. */
export interface Rows {
  table: string
  columns: Readonly<Record<string, Kind>>
  /** The text after `on conflict`. */
  conflict: string
  lists: readonly (readonly (string | number | null)[])[]
}

/** The differences between the engines. */
export interface Engine {
  kind: 'sqlite' | 'postgres'
  db: Kysely<Tables>
  /** Runs queries that all see the store as it was at the first of them, while others write. */
  reading<Result>(run: (db: Kysely<Tables>) => Promise<Result>): Promise<Result>
  /** A table function whose column `value` has the elements of a JSON list. */
  elementsOf(json: string): RawBuilder<unknown>
  /**
   * Writes many rows inside a transaction, and returns the first column of those that were written: `conflict` defines what
   * happens to an existing row, and with `do nothing` the result leaves it out.
   */
  writeRows(trx: Transaction<Tables>, rows: Rows): Promise<Set<unknown>>
  /** Locks existing accounts, in the order of their ids, for all instances until the transaction ends. */
  lockAccounts(trx: Transaction<Tables>, ids: readonly string[]): Promise<AccountTable[]>
  /** Takes the global turn of writes until the transaction ends. */
  lockWrites(trx: Transaction<Tables>): Promise<void>
  /** Runs when another instance may have written to `change`. */
  onChange(run: () => void): Promise<{ close(): Promise<void> }>
  notifyChange(trx: Transaction<Tables>): Promise<void>
  /**
   * Asks other instances for the unused money of an account, by the id of its name. False if it has to be tried again: it does
   * not wait for the turn of writes, since a request waits for the money.
   */
  recall(account: number): Promise<boolean>
}
