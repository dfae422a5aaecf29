// Keys have limits of their own, as those of the file have.

import type { Kysely, Migration } from 'kysely'

export function keyLimits(): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      await db.schema.alterTable('key').addColumn('limits', 'text').execute()
    },
  }
}
