// Every meter that is priced has a column, and so has what a price depends on, so that a cost can be explained by its row.

import type { Kysely, Migration } from 'kysely'
import type { Engine } from '../engine.js'

const COUNTS = [
  'region',
  'facts',
  'cache_write_1h',
  'audio_input',
  'image_input',
  'audio_output',
  'image_output',
  'image',
  'character',
  'search',
  'page',
  'tool_call',
  'request',
]

export function meters(engine: Engine): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      for (const column of COUNTS) await db.schema.alterTable('ledger').addColumn(column, 'bigint').execute()
      await db.schema
        .alterTable('ledger')
        .addColumn('second', engine.kind === 'postgres' ? 'double precision' : 'real')
        .execute()
    },
  }
}
