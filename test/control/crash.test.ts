// What remains of exchanges if processes are killed, or the store is unreachable.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { below, statOf } from '../../tools/proc.mjs'
import { sleep } from '../polling.js'
import { ask, createStage, exported, FILE_KEY, type Instance, openRows, type Stage, until, untilAnswered } from './stage.js'
import { onPostgres } from './stores.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

interface Verified {
  rows: number
  differences: Record<string, unknown>
}

const verified = async (gateway: Instance): Promise<Verified> => (await gateway.admin<Verified>('GET', '/ledger/verify')).body
const hasEnded = (pid: number): boolean => statOf(pid) === undefined || statOf(pid)?.[0] === 'Z'
const rowsOf = (gateway: Instance): Promise<{ id: string; ended: string; status: number }[]> => exported(gateway)

/** Keeps some requests under way; gives the ids of those that were answered, in the end. */
function load(gateway: Instance, key: string, width = 8): { answered: Set<string>; stop(): Promise<void> } {
  const answered = new Set<string>()
  let isStopping = false
  const worker = async (): Promise<void> => {
    while (!isStopping) {
      try {
        const response = await ask(gateway.url, key)
        await response.text()
        if (response.status === 200) answered.add(response.headers.get('x-request-id') as string)
      } catch {
        // The process that served it was killed.
      }
      // Some hundred requests a second are enough; as many as possible would only keep the tests beside this one waiting.
      await sleep(10)
    }
  }
  const all = Array.from({ length: width }, worker)
  return {
    answered,
    async stop() {
      isStopping = true
      await Promise.all(all)
    },
  }
}

describe('kill -9', () => {
  test('of the control process, repeatedly under load, loses and doubles no record', async () => {
    const gateway = await stage.start()
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'loaded' })
    const running = load(gateway, body.secret)
    // No stream is lost with it, either.
    const stream = await ask(gateway.url, FILE_KEY, 'sim-200-20ms', { stream: true })
    const text = stream.text()
    for (let round = 0; round < 3; round++) {
      const before = running.answered.size
      await until(
        async () => running.answered.size,
        size => size > before + 100,
      )
      const pids = gateway.pids('control/main.js')
      expect(pids.length).toBe(1)
      process.kill(pids[0] as number, 'SIGKILL')
      // Known keys stay valid, and so do those of the file.
      const during = running.answered.size
      expect((await ask(gateway.url, FILE_KEY)).status).toBe(200)
      await until(
        async () => running.answered.size,
        size => size > during + 20,
      )
      await until(
        async () => gateway.pids('control/main.js').length,
        count => count === 1,
      )
      await untilAnswered(gateway)
    }
    await running.stop()
    expect((await text).trimEnd().endsWith('data: [DONE]')).toBe(true)
    // Three questions and a stream of the file's key, too.
    const count = running.answered.size + 4
    const found = await until(
      () => verified(gateway),
      one => one.rows >= count,
    )
    expect(found).toEqual({ rows: count, differences: {} })
    const ids = (await rowsOf(gateway)).map(row => row.id)
    expect(new Set(ids).size).toBe(ids.length)
    expect([...running.answered].filter(id => !ids.includes(id))).toEqual([])
    expect(await gateway.stop()).toBe(0)
  })

  test('of a worker records long running exchanges as lost, and keeps the rows of ended ones', async () => {
    const gateway = await stage.start({ workers: 2 })
    const [first] = gateway.pids('--worker')
    const streams = await Promise.all(Array.from({ length: 12 }, () => ask(gateway.url, FILE_KEY, 'sim-200-20ms', { stream: true })))
    const texts = streams.map(stream => stream.text().catch(() => 'broken'))
    await until(
      async () => openRows(gateway).length,
      count => count === 12,
    )
    process.kill(first as number, 'SIGKILL')
    const broken = (await Promise.all(texts)).filter(text => !text.includes('[DONE]')).length
    const rows = await until(
      () => rowsOf(gateway),
      all => all.length === 12,
    )
    expect(rows.length).toBe(12)
    expect(rows.filter(row => row.ended === 'lost').length).toBe(broken)
    expect(rows.filter(row => row.ended === 'ok').length).toBe(12 - broken)
    expect(await verified(gateway)).toEqual({ rows: 12, differences: {} })
    // Another one has been started.
    await until(
      async () => gateway.pids('--worker').length,
      count => count === 2,
    )
    expect((await ask(gateway.url, FILE_KEY)).status).toBe(200)
    expect(await gateway.stop()).toBe(0)
  })

  test('of the supervisor loses no record of the exchanges that its workers end', async () => {
    const gateway = await stage.start({ workers: 2, grace: '60s' })
    const pids = gateway.pids('')
    const [control] = gateway.pids('control/main.js')
    const stream = await ask(gateway.url, FILE_KEY, 'sim-200-20ms', { stream: true })
    gateway.process.kill('SIGKILL')
    await until(async () => hasEnded(gateway.process.pid as number), Boolean)
    // Service managers tell the processes that are left to stop.
    process.kill(control as number, 'SIGTERM')
    expect(await stream.text()).toContain('[DONE]')
    await until(async () => pids.every(hasEnded), Boolean)
    expect(pids.filter(pid => !hasEnded(pid))).toEqual([])
    const again = await stage.start({}, gateway.folder)
    expect(await rowsOf(again)).toMatchObject([{ id: stream.headers.get('x-request-id'), ended: 'ok' }])
    expect(await verified(again)).toEqual({ rows: 1, differences: {} })
    await again.stop()
  })

  test('of all processes: the next start counts each running exchange once, as lost', async () => {
    const gateway = await stage.start()
    const stream = await ask(gateway.url, FILE_KEY, 'sim-200-20ms', { stream: true })
    const text = stream.text().catch(() => 'broken')
    await until(
      async () => openRows(gateway).length,
      count => count === 1,
    )
    const pids = [...gateway.pids(''), gateway.process.pid as number]
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    expect(await text).toBe('broken')
    const again = await stage.start({}, gateway.folder)
    const rows = await until(
      () => rowsOf(again),
      all => all.length === 1,
    )
    expect(rows).toMatchObject([{ id: stream.headers.get('x-request-id'), ended: 'lost' }])
    expect(await verified(again)).toEqual({ rows: 1, differences: {} })
    await again.stop()
  })
})

