// The store: keys, ledger, rollups, audit. SQLite without any set-up, Postgres for several instances; the queries are the
// same.

import { isPostgres } from '../settings.js'
import type { Engine } from './engine.js'
import { migrate } from './migrate.js'
import { createNames, type Names } from './names.js'
import { createPeriods, type Periods } from './periods.js'

export interface Store extends Engine {
  names: Names
  periods: Periods
  /** Runs after each write that has an audit entry, with the head of the audit log. */
  audited(head: string): void
  close(): Promise<void>
}

export interface StoreOptions {
  /** `postgres://…`, or the path of an SQLite file. */
  at: string
  /** Whether to update the schema; false only checks it. */
  mayMigrate: boolean
}

/** Opens a database; only its own driver is loaded. */
export async function openEngine(at: string): Promise<Engine> {
  return isPostgres(at) ? (await import('./postgres.js')).openPostgres(at) : (await import('./sqlite.js')).openSqlite(at)
}

/** Opens a store with the current schema. Throws a sentence if the schema is another, or if the store cannot be reached. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const engine = await openEngine(options.at)
  try {
    await migrate(engine, options.mayMigrate)
  } catch (error) {
    await engine.db.destroy().catch(() => undefined)
    throw error
  }
  return {
    ...engine,
    names: createNames(engine),
    periods: createPeriods(engine),
    audited: () => undefined,
    close: () => engine.db.destroy(),
  }
}
