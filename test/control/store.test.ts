// The store on both engines: schema, names, periods.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { type RawBuilder, sql } from 'kysely'
import { expect, test } from 'vitest'
import type * as AccountsModule from '../../control/budgets/accounts.js'
import type * as NamesModule from '../../control/store/names.js'
import type * as PeriodsModule from '../../control/store/periods.js'
import type * as RefusedModule from '../../control/store/refused.js'
import { MAIN, sluice } from '../command.js'
import { until } from '../polling.js'
import { engineAt, migratorOf, onEachEngine, onPostgres, openStore, stateOf } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { spentOf } = (await import(built('control/budgets/accounts.js'))) as typeof AccountsModule
const { isUnwritable } = (await import(built('control/store/refused.js'))) as typeof RefusedModule
const { idAt } = (await import(built('control/store/periods.js'))) as typeof PeriodsModule
const { createNames } = (await import(built('control/store/names.js'))) as typeof NamesModule

onEachEngine((make, kind) => {
  test('the schema is made once, and reused at the next start', async () => {
    const at = await make()
    await expect(openStore({ at, mayMigrate: false })).rejects.toThrow('run `sluice store migrate`')
    const made = await openStore({ at, mayMigrate: true })
    await made.db.insertInto('change').values({ at: 1, kind: 'key', subject_id: 7, is_now: 0 }).execute()
    await made.close()
    const again = await openStore({ at, mayMigrate: false })
    expect(await again.db.selectFrom('change').select(['seq', 'subject_id']).execute()).toEqual([{ seq: 1, subject_id: 7 }])
    await again.close()
  })

  test('a schema of a later version is refused with a reason', async () => {
    const at = await make()
    const made = await openStore({ at, mayMigrate: true })
    await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01')`.execute(made.db)
    await made.close()
    await expect(openStore({ at, mayMigrate: true })).rejects.toThrow('newer than this version of Sluice knows (9999-later)')
  })

  test('a migration that ends in the middle leaves the store as it was, and can be repeated', async () => {
    const engine = engineAt(await make())
    expect((await migratorOf(engine).migrateTo('0007-day-team')).error).toBeUndefined()
    // The second of the tables that the next step makes cannot be made.
    await sql`create table day_key_new (x integer)`.execute(engine.db)
    expect((await migratorOf(engine).migrateToLatest()).error).toBeInstanceOf(Error)
    expect((await stateOf(engine)).done.at(-1)).toBe('0007-day-team')
    await sql`drop table day_key_new`.execute(engine.db)
    expect((await migratorOf(engine).migrateToLatest()).error).toBeUndefined()
    expect((await stateOf(engine)).missing).toEqual([])
    await engine.db.destroy()
  })

  test('a store that may only be read is told from a value that it refuses', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const failureOf = (query: RawBuilder<unknown>, before?: RawBuilder<unknown>): Promise<unknown> =>
      store.db.connection().execute(async db => {
        await before?.execute(db)
        return query.execute(db).catch((error: unknown) => error)
      })
    const insert = sql`insert into change (at, kind, subject_id, is_now) values (1, 'key', 7, 0)`
    const inserts = [insert, sql`${insert} returning seq`]
    for (const query of [sql`insert into change (kind) values (null)`, sql`insert into change (kind) values (null) returning seq`])
      expect(isUnwritable(await failureOf(query))).toBe(false)
    const readOnly = kind === 'sqlite' ? sql`pragma query_only = 1` : sql`set default_transaction_read_only = on`
    for (const query of inserts) expect(isUnwritable(await failureOf(query, readOnly))).toBe(true)
    await store.close()
  })

  test('a name has one id, whichever process asks first', async () => {
    const at = await make()
    // A file of SQLite has one process; of Postgres any number may come at once.
    const open = () => openStore({ at, mayMigrate: true })
    const stores = kind === 'postgres' ? await Promise.all([open(), open()]) : [await open(), await open()]
    const words = Array.from({ length: 50 }, (_, index) => `m${index % 25}`)
    const ids = await Promise.all(stores.map(store => store.names.idsOf(['model'], [...words, undefined])))
    expect(ids[0]).toEqual(ids[1])
    expect(new Set(ids[0]).size).toBe(26)
    expect(ids[0]?.at(-1)).toBeNull()
    expect(await stores[0]?.names.find('model', 'm3')).toBe(ids[0]?.[3])
    expect(await stores[0]?.names.find('target', 'm3')).toBeUndefined()
    await Promise.all(stores.map(store => store.close()))
  })

  test('a name keeps its id even if more names are in use than are cached', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const names = createNames(store, 10)
    const words = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `s${from + index}`)
    const first = await names.idsOf(['session'], words(0, 8))
    const all = await names.idsOf(['session'], words(0, 30))
    expect(all.slice(0, 8)).toEqual(first)
    expect(all).not.toContain(null)
    expect(new Set(all).size).toBe(30)
    expect(await names.idsOf(['session'], words(0, 30))).toEqual(all)
    await store.close()
  })

  test('old days are dropped whole, and young ones stay', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const now = Date.parse('2026-11-22T10:00:00Z')
    const times = [now - 40 * 86_400_000, now - 31 * 86_400_000, now - 3_600_000, now]
    await store.periods.ensure(times)
    const ids = times.map(time => time.toString(16).padStart(12, '0') + randomBytes(10).toString('hex'))
    for (const id of ids) await store.db.insertInto('detail').values({ ledger_id: id, detail: '{}' }).execute()
    expect(await store.periods.drop('detail', now - 30 * 86_400_000)).toBeGreaterThan(0)
    const left = await store.db.selectFrom('detail').select('ledger_id').orderBy('ledger_id').execute()
    expect(left.map(row => row.ledger_id)).toEqual(ids.slice(2))
    // A day that is gone may come again, with rows that were held elsewhere.
    await store.periods.ensure(times)
    await store.db
      .insertInto('detail')
      .values({ ledger_id: ids[0] as string, detail: '{}' })
      .execute()
    await store.close()
  })

  test(`${kind} returns whole numbers as numbers`, async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const { rows } = await sql<{
      sum: number
      big: number
    }>`select sum(n) as sum, max(n) as big from (select 9007199254740 as n union all select 1) as list`.execute(store.db)
    expect(rows).toEqual([{ sum: 9007199254741, big: 9007199254740 }])
    await store.close()
  })

  test('spentOf lists the accounts that were used', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    for (const [id, spent] of [
      ['key:a/day@2026-11-22T00:00Z', 5_000_000_000_000],
      ['key:a/ever@ever', 7],
      ['key:b/ever@ever', 9],
    ] as const)
      await store.db.insertInto('account').values({ id, most: 10, out: spent, spent, until: null, at: 0 }).execute()
    const told = await spentOf(store, ['key:a/day@2026-11-22T00:00Z', 'key:a/ever@ever', 'nobody'])
    expect(told.sort((one, other) => one.spent - other.spent)).toEqual([
      { id: 'key:a/ever@ever', spent: 7 },
      { id: 'key:a/day@2026-11-22T00:00Z', spent: 5_000_000_000_000 },
    ])
    expect(await spentOf(store, [])).toEqual([])
    await store.close()
  })
})

