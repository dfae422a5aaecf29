// Kept answers, sealed, for the key that made them, and the items that requests may refer to.

import type { Kysely, Migration } from 'kysely'

export function kept(): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      await db.schema
        .createTable('kept')
        .addColumn('caller', 'text', column => column.notNull())
        .addColumn('id', 'text', column => column.notNull())
        .addColumn('previous', 'text')
        .addColumn('created_at', 'bigint', column => column.notNull())
        .addColumn('expires_at', 'bigint', column => column.notNull())
        .addColumn('size', 'bigint', column => column.notNull())
        .addColumn('sealed', 'text', column => column.notNull())
        // If a provider uses an id twice, callers still keep separate answers.
        .addPrimaryKeyConstraint('kept_by', ['caller', 'id'] as never[])
        .execute()
      for (const column of ['created_at', 'expires_at']) await db.schema.createIndex(`kept_${column}`).on('kept').column(column).execute()
      await db.schema
        .createTable('kept_item')
        .addColumn('caller', 'text', column => column.notNull())
        .addColumn('item_id', 'text', column => column.notNull())
        .addColumn('kept_id', 'text', column => column.notNull())
        .addForeignKeyConstraint('kept_item_of', ['caller', 'kept_id'] as never[], 'kept', ['caller', 'id'], key => key.onDelete('cascade'))
        .addPrimaryKeyConstraint('kept_item_by', ['caller', 'item_id'] as never[])
        .execute()
      await db.schema.createIndex('kept_item_kept_id').on('kept_item').columns(['caller', 'kept_id']).execute()
    },
  }
}
