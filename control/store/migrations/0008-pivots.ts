// Any two of the names that usage is asked by stand together in a rollup; what did not was counted from rows each time. Days whose
// rows are gone keep what was known of them: 0 stands for the rest.

import { type Kysely, type Migration, type RawBuilder, sql } from 'kysely'
import type { Engine } from '../engine.js'

const SUMS = ['n', 'failures', 'partial', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge', 'unpriced', 'ms_sum']
const DAY = 86_400_000

/** What each is grouped by between `day` and `part`, and the rollup of before and its columns that older days are filled from. */
const TABLES = [
  { name: 'day_user', by: ['end_user'], before: 'day_key', known: [] },
  {
    name: 'day_all',
    by: ['key', 'team', 'grp', 'model', 'target', 'route', 'tags', 'region'],
    before: 'day_key',
    known: ['key', 'model'],
  },
  { name: 'day_key', by: ['key', 'team', 'grp'], before: 'day_key', known: ['key'] },
  {
    name: 'day_team',
    by: ['team', 'grp', 'model', 'target', 'route', 'region'],
    before: 'day_team',
    known: ['team', 'grp', 'model', 'route'],
  },
]

export function pivots(engine: Engine): Migration {
  const isPostgres = engine.kind === 'postgres'
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      const run = (query: RawBuilder<unknown>): Promise<unknown> => query.execute(db)
      // All rows are looked at once for each table.
      if (isPostgres) await run(sql`set local statement_timeout = 0`)
      const oldest = sql`coalesce((select min(at) from ledger) / ${sql.lit(DAY)}, ${sql.lit(Math.floor(Number.MAX_SAFE_INTEGER / DAY))})`
      const sumOf = (name: string): RawBuilder<unknown> => sql`coalesce(sum(${sql.ref(name)}), 0)`
      for (const { name, by, before, known } of TABLES) {
        const made = `${name}_new`
        let table = db.schema.createTable(made)
        for (const column of ['day', ...by, 'part'])
          table = table.addColumn(column, 'integer', builder => builder.notNull()) as typeof table
        for (const column of SUMS) table = table.addColumn(column, 'bigint', builder => builder.notNull()) as typeof table
        table = table.addPrimaryKeyConstraint(`${name}_pivot`, ['day', ...by, 'part'] as never[]) as typeof table
        // One tree in place of two: a row is found where its key is.
        await (isPostgres ? table : table.modifyEnd(sql`without rowid`)).execute()
        const groups = sql.join(Array.from({ length: by.length + 2 }, (_, index) => sql.lit(index + 1)))
        const own = by.map(column => (known.includes(column) ? sql.ref(column) : sql.lit(0)))
        await run(sql`insert into ${sql.table(made)} select ${sql.join([sql.ref('day'), ...own, sql.ref('part'), ...SUMS.map(sumOf)])}
          from ${sql.table(before)} where day < ${oldest} group by ${groups}`)
        const counted = [
          sql`count(*)`,
          sql`sum(case when status >= 400 then 1 else 0 end)`,
          sql`sum(case when ended >= 3 then 1 else 0 end)`,
          ...['input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge'].map(sumOf),
          sql`sum(case when cost is null and (input is not null or output is not null) then 1 else 0 end)`,
          sql`sum(total_ms)`,
        ]
        const names = [sql`at / ${sql.lit(DAY)}`, ...by.map(column => sql`coalesce(${sql.ref(column)}, 0)`), sql.lit(0)]
        await run(sql`insert into ${sql.table(made)} select ${sql.join([...names, ...counted])} from ledger group by ${groups}`)
      }
      for (const table of ['day_key', 'day_team']) await db.schema.dropTable(table).execute()
      for (const { name } of TABLES) await db.schema.alterTable(`${name}_new`).renameTo(name).execute()
    },
  }
}