describe('the control process ends', () => {
  test.each<[string, (folder: string, pids: () => number[]) => boolean]>([
    ['begins', (_folder, pids) => pids().length > 0],
    ['locks its folder', folder => existsSync(join(folder, 'data', 'lock.sqlite'))],
    ['listens', folder => existsSync(join(folder, 'data', 'control.sock'))],
  ])('where the gateway is killed as soon as it %s', async (_name, isReached) => {
    const { child, folder } = stage.spawn()
    const pids = (): number[] => below(child.pid as number, 'control/main.js')
    await until(async () => isReached(folder, pids), Boolean)
    const mine = pids()
    child.kill('SIGKILL')
    expect(mine.length).toBe(1)
    expect(
      await until(
        async () => mine.filter(pid => !hasEnded(pid)),
        alive => alive.length === 0,
      ),
    ).toEqual([])
  })
})

// A minute passes before a process counts as stuck: both wait at once.
describe.concurrent('a stuck process', () => {
  test.each(['control/main.js', '--worker'])('is replaced: %s', async command => {
    const gateway = await stage.start({ workers: 2 })
    const before = gateway.pids(command)
    const [stuck] = before as [number]
    process.kill(stuck, 'SIGSTOP')
    const after = await until(
      async () => gateway.pids(command),
      pids => !pids.includes(stuck) && pids.length === before.length,
      // Each look reads of all processes of the machine.
      500,
    )
    expect(after.filter(pid => before.includes(pid)).length).toBe(before.length - 1)
    expect(gateway.log.filter(line => line.includes('is stuck')).length).toBe(1)
    await untilAnswered(gateway)
    expect((await ask(gateway.url, FILE_KEY)).status).toBe(200)
    expect(await gateway.stop()).toBe(0)
  })

  test('is ended when its supervisor was killed, and keeps no other alive', async () => {
    const gateway = await stage.start({ workers: 2 })
    const pids = gateway.pids('')
    process.kill(gateway.pids('--worker')[0] as number, 'SIGSTOP')
    gateway.process.kill('SIGKILL')
    await until(async () => pids.every(hasEnded), Boolean, 500)
    expect(pids.filter(pid => !hasEnded(pid))).toEqual([])
  })
})

