// A column for every priced meter, and for the facts that a price depends on, so that a row explains its cost.

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
