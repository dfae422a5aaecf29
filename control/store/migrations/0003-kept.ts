// Answers that are kept, sealed, for the key that made them, and the items that requests may refer to.

import type { Kysely, Migration } from 'kysely'

export function kept(): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      await db.schema
        .createTable('kept')
        .addColumn('id', 'text', column => column.primaryKey().notNull())
        .addColumn('caller', 'text', column => column.notNull())
        .addColumn('previous', 'text')
        .addColumn('created_at', 'bigint', column => column.notNull())
        .addColumn('expires_at', 'bigint', column => column.notNull())
        .addColumn('size', 'bigint', column => column.notNull())
        .addColumn('sealed', 'text', column => column.notNull())
        .execute()
      for (const column of ['created_at', 'expires_at']) await db.schema.createIndex(`kept_${column}`).on('kept').column(column).execute()
      await db.schema
        .createTable('kept_item')
        .addColumn('caller', 'text', column => column.notNull())
        .addColumn('item_id', 'text', column => column.notNull())
        .addColumn('kept_id', 'text', column => column.notNull().references('kept.id').onDelete('cascade'))
        .addPrimaryKeyConstraint('kept_item_by', ['caller', 'item_id'] as never[])
        .execute()
      await db.schema.createIndex('kept_item_kept_id').on('kept_item').column('kept_id').execute()
    },
  }
}
