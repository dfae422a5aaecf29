// The schema, step by step: one list for both engines, forward only. A step that has been released is never changed.

import { type Migration, Migrator } from 'kysely'
import type { Engine } from './engine.js'
import { first } from './migrations/0001-first.js'
import { budgets } from './migrations/0002-budgets.js'
import { kept } from './migrations/0003-kept.js'
import { boundTokens } from './migrations/0004-bound-tokens.js'
import { meters } from './migrations/0005-meters.js'
import { teams } from './migrations/0006-teams.js'
import { dayTeam } from './migrations/0007-day-team.js'
import { pivots } from './migrations/0008-pivots.js'
import { hourModel } from './migrations/0009-hour-model.js'
import { dayTags } from './migrations/0010-day-tags.js'
import { keyLimits } from './migrations/0011-key-limits.js'
import { retention } from './migrations/0012-retention.js'
import { unpriced } from './migrations/0013-unpriced.js'
import { UnfitStore } from './unfit.js'

const MIGRATIONS: Readonly<Record<string, (engine: Engine) => Migration>> = {
  '0001-first': first,
  '0002-budgets': budgets,
  '0003-kept': kept,
  '0004-bound-tokens': boundTokens,
  '0005-meters': meters,
  '0006-teams': teams,
  '0007-day-team': dayTeam,
  '0008-pivots': pivots,
  '0009-hour-model': hourModel,
  '0010-day-tags': dayTags,
  '0011-key-limits': keyLimits,
  '0012-retention': retention,
  '0013-unpriced': unpriced,
}

/** The state of a store's schema: its steps, and the missing ones. Creates only Kysely's own table. */
export async function stateOf(engine: Engine): Promise<{ done: string[]; missing: string[] }> {
  const all = await migratorOf(engine).getMigrations()
  return {
    done: all.filter(one => one.executedAt !== undefined).map(one => one.name),
    missing: all.filter(one => one.executedAt === undefined).map(one => one.name),
  }
}

/** Migrates the schema, or throws a `UnfitStore` if that is not allowed or not possible. */
export async function migrate(engine: Engine, mayMigrate: boolean): Promise<void> {
  const unknown = await unknownSteps(engine)
  if (unknown.length > 0)
    throw new UnfitStore(`The store's schema is newer than this version of Sluice knows (${unknown.join(', ')}): use a later version.`)
  if (!mayMigrate) {
    const { missing } = await stateOf(engine)
    if (missing.length > 0) throw new UnfitStore(`The store's schema lacks ${missing.join(', ')}: run \`sluice store migrate\`.`)
    return
  }
  const { error } = await migratorOf(engine).migrateToLatest()
  if (error) throw error
}

/** Executes the steps; a test stops it at one of them. */
export function migratorOf(engine: Engine): Migrator {
  const migrations = Object.fromEntries(Object.entries(MIGRATIONS).map(([name, make]) => [name, make(engine)]))
  return new Migrator({ db: engine.db, provider: { getMigrations: async () => migrations } })
}

/** Steps of the store that this code does not know. */
async function unknownSteps(engine: Engine): Promise<string[]> {
  const tables = await engine.db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some(table => table.name === 'kysely_migration')) return []
  const rows = (await engine.db
    .selectFrom('kysely_migration' as never)
    .selectAll()
    .execute()) as { name: string }[]
  return rows.map(row => row.name).filter(name => !Object.hasOwn(MIGRATIONS, name))
}
