// Records are safe while the store is slow: not only in the memory of the control process.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type * as TreasuryModule from '../../control/budgets/treasury.js'
import type * as LookupModule from '../../control/keys/lookup.js'
import type * as IngestModule from '../../control/ledger/ingest.js'
import type * as QueriesModule from '../../control/ledger/queries.js'
import type { ExchangeRecord } from '../../control/ledger/record.js'
import type * as SpoolModule from '../../control/spool.js'
import type * as KeeperModule from '../../control/store/keeper.js'
import type * as PeriodsModule from '../../control/store/periods.js'
import { foldersOf } from '../command.js'
import { until } from './stage.js'
import { onPostgres, openStore } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { Treasury } = (await import(built('control/budgets/treasury.js'))) as typeof TreasuryModule
const { createLookup } = (await import(built('control/keys/lookup.js'))) as typeof LookupModule
const { Ingest } = (await import(built('control/ledger/ingest.js'))) as typeof IngestModule
const { verifyLedger } = (await import(built('control/ledger/queries.js'))) as typeof QueriesModule
const { openSpool } = (await import(built('control/spool.js'))) as typeof SpoolModule
const { Keeper } = (await import(built('control/store/keeper.js'))) as typeof KeeperModule
const { idAt } = (await import(built('control/store/periods.js'))) as typeof PeriodsModule

const log = pino({ level: 'silent' })
const newFolder = foldersOf()

/** A spool, and a store that is still to be opened. */
function begin(own = log) {
  const folder = newFolder()
  const spool = openSpool(join(folder, 'spool.sqlite'))
  const keeper = new Keeper({ at: join(folder, 'store.sqlite'), mayMigrate: true }, own, async () => undefined)
  const close = async (): Promise<void> => {
    await keeper.close()
    spool.close()
  }
  return { spool, keeper, close }
}

/** As many records, the first of them at a time. */
function recordsFrom(time: number, count: number): ExchangeRecord[] {
  const known = {
    status: 200,
    ended: 0,
    isStream: false,
    isEstimated: false,
    attempts: 1,
    total: 12,
    bytesIn: 100,
    bytesOut: 200,
    key: 'k1',
    model: 'm1',
  }
  return Array.from({ length: count }, (_, index) => ({ ...known, id: idAt(time + index), at: time + index }))
}

onPostgres('a slow Postgres', postgres => {
  test('does not delay the acknowledgement of records, and each is counted once', async () => {
    const folder = newFolder()
    const spool = openSpool(join(folder, 'spool.sqlite'))
    const at = await postgres().database()
    const keeper = new Keeper({ at, mayMigrate: true }, log, async () => undefined)
    await keeper.open()
    const newIngest = () => new Ingest({ keeper, spool, log, instance: () => 1 })
    const ingest = newIngest()
    const blocker = await openStore({ at, mayMigrate: false })
    const now = Date.now()
    const left = await blocker.db.transaction().execute(async trx => {
      await sql`lock table ledger in exclusive mode`.execute(trx)
      // The first are in a transaction that waits, the others wait for its end.
      const taken = await Promise.all([ingest.add(recordsFrom(now, 3)), ingest.add(recordsFrom(now + 10, 4))])
      expect(taken).toEqual([true, true])
      expect([ingest.isIdle, keeper.up]).toEqual([false, true])
      return spool.next()
    })
    await until(
      async () => ingest.isIdle,
      isIdle => isIdle,
    )
    expect(spool.size).toBe(0)
    expect(await verifyLedger(keeper.get())).toEqual({ rows: 7, differences: {} })

    // A process that is killed after the commit leaves a copy in the spool.
    expect(left?.records?.length).toBe(3)
    spool.add(left?.records ?? [])
    const next = newIngest()
    next.drainSoon()
    await until(
      async () => next.isIdle,
      isIdle => isIdle,
    )
    expect(await verifyLedger(keeper.get())).toEqual({ rows: 7, differences: {} })
    await Promise.all([ingest.close(), next.close(), blocker.close()])
    await keeper.close()
    spool.close()
  })
})

