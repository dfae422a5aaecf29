// Teams, to which keys belong by the name of the team.

import type { Kysely, Migration } from 'kysely'
import type { Engine } from '../engine.js'

export function teams(engine: Engine): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      await db.schema
        .createTable('team')
        .addColumn('id', 'integer', column =>
          engine.kind === 'postgres' ? column.generatedByDefaultAsIdentity().primaryKey() : column.primaryKey().autoIncrement(),
        )
        .addColumn('public_id', 'text', column => column.notNull())
        .addColumn('name', 'text', column => column.notNull())
        .addColumn('note', 'text')
        .addColumn('limits', 'text')
        .addColumn('budgets', 'text')
        .addColumn('state', 'text', column => column.notNull())
        .addColumn('created_by', 'text', column => column.notNull())
        .addColumn('created_at', 'bigint', column => column.notNull())
        .addColumn('version', 'integer', column => column.notNull())
        .execute()
      for (const column of ['name', 'public_id']) await db.schema.createIndex(`team_${column}`).unique().on('team').column(column).execute()
    },
  }
}
