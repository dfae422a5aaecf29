// The store: keys, ledger, rollups, audit. SQLite without any set-up, Postgres for several instances; the same queries.

import type { Kysely, RawBuilder, Transaction } from 'kysely'
import { migrate } from './migrate.js'
import { createNames, type Names } from './names.js'
import { createPeriods, type Periods } from './periods.js'
import { openPostgres } from './postgres.js'
import { openSqlite } from './sqlite.js'
import type { Tables } from './tables.js'

export type Db = Kysely<Tables> | Transaction<Tables>

/** Rows of a table as lists, in the order of its columns. */
export interface Rows {
  table: string
  columns: Readonly<Record<string, 'text' | 'bigint'>>
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
  /** Until the transaction ends no other holds the turn, in any instance. */
  takeTurn(trx: Transaction<Tables>): Promise<void>
  /** Runs when another instance may have written to `change`. */
  onChange(run: () => void): Promise<{ close(): Promise<void> }>
  tellChange(trx: Transaction<Tables>): Promise<void>
}

export interface Store extends Engine {
  names: Names
  periods: Periods
  close(): Promise<void>
}

export interface StoreOptions {
  /** `postgres://…`, or the path of a file of SQLite. */
  at: string
  /** Whether the schema is brought up to date; false only looks whether it is. */
  mayMigrate: boolean
}

export function isPostgres(at: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(at)
}

/** Opens a store whose schema is the one that this code knows. Throws with a sentence where it is not, or cannot be reached. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const engine = isPostgres(options.at) ? openPostgres(options.at) : openSqlite(options.at)
  try {
    await migrate(engine, options.mayMigrate)
  } catch (error) {
    await engine.db.destroy().catch(() => undefined)
    throw error
  }
  return { ...engine, names: createNames(engine), periods: createPeriods(engine), close: () => engine.db.destroy() }
}