test('running exchanges that are reported before the store is open are recorded when it opens, unless they have ended', async () => {
  const { spool, keeper, close } = begin()
  const ingest = new Ingest({ keeper, spool, log, instance: () => 1 })
  const [first, second, ended] = recordsFrom(Date.now(), 3) as [ExchangeRecord, ExchangeRecord, ExchangeRecord]
  await ingest.open('w1', [first, ended])
  await ingest.open('w2', [second])
  await ingest.add([ended])
  await keeper.open()
  const open = () => keeper.get().db.selectFrom('open').select(['id', 'worker']).orderBy('id').execute()
  const noted = await until(open, rows => rows.length > 1)
  expect(noted).toEqual([
    { id: first.id, worker: 'w1' },
    { id: second.id, worker: 'w2' },
  ])
  await ingest.close()
  await close()
})

test('an exchange that ended while a control process was replaced is not called lost', async () => {
  const lines: { msg: string; exchanges?: number }[] = []
  const own = pino({ base: null }, { write: line => void lines.push(JSON.parse(line)) })
  const { spool, keeper, close } = begin(own)
  await keeper.open()
  const [ended, lost] = recordsFrom(Date.now(), 2) as [ExchangeRecord, ExchangeRecord]
  await new Ingest({ keeper, spool, log: own, instance: () => 1 }).open('w1', [ended, lost])
  const next = new Ingest({ keeper, spool, log: own, instance: () => 1 })
  await next.add([ended])
  await next.writeOldLost(new Set())
  expect(lines).toMatchObject([{ msg: 'exchanges were lost with the process that served them', exchanges: 1 }])
  expect(await verifyLedger(keeper.get())).toEqual({ rows: 2, differences: {} })
  await next.close()
  await close()
})

test('keys and money that are asked for before the store is open are given when it opens', async () => {
  const { spool, keeper, close } = begin()
  const treasury = new Treasury({ keeper, instance: () => 1, recall: () => undefined })
  const lookUp = createLookup({ keeper, spool, stale: 0, seq: () => 7 })
  const money = { account: 'all/ever@ever', limit: 10, until: Number.POSITIVE_INFINITY, wanted: 5, least: 5, useful: 5, isFresh: true }
  const given = Promise.all([lookUp('0'.repeat(64)), treasury.grant({ holder: 'w1', n: 1, money })])
  await keeper.open()
  expect(await given).toMatchObject([{ key: undefined, seq: 7 }, { granted: 5 }])
  await close()
})

test('the log has the reason for which a store cannot be opened, and says when it is reachable', async () => {
  const folder = newFolder()
  const lines: { msg: string; cause?: string }[] = []
  const own = pino({ base: null }, { write: line => void lines.push(JSON.parse(line)) })
  const keeper = new Keeper({ at: join(folder, 'later', 'store.sqlite'), mayMigrate: true }, own, async () => undefined)
  const ingest = new Ingest({ keeper, spool: openSpool(join(folder, 'spool.sqlite')), log: own, instance: () => 1 })
  await ingest.add(recordsFrom(Date.now(), 1))
  expect(lines).toEqual([])
  await keeper.open()
  await ingest.add(recordsFrom(Date.now() + 1, 1))
  expect(lines.map(({ msg, cause }) => [msg, cause])).toEqual([
    ['the store is unreachable', expect.stringContaining('unable to open database file')],
  ])
  mkdirSync(join(folder, 'later'))
  await until(
    async () => lines.at(-1)?.msg,
    said => said === 'the store is reachable again',
  )
  expect(lines).toHaveLength(2)
  await ingest.close()
  await keeper.close()
})

test('a spool that can be read and not written is drained when it can be, and its records are counted once', async () => {
  const folder = newFolder()
  const path = join(folder, 'spool.sqlite')
  const spool = openSpool(path)
  const keeper = new Keeper({ at: join(folder, 'store.sqlite'), mayMigrate: true }, log, async () => undefined)
  await keeper.open()
  spool.add(recordsFrom(Date.now(), 3))
  const ingest = new Ingest({ keeper, spool, log, instance: () => 1 })
  const locker = new DatabaseSync(path)
  locker.exec('begin immediate')
  ingest.drainSoon()
  await until(
    () => verifyLedger(keeper.get()),
    ({ rows }) => rows === 3,
  )
  expect(await ingest.add(recordsFrom(Date.now() + 10, 2))).toBe(true)
  expect(spool.isEmpty).toBe(false)
  locker.exec('rollback')
  locker.close()
  await until(
    async () => ingest.isIdle,
    isIdle => isIdle,
  )
  expect(spool.isEmpty).toBe(true)
  expect(await verifyLedger(keeper.get())).toEqual({ rows: 5, differences: {} })
  await ingest.close()
  await keeper.close()
  spool.close()
})
