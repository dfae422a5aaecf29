// The usage of teams and routes by day: counting it from rows takes seconds for a million rows.

import { type Kysely, type Migration, sql } from 'kysely'

const BY = ['day', 'team', 'grp', 'model', 'route', 'part']
const SUMS = ['n', 'failures', 'partial', 'input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge', 'unpriced', 'ms_sum']
const DAY = 86_400_000

export function dayTeam(): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      let table = db.schema.createTable('day_team')
      for (const column of [...BY, ...SUMS]) table = table.addColumn(column, 'bigint', builder => builder.notNull()) as typeof table
      await table.addPrimaryKeyConstraint('day_team_by', [...BY] as never[]).execute()
      const total = (name: string) => sql`coalesce(sum(${sql.ref(name)}), 0)`
      await sql`
        insert into day_team
        select at / ${sql.lit(DAY)}, coalesce(team, 0), coalesce(grp, 0), coalesce(model, 0), coalesce(route, 0), 0,
          count(*), sum(case when status >= 400 then 1 else 0 end), sum(case when ended >= 3 then 1 else 0 end),
          ${sql.join(['input', 'output', 'cached', 'cache_write', 'reasoning', 'cost', 'charge'].map(total))},
          sum(case when cost is null and (input is not null or output is not null) then 1 else 0 end), sum(total_ms)
        from ledger group by 1, 2, 3, 4, 5`.execute(db)
    },
  }
}
