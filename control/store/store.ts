// The store: keys, ledger, rollups, audit. SQLite without any set-up, Postgres for several instances; the same queries.

import type { Engine } from './engine.js'
import { migrate } from './migrate.js'
import { createNames, type Names } from './names.js'
import { createPeriods, type Periods } from './periods.js'
import { openPostgres } from './postgres.js'
import { openSqlite } from './sqlite.js'

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
