// Postgres as a store, for several instances.

import { Kysely, PostgresDialect, type PostgresPool, type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Kind } from './columns.js'
import type { Engine, Rows } from './engine.js'
import type { AccountTable, Tables } from './tables.js'

const CONNECTIONS = 8
/** Milliseconds. */
const CONNECT = 3_000
const STATEMENT = 30_000
const RECONNECT = 1_000
/** How often the server is asked whether it is there and may write, and how long it may take to answer. */
const PING = 5_000
const PONG = 5_000

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

/**
 * A pool that can be given up: a network that drops all in silence leaves its connections open, and their queries without an
 * answer; a server that is no longer the primary answers, and refuses to write.
 */
class Pool implements PostgresPool {
  private readonly clients = new Set<pg.ClientBase & Partial<Pick<pg.Client, 'end'>>>()
  private pool: pg.Pool

  constructor(private readonly url: string) {
    this.pool = this.open()
  }

  private open(): pg.Pool {
    const pool = new pg.Pool({
      connectionString: this.url,
      max: CONNECTIONS,
      connectionTimeoutMillis: CONNECT,
      statement_timeout: STATEMENT,
      application_name: 'sluice',
      types,
      onConnect: async client => {
        client.on('error', () => undefined)
        this.clients.add(client)
        // Whoever waits for a lock has to see what its holder wrote: a database may have another default.
        await client.query('set default_transaction_isolation = "read committed"')
      },
    })
    // A connection broke while idle, or between two queries of a transaction; the next query fails, or opens another.
    pool.on('error', () => undefined)
    pool.on('remove', client => this.clients.delete(client))
    return pool
  }

  connect(): Promise<pg.PoolClient> {
    return this.pool.connect()
  }

  end(): Promise<void> {
    return this.pool.end()
  }

  /** Ends all connections, and the queries that wait for an answer. */
  renew(): void {
    const [pool, clients] = [this.pool, [...this.clients]]
    this.clients.clear()
    this.pool = this.open()
    for (const client of clients) void client.end?.().catch(() => undefined)
    void pool.end().catch(() => undefined)
  }
}

/** Connects on the first query, which reports an unreachable server. */
export function openPostgres(url: string): Engine {
  const pool = new Pool(url)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return {
    kind: 'postgres',
    db,
    reading: run => db.transaction().setIsolationLevel('repeatable read').execute(run),
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
    // Without the turn of writes, a row could be read before one with a smaller number, which would never be read. One statement
    // has the turn for no longer than its commit takes, however far away the server is.
    recall: async account => {
      const { rows } = await sql`insert into change (at, kind, subject_id, is_now)
        select ${Date.now()}, 'recall', ${account}, 0 from (select pg_try_advisory_xact_lock(${WRITE_LOCK}) as is_ours) as turn where is_ours
        returning pg_notify(${CHANNEL}, '')`.execute(db)
      return rows.length > 0
    },
    onChange: async run => listen(url, run, () => pool.renew()),
  }
}

/**
 * Listens for changes until closed, and reconnects. Behind a pooler it may hear nothing, so the caller polls, too. `onGone` runs
 * if the server does not answer, or may not write.
 */
function listen(url: string, run: () => void, onGone: () => void): { close(): Promise<void> } {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  const again = (): void => {
    client = undefined
    clearTimeout(timer)
    timer = undefined
    if (isClosed) return
    timer = setTimeout(() => {
      timer = undefined
      void connect()
    }, RECONNECT)
    timer.unref()
  }
  const ping = async (mine: pg.Client): Promise<void> => {
    const canWrite = await mine
      .query<{ transaction_read_only: string }>('show transaction_read_only')
      .then(({ rows }) => rows[0]?.transaction_read_only === 'off')
      .catch(() => false)
    if (client !== mine || isClosed) return
    if (canWrite) {
      timer = setTimeout(() => void ping(mine), PING).unref()
      return
    }
    onGone()
    void mine.end().catch(() => undefined)
    again()
  }
  const connect = async (): Promise<void> => {
    const mine = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT,
      query_timeout: PONG,
      application_name: 'sluice listen',
    })
    client = mine
    const gone = (): void => {
      if (client === mine) again()
    }
    mine.on('error', gone)
    mine.on('end', gone)
    mine.on('notification', run)
    try {
      await mine.connect()
      await mine.query(`listen ${CHANNEL}`)
      if (client === mine) timer = setTimeout(() => void ping(mine), PING).unref()
    } catch {
      void mine.end().catch(() => undefined)
      gone()
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
