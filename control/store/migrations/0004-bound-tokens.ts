// Tokens whose role is bound to teams or to keys.

import type { Kysely, Migration } from 'kysely'

export function boundTokens(): Migration {
  return {
    async up(untyped) {
      await (untyped as Kysely<never>).schema.alterTable('token').addColumn('bound', 'text').execute()
    },
  }
}
