// Budgets of keys, the accounts that grant money, the shares of workers, and the accounts of each row.

import type { Kysely, Migration } from 'kysely'

export function budgets(): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      await db.schema.alterTable('key').addColumn('budgets', 'text').execute()
      await db.schema.alterTable('ledger').addColumn('purse', 'bigint').execute()
      await db.schema
        .createTable('account')
        .addColumn('id', 'text', column => column.primaryKey().notNull())
        .addColumn('most', 'bigint', column => column.notNull())
        .addColumn('out', 'bigint', column => column.notNull())
        .addColumn('spent', 'bigint', column => column.notNull())
        .addColumn('until', 'bigint')
        .addColumn('at', 'bigint', column => column.notNull())
        .execute()
      await db.schema.createIndex('account_at').on('account').column('at').execute()
      await db.schema
        .createTable('share')
        .addColumn('account', 'text', column => column.notNull())
        .addColumn('holder', 'text', column => column.notNull())
        .addColumn('instance', 'integer', column => column.notNull())
        .addColumn('granted', 'bigint', column => column.notNull())
        .addColumn('spent', 'bigint', column => column.notNull())
        .addColumn('version', 'bigint', column => column.notNull())
        .addPrimaryKeyConstraint('share_by', ['account', 'holder'] as never[])
        .execute()
      await db.schema.createIndex('share_holder').on('share').column('holder').execute()
    },
  }
}
