// `sluice store migrate`: the schema of a store, brought up to date by hand.

import { migrate, stateOf } from '../control/store/migrate.js'
import { openPostgres } from '../control/store/postgres.js'
import { openSqlite } from '../control/store/sqlite.js'
import { isPostgres } from '../control/store/store.js'
import { loadConfig } from './config.js'
import { loadPlan } from './plan.js'

/** Ends with 1 where there is no store, or its schema cannot be brought up to date. */
export async function migrateStore(config: string, asJson = false): Promise<void> {
  const { settings } = await loadConfig(config, await loadPlan(config), config)
  if (settings.store === undefined) {
    console.error(`${config} names no store.`)
    process.exitCode = 1
    return
  }
  const { at } = settings.store
  const engine = isPostgres(at) ? openPostgres(at) : openSqlite(at)
  try {
    const { missing } = await stateOf(engine)
    await migrate(engine, true)
    if (asJson) console.log(JSON.stringify({ ok: true, findings: [], taken: missing }, null, 2))
    else console.log(missing.length === 0 ? 'The schema is up to date.' : `Taken: ${missing.join(', ')}`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  } finally {
    await engine.db.destroy()
  }
}
