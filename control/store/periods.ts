// Rows by day. In Postgres each day of the ledger is a partition that is created before its first row and dropped as a
// whole; in SQLite old rows are deleted in small steps, so that nothing waits long.

import { sql } from 'kysely'
import { DAY } from './columns.js'
import type { Engine } from './engine.js'
import { inSteps, STEP } from './steps.js'

const AHEAD = 7
/** Milliseconds for which the deletion of a day waits for those who read the table. */
const READERS = 500

export interface Periods {
  /** Makes room for rows of these times: milliseconds since 1970. */
  ensure(times: Iterable<number>): Promise<void>
  /** Removes older rows; returns how many partitions or rows were removed. */
  drop(table: 'ledger' | 'detail', before: number): Promise<number>
}

/** The smallest possible id of an exchange that begins at a time: milliseconds since 1970. */
export function idAt(time: number): string {
  return `${Math.max(0, Math.floor(time)).toString(16).padStart(12, '0')}${'0'.repeat(20)}`
}

const dayName = (day: number): string => new Date(day * DAY).toISOString().slice(0, 10).replaceAll('-', '')

export function createPeriods(engine: Engine): Periods {
  return engine.kind === 'postgres' ? partitions(engine) : deletions(engine)
}

function partitions({ db }: Engine): Periods {
  const there = new Set<number>()
  const make = async (day: number): Promise<void> => {
    const [from, to] = [sql.lit(idAt(day * DAY)), sql.lit(idAt((day + 1) * DAY))]
    for (const table of ['ledger', 'detail'])
      await sql`create table if not exists ${sql.table(`${table}_${dayName(day)}`)} partition of ${sql.table(table)} for values from (${from}) to (${to})`
        .execute(db)
        .catch(async (error: { code?: string }) => {
          // Another instance created it at the same time; `if not exists` checks before it waits.
          if (error.code !== '42P07' && error.code !== '23505') throw error
        })
  }
  return {
    async ensure(times) {
      const days = new Set([...times].map(time => Math.floor(time / DAY)))
      for (const day of days) {
        if (there.has(day)) continue
        for (let next = day; next <= day + AHEAD; next++) {
          if (there.has(next)) continue
          await make(next)
          there.add(next)
        }
      }
    },
    async drop(table, before) {
      const last = `${table}_${dayName(Math.floor(before / DAY))}`
      const { rows } = await sql<{ name: string }>`
        select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
        where inhparent = ${table}::regclass and child.relname < ${last}`.execute(db)
      for (const [count, { name }] of rows.entries()) {
        if (!(await dropUnread(db, name))) return count
        there.delete(Date.parse(`${name.slice(-8, -4)}-${name.slice(-4, -2)}-${name.slice(-2)}`) / DAY)
      }
      return rows.length
    },
  }
}

/** Drops a partition; false if somebody reads the table for longer, such as a dump: all that is written to it would wait, too. */
async function dropUnread(db: Engine['db'], name: string): Promise<boolean> {
  try {
    await db.transaction().execute(async trx => {
      await sql`set local lock_timeout = ${sql.lit(READERS)}`.execute(trx)
      await sql`drop table if exists ${sql.table(name)}`.execute(trx)
    })
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== '55P03') throw error
    return false
  }
}

function deletions({ db }: Engine): Periods {
  return {
    ensure: async () => undefined,
    async drop(table, before) {
      const id = sql.ref(table === 'ledger' ? 'id' : 'ledger_id')
      const until = idAt(Math.floor(before / DAY) * DAY)
      return inSteps(async () => {
        const { numAffectedRows } =
          await sql`delete from ${sql.table(table)} where rowid in (select rowid from ${sql.table(table)} where ${id} < ${until} limit ${STEP})`.execute(
            db,
          )
        return Number(numAffectedRows ?? 0)
      })
    },
  }
}
