// A migration that makes a rollup of another one.

import { type Kysely, type Migration, sql } from 'kysely'
import type { Engine } from '../engine.js'

const SUMS = ['n', 'failures', 'partial', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge', 'unpriced', 'ms_sum']

/** Makes the rollup `made` by some columns of the rollup `from`, and fills it. */
export function rollupOf(engine: Engine, made: string, from: string, by: readonly string[]): Migration {
  const isPostgres = engine.kind === 'postgres'
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      // All rows of the other rollup are read.
      if (isPostgres) await sql`set local statement_timeout = 0`.execute(db)
      let table = db.schema.createTable(made)
      for (const column of by) table = table.addColumn(column, 'integer', builder => builder.notNull()) as typeof table
      for (const column of SUMS) table = table.addColumn(column, 'bigint', builder => builder.notNull()) as typeof table
      table = table.addPrimaryKeyConstraint(`${made}_key`, [...by] as never[]) as typeof table
      await (isPostgres ? table : table.modifyEnd(sql`without rowid`)).execute()
      const names = by.map(column => sql.ref(column))
      const sums = SUMS.map(column => sql`sum(${sql.ref(column)})`)
      await sql`insert into ${sql.table(made)} select ${sql.join([...names, ...sums])} from ${sql.table(from)} group by ${sql.join(names)}`.execute(
        db,
      )
    },
  }
}
