// The day on which a name was last used, so that those of callers are deleted with their rows; ids of more than 32 bits, since
// every conversation takes one; and indexes for what is deleted.

import { type Kysely, type Migration, sql } from 'kysely'
import type { Engine } from '../engine.js'

const DAY = 86_400_000

/** The columns of Postgres that hold the id of a name in 32 bits. */
const NARROW: Readonly<Record<string, readonly string[]>> = {
  name: ['id'],
  change: ['seq', 'subject_id'],
  hour_model: ['model', 'target'],
  day_user: ['end_user'],
  day_all: ['key', 'team', 'grp', 'model', 'target', 'route', 'tags', 'region'],
  day_key: ['key', 'team', 'grp'],
  day_team: ['team', 'grp', 'model', 'target', 'route', 'region'],
  day_tags: ['tags', 'model', 'target'],
}

export function retention(engine: Engine): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      if (engine.kind === 'postgres') {
        // The tables are written anew.
        await sql`set local statement_timeout = 0`.execute(db)
        for (const [table, columns] of Object.entries(NARROW)) {
          const wider = columns.map(column => sql`alter column ${sql.ref(column)} type bigint`)
          await sql`alter table ${sql.table(table)} ${sql.join(wider)}`.execute(db)
        }
      }
      // The names of all rows have been used by today.
      await sql`alter table name add column last integer not null default ${sql.lit(Math.floor(Date.now() / DAY))}`.execute(db)
      await db.schema.createIndex('account_until').on('account').column('until').execute()
      // How much each caller keeps is asked often, and rows are long.
      await db.schema.createIndex('kept_caller_size').on('kept').columns(['caller', 'size']).execute()
      await sql`create index name_last on name (last) where kind in ('end_user', 'session', 'purse', 'account')`.execute(db)
    },
  }
}
