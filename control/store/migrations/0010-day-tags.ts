// Usage by tags has a rollup of its own: where there are many keys, `day_all` has a hundred times as many rows as there are tags and models.

import { type Kysely, type Migration, sql } from 'kysely'
import type { Engine } from '../engine.js'

const BY = ['day', 'tags', 'model', 'target', 'part']
const SUMS = ['n', 'failures', 'partial', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge', 'unpriced', 'ms_sum']

export function dayTags(engine: Engine): Migration {
  const isPostgres = engine.kind === 'postgres'
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      // All rows of `day_all` are read.
      if (isPostgres) await sql`set local statement_timeout = 0`.execute(db)
      let table = db.schema.createTable('day_tags')
      for (const column of BY) table = table.addColumn(column, 'integer', builder => builder.notNull()) as typeof table
      for (const column of SUMS) table = table.addColumn(column, 'bigint', builder => builder.notNull()) as typeof table
      table = table.addPrimaryKeyConstraint('day_tags_key', BY as never[]) as typeof table
      await (isPostgres ? table : table.modifyEnd(sql`without rowid`)).execute()
      const names = BY.map(column => sql.ref(column))
      const sums = SUMS.map(column => sql`sum(${sql.ref(column)})`)
      await sql`insert into day_tags select ${sql.join([...names, ...sums])} from day_all group by ${sql.join(names)}`.execute(db)
    },
  }
}
