// What has a quantity but no price counts as unpriced, also if the quantity is not tokens: it was counted as if it were free.

import { type Kysely, type Migration, sql } from 'kysely'
import type { Engine } from '../engine.js'

/** The rollups and what they are grouped by, without their parts, as this version has them. */
const ROLLUPS: Readonly<Record<string, readonly string[]>> = {
  day_model: ['day', 'grp', 'model', 'target'],
  day_user: ['day', 'end_user'],
  day_team: ['day', 'team', 'grp', 'model', 'target', 'route', 'region'],
  day_tags: ['day', 'tags', 'model', 'target'],
  day_key: ['day', 'key', 'team', 'grp'],
  day_all: ['day', 'key', 'team', 'grp', 'model', 'target', 'route', 'tags', 'region'],
  hour_model: ['hour', 'model', 'target'],
  hour: ['hour', 'key', 'model', 'target'],
}

const QUANTITIES = ['image', 'second', 'character', 'search', 'page', 'tool_call']
const TIMES: Readonly<Record<string, number>> = { day: 86_400_000, hour: 3_600_000 }

export function unpriced(engine: Engine): Migration {
  return {
    async up(untyped) {
      const db = untyped as Kysely<never>
      // All rows are read.
      if (engine.kind === 'postgres') await sql`set local statement_timeout = 0`.execute(db)
      const counts = sql.join(
        QUANTITIES.map(name => sql`${sql.ref(name)} is not null`),
        sql` or `,
      )
      await sql`create temporary table missed as select * from ledger where cost is null and input is null and output is null and (${counts})`.execute(
        db,
      )
      for (const [rollup, by] of Object.entries(ROLLUPS)) {
        const values = by.map(name => (TIMES[name] === undefined ? sql`coalesce(${sql.ref(name)}, 0)` : sql`at / ${sql.lit(TIMES[name])}`))
        const named = by.map((name, index) => sql`${values[index]} as ${sql.ref(name)}`)
        const isSame = (left: string, right: string) =>
          sql.join(
            by.map(name => sql`${sql.ref(`${left}.${name}`)} = ${sql.ref(`${right}.${name}`)}`),
            sql` and `,
          )
        // The rows of a group were counted in its parts; which one has the missing count does not matter.
        await sql`update ${sql.table(rollup)} set unpriced = unpriced + missing.n
          from (select ${sql.join(named)}, count(*) as n from missed group by ${sql.join(by.map((_, index) => sql.lit(index + 1)))}) as missing
          where ${isSame(rollup, 'missing')}
          and ${sql.ref(`${rollup}.part`)} = (select min(part) from ${sql.table(rollup)} as other where ${isSame('other', 'missing')})`.execute(
          db,
        )
      }
      await sql`drop table missed`.execute(db)
    },
  }
}
