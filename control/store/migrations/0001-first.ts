// The first schema. It names its columns itself, because columns.ts changes and a migration never does.

import { type CreateTableBuilder, type Kysely, type Migration, sql } from 'kysely'
import type { Engine } from '../engine.js'

/** The required columns of a row of the ledger, and the optional ones. */
const KNOWN = ['at', 'status', 'ended', 'flags', 'attempts', 'total_ms', 'bytes_in', 'bytes_out']
const NAMES = [
  'key',
  'team',
  'grp',
  'end_user',
  'session',
  'tags',
  'model',
  'target',
  'route',
  'dialect',
  'upstream_dialect',
  'error',
  'price_set',
]
const FIGURES = ['input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge', 'first_token_ms']

const ROLLUPS = {
  hour: ['hour', 'key', 'model', 'target', 'part'],
  day_model: ['day', 'grp', 'model', 'target', 'part'],
  day_key: ['day', 'key', 'model', 'part'],
}
const SUMS = ['n', 'failures', 'partial', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge', 'unpriced', 'ms_sum']

export function first(engine: Engine): Migration {
  const isPostgres = engine.kind === 'postgres'
  /** An autoincrement id, which SQLite never reuses. */
  const withId = (table: CreateTableBuilder<string, never>, name: string): CreateTableBuilder<string, string> =>
    table.addColumn(name, 'integer', column =>
      isPostgres ? column.generatedByDefaultAsIdentity().primaryKey() : column.primaryKey().autoIncrement(),
    )
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      const create = (name: string): CreateTableBuilder<string, never> => db.schema.createTable(name)
      /** Rows by day: partitions in Postgres, where a day is dropped as a whole. */
      const byDays = (table: CreateTableBuilder<string, string>, id: string): CreateTableBuilder<string, string> =>
        isPostgres ? table.modifyEnd(sql`partition by range (${sql.ref(id)})`) : table
      const unique = (table: string, columns: string[]): Promise<void> =>
        db.schema
          .createIndex(`${table}_${columns.join('_')}`)
          .unique()
          .on(table)
          .columns(columns)
          .execute()
      const index = (table: string, columns: string[]): Promise<void> =>
        db.schema
          .createIndex(`${table}_${columns.join('_')}`)
          .on(table)
          .columns(columns)
          .execute()

      await withId(create('name'), 'id')
        .addColumn('kind', 'text', column => column.notNull())
        .addColumn('text', 'text', column => column.notNull())
        .execute()
      await unique('name', ['kind', 'text'])

      await withId(create('key'), 'id')
        .addColumn('public_id', 'text', column => column.notNull())
        .addColumn('name', 'text', column => column.notNull())
        .addColumn('team', 'text')
        .addColumn('groups', 'text', column => column.notNull())
        .addColumn('models', 'text')
        .addColumn('routes', 'text')
        .addColumn('ips', 'text')
        .addColumn('tags', 'text', column => column.notNull())
        .addColumn('expires_at', 'bigint')
        .addColumn('state', 'text', column => column.notNull())
        .addColumn('created_by', 'text', column => column.notNull())
        .addColumn('created_at', 'bigint', column => column.notNull())
        .addColumn('last_used_at', 'bigint')
        .addColumn('version', 'integer', column => column.notNull())
        .execute()
      await unique('key', ['name'])
      await unique('key', ['public_id'])
      await index('key', ['team'])

      await create('key_secret')
        .addColumn('sha256', 'text', column => column.primaryKey().notNull())
        .addColumn('key_id', 'integer', column => column.notNull().references('key.id'))
        .addColumn('last4', 'text', column => column.notNull())
        .addColumn('created_at', 'bigint', column => column.notNull())
        .addColumn('expires_at', 'bigint')
        .execute()
      await index('key_secret', ['key_id'])

      await withId(create('change'), 'seq')
        .addColumn('at', 'bigint', column => column.notNull())
        .addColumn('kind', 'text', column => column.notNull())
        .addColumn('subject_id', 'integer', column => column.notNull())
        .addColumn('is_now', 'integer', column => column.notNull())
        .execute()

      let ledger = create('ledger').addColumn('id', 'text', column => column.primaryKey().notNull()) as CreateTableBuilder<string, string>
      for (const name of KNOWN) ledger = ledger.addColumn(name, 'bigint', column => column.notNull())
      for (const name of [...NAMES, ...FIGURES]) ledger = ledger.addColumn(name, 'bigint')
      await byDays(ledger, 'id').execute()
      for (const column of ['key', 'model', 'target']) await index('ledger', [column, 'id'])
      // Most exchanges have neither.
      for (const column of ['end_user', 'session'])
        await db.schema
          .createIndex(`ledger_${column}_id`)
          .on('ledger')
          .columns([column, 'id'])
          .where(sql.ref(column), 'is not', null)
          .execute()
      await db.schema.createIndex('ledger_failed').on('ledger').column('id').where(sql.ref('status'), '>=', 400).execute()

      await byDays(
        create('detail')
          .addColumn('ledger_id', 'text', column => column.primaryKey().notNull())
          .addColumn('detail', 'text', column => column.notNull()),
        'ledger_id',
      ).execute()

      await create('open')
        .addColumn('id', 'text', column => column.primaryKey().notNull())
        .addColumn('instance', 'integer', column => column.notNull())
        .addColumn('worker', 'text', column => column.notNull())
        .addColumn('at', 'bigint', column => column.notNull())
        .addColumn('row', 'text', column => column.notNull())
        .execute()
      await index('open', ['instance', 'worker'])

      for (const [name, by] of Object.entries(ROLLUPS)) {
        let table = create(name) as CreateTableBuilder<string, string>
        for (const column of [...by, ...SUMS]) table = table.addColumn(column, 'bigint', builder => builder.notNull())
        await table.addPrimaryKeyConstraint(`${name}_by`, [...by] as never[]).execute()
      }

      await create('audit')
        .addColumn('seq', 'integer', column => column.primaryKey().notNull())
        .addColumn('at', 'bigint', column => column.notNull())
        .addColumn('actor', 'text', column => column.notNull())
        .addColumn('via', 'text', column => column.notNull())
        .addColumn('operation', 'text', column => column.notNull())
        .addColumn('subject', 'text', column => column.notNull())
        .addColumn('before', 'text')
        .addColumn('after', 'text')
        .addColumn('previous_hash', 'text', column => column.notNull())
        .addColumn('hash', 'text', column => column.notNull())
        .execute()

      await withId(create('token'), 'id')
        .addColumn('name', 'text', column => column.notNull())
        .addColumn('role', 'text', column => column.notNull())
        .addColumn('sha256', 'text', column => column.notNull())
        .addColumn('last4', 'text', column => column.notNull())
        .addColumn('created_at', 'bigint', column => column.notNull())
        .addColumn('expires_at', 'bigint')
        .addColumn('state', 'text', column => column.notNull())
        .execute()
      await unique('token', ['sha256'])
      await unique('token', ['name'])

      await withId(create('instance'), 'id')
        .addColumn('public_id', 'text', column => column.notNull())
        .addColumn('host', 'text', column => column.notNull())
        .addColumn('started_at', 'bigint', column => column.notNull())
        .addColumn('seen_at', 'bigint', column => column.notNull())
        .addColumn('config_hash', 'text')
        .execute()
      await unique('instance', ['public_id'])
    },
  }
}
