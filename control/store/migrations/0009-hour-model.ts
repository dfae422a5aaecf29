// Usage by hour without keys has a rollup of its own: `hour` has a row for almost every exchange where there are many keys.

import { type Kysely, type Migration, sql } from 'kysely'
import type { Engine } from '../engine.js'

const BY = ['hour', 'model', 'target', 'part']
const SUMS = ['n', 'failures', 'partial', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge', 'unpriced', 'ms_sum']

export function hourModel(engine: Engine): Migration {
  const isPostgres = engine.kind === 'postgres'
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      // All rows of `hour` are read.
      if (isPostgres) await sql`set local statement_timeout = 0`.execute(db)
      let table = db.schema.createTable('hour_model')
      for (const column of BY) table = table.addColumn(column, 'integer', builder => builder.notNull()) as typeof table
      for (const column of SUMS) table = table.addColumn(column, 'bigint', builder => builder.notNull()) as typeof table
      table = table.addPrimaryKeyConstraint('hour_model_key', BY as never[]) as typeof table
      await (isPostgres ? table : table.modifyEnd(sql`without rowid`)).execute()
      const names = BY.map(column => sql.ref(column))
      const sums = SUMS.map(column => sql`sum(${sql.ref(column)})`)
      await sql`insert into hour_model select ${sql.join([...names, ...sums])} from hour group by ${sql.join(names)}`.execute(db)
    },
  }
}
