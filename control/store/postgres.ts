// Postgres as a store, for several instances.

import { Kysely, PostgresDialect, type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Kind } from './columns.js'
import type { Engine, Rows } from './engine.js'
import type { AccountTable, Tables } from './tables.js'

const CONNECTIONS = 8
/** Milliseconds. */
const CONNECT = 3_000
const STATEMENT = 30_000
const RECONNECT = 1_000

/** The lock for writes: the audit chain and the order of `change` need one writer in the whole database. */
const WRITE_LOCK = 7_236_511

const CHANNEL = 'sluice_change'

// 64-bit integers and their sums as numbers: ids, times and nano-units stay below 2⁵³.
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
    if (oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC) return Number
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

const TYPES: Readonly<Record<Kind, string>> = { text: 'text', bigint: 'bigint', double: 'float8' }

/** A column of rows as a Postgres array. */
function arrayOf(lists: Rows['lists'], index: number, kind: Kind): string {
  const values = lists.map(list => {
    const value = list[index]
    if (value === null || value === undefined) return 'NULL'
    return kind === 'text' ? `"${String(value).replaceAll(/["\\]/g, '\\$&')}"` : String(value)
  })
  return `{${values.join(',')}}`
}

/** Connects on the first query, which reports an unreachable server. */
export function openPostgres(url: string): Engine {
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT,
    statement_timeout: STATEMENT,
    application_name: 'sluice',
    types,
  })
  // A connection broke while idle, or between two queries of a transaction; the next query fails, or opens another.
  pool.on('error', () => undefined)
  pool.on('connect', client => client.on('error', () => undefined))
  return {
    kind: 'postgres',
    db: new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }),
    elementsOf: (json): RawBuilder<unknown> => sql`json_array_elements(${json}::json)`,
    // A list for each column takes the server a third of the time of rows as JSON.
    writeRows: async (trx, { table, columns, conflict, lists }) => {
      const used = Object.entries(columns).flatMap(([name, kind], index) =>
        lists.some(list => list[index] !== null) ? [{ name: `"${name}"`, type: TYPES[kind], text: arrayOf(lists, index, kind) }] : [],
      )
      const first = (used[0] as { name: string }).name
      const { rows } = await sql<{ first: unknown }>`insert into ${sql.table(table)} (${sql.raw(used.map(one => one.name).join(', '))})
        select * from unnest(${sql.join(used.map(({ type, text }) => sql`${text}::${sql.raw(type)}[]`))})
        on conflict ${sql.raw(conflict)} returning ${sql.raw(first)} as first`.execute(trx)
      return new Set(rows.map(row => row.first))
    },
    lockWrites: async trx => {
      await sql`select pg_advisory_xact_lock(${WRITE_LOCK})`.execute(trx)
    },
    lockAccounts: async (trx, ids) => {
      const { rows } = await sql<AccountTable>`select * from account where id = any(${[...ids]}::text[]) order by id for update`.execute(
        trx,
      )
      return rows
    },
    notifyChange: async trx => {
      await sql`select pg_notify(${CHANNEL}, '')`.execute(trx)
    },
    onChange: async run => listen(url, run),
  }
}

/** Listens for changes until closed, and reconnects. Behind a pooler it may hear nothing, so the caller polls, too. */
function listen(url: string, run: () => void): { close(): Promise<void> } {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  const again = (): void => {
    client = undefined
    if (isClosed || timer) return
    timer = setTimeout(() => {
      timer = undefined
      void connect()
    }, RECONNECT)
    timer.unref()
  }
  const connect = async (): Promise<void> => {
    const mine = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT, application_name: 'sluice listen' })
    client = mine
    mine.on('error', again)
    mine.on('end', again)
    mine.on('notification', run)
    try {
      await mine.connect()
      await mine.query(`listen ${CHANNEL}`)
    } catch {
      await mine.end().catch(() => undefined)
      again()
    }
  }
  void connect()
  return {
    async close() {
      isClosed = true
      clearTimeout(timer)
      await client?.end().catch(() => undefined)
    },
  }
}