/** Verifies again and again while exchanges are written; the page that is read must not be older than the sums. */
async function verifiesUnderLoad(gateway: Instance): Promise<void> {
  const running = load(gateway, FILE_KEY)
  await until(
    async () => running.answered.size,
    size => size > 100,
  )
  for (let round = 0; round < 15; round++) expect((await verified(gateway)).differences).toEqual({})
  await running.stop()
  await gateway.stop()
}

test('the ledger can be verified while it is written', async () => verifiesUnderLoad(await stage.start()))

test('a clean stop loses no record', async () => {
  const gateway = await stage.start()
  const running = load(gateway, FILE_KEY)
  await until(
    async () => running.answered.size,
    size => size > 200,
  )
  const stopped = gateway.stop()
  await running.stop()
  expect(await stopped).toBe(0)
  const again = await stage.start({}, gateway.folder)
  const ids = new Set((await rowsOf(again)).map(row => row.id))
  expect([...running.answered].filter(id => !ids.has(id))).toEqual([])
  expect((await verified(again)).differences).toEqual({})
  await again.stop()
})

onPostgres('while Postgres is unreachable', postgres => {
  test('known keys stay valid, unknown keys get 503 and never 401, and no record is lost', async () => {
    const gateway = await stage.start({ store: { at: await postgres().database() } })
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'known' })
    const { body: other } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'never-used' })
    expect((await ask(gateway.url, body.secret)).status).toBe(200)
    await postgres().stop()
    const running = load(gateway, body.secret, 4)
    await until(
      async () => running.answered.size,
      size => size > 300,
    )
    const refused = await ask(gateway.url, other.secret)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await gateway.admin('GET', '/keys')).status).toBe(503)
    // The control process dies meanwhile: the keys that were known are known to the next one.
    process.kill(gateway.pids('control/main.js')[0] as number, 'SIGKILL')
    const before = running.answered.size
    await until(
      async () => running.answered.size,
      size => size > before + 300,
    )
    await running.stop()
    await postgres().start()
    const count = running.answered.size + 2
    const found = await until(
      () => verified(gateway).catch(() => ({ rows: 0, differences: {} })),
      one => one.rows >= count,
    )
    expect(found).toEqual({ rows: count, differences: {} })
    expect((await ask(gateway.url, other.secret)).status).toBe(200)
    expect(await gateway.stop()).toBe(0)
  })

  test('the ledger can be verified while it is written', async () =>
    verifiesUnderLoad(await stage.start({ store: { at: await postgres().database() } })))

  test('after a failover to a server that may only be read, known keys stay valid, and no record is lost', async () => {
    const at = await postgres().database()
    const gateway = await stage.start({ store: { at } })
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'known' })
    expect((await ask(gateway.url, body.secret)).status).toBe(200)
    const isReadOnly = async (value: 'on' | 'off'): Promise<void> => {
      const client = new pg.Client({ connectionString: at })
      await client.connect()
      await client.query('set transaction read write')
      await client.query(`alter system set default_transaction_read_only = ${value}`)
      await client.query('select pg_reload_conf()')
      await client.end()
    }
    await isReadOnly('on')
    const running = load(gateway, body.secret, 4)
    await until(
      async () => gateway.log.filter(line => line.includes('the store is unreachable')).length,
      count => count > 0,
    )
    expect((await gateway.admin('POST', '/keys', { name: 'refused' })).status).toBe(503)
    const before = running.answered.size
    await until(
      async () => running.answered.size,
      size => size > before + 100,
    )
    await isReadOnly('off')
    await running.stop()
    const count = running.answered.size + 1
    const found = await until(
      () => verified(gateway).catch(() => ({ rows: 0, differences: {} })),
      one => one.rows >= count,
    )
    expect(found).toEqual({ rows: count, differences: {} })
    expect((await gateway.admin('POST', '/keys', { name: 'made' })).status).toBe(201)
    expect(await gateway.stop()).toBe(0)
  })
})

test('the signal by which other servers open new log files opens no debugger', async () => {
  const gateway = await stage.start({ workers: 2 })
  for (const pid of [gateway.process.pid as number, ...gateway.pids('')]) process.kill(pid, 'SIGUSR1')
  expect((await ask(gateway.url, FILE_KEY)).status).toBe(200)
  expect(await gateway.stop()).toBe(0)
  expect(gateway.log.filter(line => /debugger|inspector/i.test(line))).toEqual([])
})
