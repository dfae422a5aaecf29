// One limit, several processes, as an operator starts them: the workers of one instance, and instances that share a Redis.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { dump } from 'js-yaml'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { below } from '../../tools/proc.mjs'
import { FLAGS, MAIN } from '../command.js'
import { KEY, simulated, startSimulator } from '../harness.js'
import { still } from '../polling.js'
import { REDIS, startRedis, type TestRedis } from '../redis.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
const children: ChildProcess[] = []
let simulator: Awaited<ReturnType<typeof startSimulator>>

beforeAll(async () => {
  simulator = await startSimulator({})
})
afterEach(async () => {
  await Promise.all(
    children.splice(0).map(child => {
      const dead = new Promise(done => (child.exitCode === null && child.signalCode === null ? child.once('exit', done) : done(undefined)))
      child.kill('SIGTERM')
      return dead
    }),
  )
})
afterAll(async () => {
  await simulator.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Instance {
  url: string
  pid: number
  lines: { level: number; msg: string; cause?: string }[]
}

let count = 0
const pathOf = (index: number): string => join(folder, `${index}.yaml`)
function write(index: number, more: Record<string, unknown>): void {
  const models = simulated(simulator.url, ['sim', 'sim-1000-20ms'], ['openai'])
  writeFileSync(pathOf(index), dump({ listen: '127.0.0.1:0', grace: '0s', log: { access: false }, ...models, ...more }))
}
/** Changes the file of the instance that was started last. */
const rewrite = (more: Record<string, unknown>): void => write(count - 1, more)

async function start(more: Record<string, unknown>): Promise<Instance> {
  const path = pathOf(count)
  write(count++, more)
  const child = spawn(process.execPath, [...FLAGS, MAIN, 'start', '--config', path], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  const lines: Instance['lines'] = []
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.once('exit', code => reject(new Error(`it ended with ${code}`)))
    child.stdout.on('data', part => {
      text += String(part)
      const all = text.split('\n')
      text = all.pop() ?? ''
      for (const line of all) {
        const parsed = JSON.parse(line)
        lines.push(parsed)
        if (parsed.msg === 'listening') resolve(parsed.url)
      }
    })
  })
  return { url, pid: child.pid as number, lines }
}

/** Sends a request over its own connection, so that the kernel chooses a worker for it. */
function ask({ url }: Instance, model = 'openai/sim', stream = false, agent = new Agent()): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asking = request(
      `${url}/v1/chat/completions`,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` } },
      resolve,
    )
    asking.on('error', reject)
    asking.end(JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'x' }] }))
  })
}

async function statusOf(instance: Instance): Promise<number> {
  const response = await ask(instance)
  response.resume()
  await new Promise(done => response.once('close', done))
  return response.statusCode as number
}

/** How many of so many requests, some at a time, were served. */
async function served(instances: readonly Instance[], requests: number, atOnce = 8): Promise<number> {
  let left = requests
  let good = 0
  await Promise.all(
    Array.from({ length: atOnce }, async (_, index) => {
      while (left-- > 0) if ((await statusOf(instances[(left + index) % instances.length] as Instance)) === 200) good++
    }),
  )
  return good
}

/** Begins streams together; gives those that were let in. */
async function streams(instances: readonly Instance[], most: number): Promise<IncomingMessage[]> {
  const asked = await Promise.allSettled(
    Array.from({ length: most }, (_, index) => ask(instances[index % instances.length] as Instance, 'openai/sim-1000-20ms', true)),
  )
  // Where a worker has just been killed, some were not heard.
  const all = asked.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  for (const stream of all) stream.on('error', () => undefined).resume()
  return all.filter(stream => stream.statusCode === 200)
}

const keys = (limits: object): object[] => [{ name: 'test', value: KEY, limits }]

/** A process that sends this many requests a second, whatever the answers; it prints the statuses when it gets the signal to end. */
const FLOOD = `
  const { Agent, request } = require('node:http')
  const [url, key, perSecond] = process.argv.slice(1)
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const body = JSON.stringify({ model: 'openai/sim', messages: [{ role: 'user', content: 'x'.repeat(2000) }] })
  const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + key, 'content-length': body.length }
  const statuses = {}
  const ask = () => {
    const asking = request(url + '/v1/chat/completions', { method: 'POST', agent, headers }, response => {
      if (Object.keys(statuses).length === 0) console.log('begun')
      statuses[response.statusCode] = (statuses[response.statusCode] ?? 0) + 1
      if (response.statusCode === 429 && statuses[429] === 50) console.log('refused 50')
      response.resume()
    })
    asking.on('error', () => {})
    asking.end(body)
  }
  const began = performance.now()
  let sent = 0
  setInterval(() => { while (sent < (performance.now() - began) / 1000 * perSecond) { sent++; ask() } }, 5)
  process.on('SIGTERM', () => { console.log(JSON.stringify(statuses)); process.exit() })
`

describe('a flood', () => {
  test("on one key is refused, without an effect on another's latency", async () => {
    const gateway = await start({
      keys: [
        { name: 'test', value: KEY },
        { name: 'flood', value: 'key-of-the-flood', limits: { requests: '20/10m' } },
      ],
    })
    const median = async (): Promise<number> => {
      const times: number[] = []
      for (let index = 0; index < 60; index++) {
        const began = performance.now()
        expect(await statusOf(gateway)).toBe(200)
        times.push(performance.now() - began)
      }
      return times.sort((left, right) => left - right)[times.length / 2] as number
    }
    await median()
    const quiet = await median()
    const flood = spawn(process.execPath, ['-e', FLOOD, gateway.url, 'key-of-the-flood', '300'], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(flood)
    let printed = ''
    flood.stdout.on('data', part => {
      printed += String(part)
    })
    await expect.poll(() => printed).toContain('begun')
    // The flood's own process takes its part of this machine, and others may; that it is refused takes nothing of the other key's.
    await expect.poll(median).toBeLessThan(quiet * 2 + 20)
    await expect.poll(() => printed).toContain('refused 50')
    const ended = new Promise(done => flood.once('close', done))
    flood.kill('SIGTERM')
    await ended
    const statuses = JSON.parse(printed.trim().split('\n').at(-1) as string)
    expect(Object.keys(statuses).sort()).toEqual(['200', '429'])
    expect(statuses['200']).toBeLessThanOrEqual(21)
    expect(statuses['429']).toBeGreaterThanOrEqual(50)
  })
})

describe('workers of one instance', () => {
  test('count requests together: all of a limit is served, and no more', async () => {
    const gateway = await start({ workers: 3, keys: keys({ requests: '60/10h' }) })
    let good = await served([gateway], 150)
    expect(good).toBeLessThanOrEqual(60)
    // At most a chunk lies with each of the others, and comes back.
    expect(good).toBeGreaterThanOrEqual(45)
    await expect
      .poll(async () => {
        good += await served([gateway], 6, 2)
        return good
      })
      .toBe(60)
    expect(await served([gateway], 30)).toBe(0)
  })

  test('count requests under way together, also if one of them is killed', async () => {
    const gateway = await start({ workers: 3, keys: keys({ in_flight: 4 }) })
    const first = await streams([gateway], 24)
    expect(first).toHaveLength(4)
    expect(await streams([gateway], 6)).toHaveLength(0)
    for (const stream of first) stream.destroy()
    let again: IncomingMessage[] = []
    await expect
      .poll(async () => {
        again.push(...(await streams([gateway], 8)))
        return again.length
      })
      .toBe(4)
    expect(await streams([gateway], 6)).toHaveLength(0)
    // What a worker held that is gone is free.
    const workers = below(gateway.pid, '--worker ')
    expect(workers).toHaveLength(3)
    for (const worker of workers) process.kill(worker, 'SIGKILL')
    again = []
    await expect
      .poll(async () => {
        again.push(...(await streams([gateway], 8)))
        return again.length
      })
      .toBe(4)
    for (const stream of again) stream.destroy()
  })

  test('share a limit that was removed and is back, of a model that a pattern found', async () => {
    const model = { targets: [{ upstream: 'openai', model: '*' }] }
    const file = (limits: object): Record<string, unknown> => ({ workers: 2, keys: keys({}), models: { 'openai/*': { ...model, limits } } })
    const gateway = await start(file({ in_flight: 1, requests: '1000/1h' }))
    // Each stays with a worker: hardly all with the same one.
    const connections = Array.from({ length: 6 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
    /** The limit that a request was counted in, once it was served: a worker that has no request needs no slot. */
    const countedIn = async (connection: Agent): Promise<string | undefined> => {
      const response = await ask(gateway, undefined, undefined, connection)
      await new Promise(done => response.resume().once('end', done))
      return response.statusCode === 200 ? String(response.headers['x-ratelimit-limit-requests']) : undefined
    }
    const eachIsCountedIn = async (limit: string): Promise<void> => {
      for (const connection of connections) await expect.poll(() => countedIn(connection)).toBe(limit)
    }
    await eachIsCountedIn('1000')
    rewrite(file({}))
    await eachIsCountedIn('undefined')
    rewrite(file({ in_flight: 1, requests: '2000/1h' }))
    await eachIsCountedIn('2000')
    for (const connection of connections) connection.destroy()
  })
})

describe.skipIf(REDIS === undefined)('instances that share a Redis', () => {
  let redis: TestRedis
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis?.close())

  test('share one limit of requests and of requests under way', async () => {
    const file = { state: `${redis.url}/1`, keys: keys({ requests: '100/9h', in_flight: 5 }) }
    const instances = await Promise.all([start(file), start(file)])
    const running = await streams(instances, 20)
    expect(running).toHaveLength(5)
    for (const stream of running) stream.destroy()
    let good = 5
    await expect
      .poll(async () => {
        good += await served(instances, 40, 4)
        return good
      })
      .toBeGreaterThanOrEqual(95)
    good += await served(instances, 60, 4)
    expect(good).toBeLessThanOrEqual(100)
    expect(instances.flatMap(({ lines }) => lines.filter(line => line.level >= 40))).toEqual([])
  })

  test('count locally while it is down, with one warning each, and share again when it is back', async () => {
    const file = { state: `${redis.url}/2`, keys: keys({ requests: '2000/9h' }) }
    const instances = await Promise.all([start(file), start(file)])
    const statuses = new Map<number, number>()
    let slowest = 0
    let isOver = false
    const load = Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        while (!isOver) {
          const began = performance.now()
          const status = await statusOf(instances[index % 2] as Instance)
          slowest = Math.max(slowest, performance.now() - began)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }),
    )
    const told = (level: number): number[] =>
      instances.map(({ lines }) => lines.filter(line => line.level === level && line.msg.includes('limits')).length)
    await expect.poll(() => statuses.get(200) ?? 0).toBeGreaterThan(200)
    await redis.kill()
    const before = statuses.get(200) as number
    await expect.poll(() => told(40)).toEqual([1, 1])
    await expect.poll(() => statuses.get(200) ?? 0).toBeGreaterThan(before + 100)
    expect(await still(() => told(40).join(), 500)).toBe('1,1')
    await redis.start()
    await expect
      .poll(() => instances.map(({ lines }) => lines.filter(line => line.msg === 'limits are shared again').length))
      .toEqual([1, 1])
    const after = statuses.get(200) as number
    await expect.poll(() => (statuses.get(200) ?? 0) > after || statuses.has(429)).toBe(true)
    isOver = true
    await load
    // No client noticed it: each request was served, or had reached a limit, and none waited long.
    expect([...statuses.keys()].filter(status => status !== 200 && status !== 429)).toEqual([])
    expect(slowest).toBeLessThan(3_000)
    // What was counted before it was killed, by each alone, and by an empty one after.
    expect(statuses.get(200)).toBeLessThanOrEqual(2 * 2000 + 2 * 1000)
    // An address may contain a password, so it is not logged.
    for (const { lines } of instances) expect(JSON.stringify(lines)).not.toContain('redis://')
  })

  test('connect rarely to one that only reads, and share again when it writes', async () => {
    const instance = await start({ state: `${redis.url}/4`, keys: keys({ requests: '100000/9h' }) })
    expect(await served([instance], 20)).toBe(20)
    const admin = new Redis(redis.url)
    const connected = async (): Promise<number> => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
    const said = (text: string): number => instance.lines.filter(line => line.msg.includes(text)).length
    let isOver = false
    const load = (async () => {
      while (!isOver) expect(await statusOf(instance)).toBe(200)
    })()
    try {
      // A primary that a failover has made a replica; its own primary is away.
      await admin.call('REPLICAOF', '127.0.0.1', '1')
      await expect.poll(() => said('the shared state of limits is away')).toBe(1)
      const before = await connected()
      const began = performance.now()
      await expect.poll(connected).toBeGreaterThan(before + 2)
      expect(performance.now() - began).toBeGreaterThan(3_000)
      await admin.call('REPLICAOF', 'NO', 'ONE')
      await expect.poll(() => said('limits are shared again')).toBe(1)
    } finally {
      isOver = true
      await admin.call('REPLICAOF', 'NO', 'ONE')
      await load
      admin.disconnect()
    }
  })

  test('count locally while it answers but refuses to write, with one warning each', async () => {
    const instance = await start({ state: `${redis.url}/3`, keys: keys({ requests: '100000/9h', in_flight: 50 }) })
    expect(await served([instance], 20)).toBe(20)
    const admin = new Redis(redis.url)
    // A primary that has lost its replicas, a full memory and a full disk have the same effect.
    await admin.config('SET', 'min-replicas-to-write', '1')
    const said = (text: string): number => instance.lines.filter(line => line.msg.includes(text)).length
    const away = 'the shared state of limits is away'
    const statuses = new Set<number>()
    let isOver = false
    const load = (async () => {
      while (!isOver) statuses.add(await statusOf(instance))
    })()
    try {
      await expect.poll(() => said(away)).toBeGreaterThan(0)
      expect(await still(() => Math.min(said(away), 2), 1_500)).toBe(1)
      expect(said('limits are shared again')).toBe(0)
      await admin.config('SET', 'min-replicas-to-write', '0')
      await expect.poll(() => said('limits are shared again')).toBe(1)
    } finally {
      isOver = true
      await load
      await admin.config('SET', 'min-replicas-to-write', '0')
    }
    expect([...statuses]).toEqual([200])
    expect(said(away)).toBe(1)
    admin.disconnect()
  })

  test('serve where it is not there from the start', async () => {
    const gateway = await start({ state: 'redis://:secret-of-redis@127.0.0.1:1/0', keys: keys({ requests: '5/9h' }) })
    expect(await served([gateway], 10, 1)).toBe(5)
    await expect.poll(() => gateway.lines.filter(line => line.level === 40).length).toBe(1)
    expect(JSON.stringify(gateway.lines)).not.toContain('secret-of-redis')
  })
})