onPostgres('on Postgres', postgres => {
  test('old days stay for another time while somebody reads the ledger, and rows are written meanwhile', async () => {
    const at = await postgres().database()
    const [store, other] = [await openStore({ at, mayMigrate: true }), await openStore({ at, mayMigrate: true })]
    await store.periods.ensure([Date.UTC(2026, 0, 1)])
    const began = performance.now()
    // A dump of the database reads as long as it takes.
    await other.reading(async db => {
      await db.selectFrom('detail').select('detail').execute()
      const dropping = store.periods.drop('detail', Date.UTC(2026, 0, 5))
      const writing = store.db
        .insertInto('detail')
        .values({ ledger_id: idAt(Date.UTC(2026, 0, 6)), detail: '{}' })
        .execute()
      expect(await dropping).toBe(0)
      await writing
    })
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(await store.periods.drop('detail', Date.UTC(2026, 0, 5))).toBe(4)
    await store.close()
    await other.close()
  })
})

const FILE = `listen: 127.0.0.1:0
keys: [{ name: file, value: key-of-the-file }]
upstreams: { up: { provider: openai, base: 'http://127.0.0.1:9', secret: none } }
models: { sim: { targets: [{ upstream: up }] } }
store: sqlite
`
/** Looks in a row that find the store locked: longer than a statement that only makes a table. */
const LOOKS = 5

test('a `store migrate` that is killed while it copies rows can be repeated', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-m-'))
  const path = join(folder, 'data', 'sluice.sqlite')
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'gateway.yaml'), FILE)
  const engine = engineAt(path)
  try {
    expect((await migratorOf(engine).migrateTo('0005-meters')).error).toBeUndefined()
    await fillLedger(engine, 200_000)
  } finally {
    await engine.db.destroy()
  }
  try {
    const child = spawn(process.execPath, [MAIN, 'store', 'migrate', '--config', 'gateway.yaml'], { cwd: folder })
    const ended = new Promise<NodeJS.Signals | null>(done => child.once('exit', (_code, signal) => done(signal)))
    let looks = 0
    await until(() => {
      looks = isLocked(path) ? looks + 1 : 0
      return child.exitCode !== null || looks === LOOKS
    })
    child.kill('SIGKILL')
    expect(await ended).toBe('SIGKILL')
    const left = engineAt(path)
    expect((await stateOf(left)).done.at(-1)).toBe('0005-meters')
    await left.db.destroy()
    const { code, out, err } = await sluice(['store', 'migrate'], folder)
    expect([code, out, err]).toEqual([0, expect.stringMatching(/^Migrated: 0006-teams, /), ''])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Whether somebody writes into a store. */
function isLocked(path: string): boolean {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    database.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  } finally {
    database.close()
  }
}

/** Rows of as many end users, which have as many rows in a rollup. */
async function fillLedger({ db }: ReturnType<typeof engineAt>, rows: number): Promise<void> {
  const { rows: columns } = await sql<{ name: string; type: string; notnull: number }>`pragma table_info(ledger)`.execute(db)
  const values: Readonly<Record<string, string>> = { id: `printf('%032x', i)`, at: 'i * 60000', end_user: 'i' }
  const textOf = ({ name, notnull }: (typeof columns)[number]): string => values[name] ?? (notnull ? '1' : 'null')
  await sql`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
    insert into ledger (${sql.join(columns.map(({ name }) => sql.ref(name)))})
    select ${sql.join(columns.map(column => sql.raw(textOf(column))))} from n`.execute(db)
}
