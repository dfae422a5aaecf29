// What a store needs of its database, and what differs between the two that there are.

import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { Kind } from './columns.js'
import type { AccountTable, Tables } from './tables.js'

/** Rows of a table as lists, in the order of its columns. */
export interface Rows {
  table: string
  columns: Readonly<Record<string, Kind>>
  /** What follows `on conflict`. */
  conflict: string
  lists: readonly (readonly (string | number | null)[])[]
}

/** What differs between the engines. */
export interface Engine {
  kind: 'sqlite' | 'postgres'
  db: Kysely<Tables>
  /** A table function whose column `value` are the elements of a list of JSON. */
  elementsOf(json: string): RawBuilder<unknown>
  /**
   * Writes many rows at once, inside of a transaction, and gives the first column of those that were written: where a row is there
   * already, `conflict` says what is done, and with `do nothing` it is left out of the answer.
   */
  writeRows(trx: Transaction<Tables>, rows: Rows): Promise<Set<unknown>>
  /** Until the transaction ends no other reads or changes the account, in any instance. */
  lockAccount(trx: Transaction<Tables>, id: string): Promise<AccountTable | undefined>
  /** Until the transaction ends no other holds the turn, in any instance. */
  takeTurn(trx: Transaction<Tables>): Promise<void>
  /** Runs when another instance may have written to `change`. */
  onChange(run: () => void): Promise<{ close(): Promise<void> }>
  tellChange(trx: Transaction<Tables>): Promise<void>
}
