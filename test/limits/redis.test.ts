// The counter over a real Redis: several of them never grant more than the limit, and each counts locally while Redis is
// unreachable.

import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../cli/ports.js'
import { RedisCounter } from '../../cli/state/redis.js'
import { amountsOf, Lease, take } from '../../engine/limits/lease.js'
import { REQUESTS } from '../../engine/limits/meter.js'
import { Sharing } from '../../engine/limits/shared.js'
import { startNetwork } from '../network.js'
import { PATIENCE, sleep } from '../polling.js'
import { REDIS, startRedis, type TestRedis } from '../redis.js'

const clock = (): number => performance.now()

describe.skipIf(REDIS === undefined)('a counter over Redis', () => {
  let redis: TestRedis
  const counters: RedisCounter[] = []
  beforeAll(async () => {
    redis = await startRedis()
    for (let index = 0; index < 3; index++) {
      const counter = new RedisCounter(redis.url)
      await counter.ready(5_000)
      counters.push(counter)
    }
  })
  afterAll(async () => {
    await Promise.all(counters.map(counter => counter.close()))
    await redis.close()
  })
  const [one, two, three] = [0, 1, 2].map(index => () => counters[index] as RedisCounter) as [
    () => RedisCounter,
    () => RedisCounter,
    () => RedisCounter,
  ]

  test('grants a rate once, in pieces of any size, and returned parts once more', async () => {
    const window = 3_600_000
    const grants = await Promise.all(
      Array.from({ length: 60 }, (_, index) => (counters[index % 3] as RedisCounter).take('rate', 100, window, 1 + (index % 7))),
    )
    expect(grants.reduce((sum, grant) => sum + grant.amount, 0)).toBe(100)
    const { period } = grants[0] as { period: number }
    await one().give('rate', window, 30, period)
    // Of a window that is over nothing comes back.
    await one().give('rate', window, 30, period - 1)
    const again = await Promise.all(counters.map(counter => counter.take('rate', 100, window, 20)))
    expect(again.reduce((sum, grant) => sum + grant.amount, 0)).toBe(30)
    const [last] = again
    expect(last?.retry).toBeGreaterThan(0)
    expect(last?.retry).toBeLessThanOrEqual(window)
  })

  test('counts each window separately', async () => {
    const taken = new Map<number, number>()
    const until = performance.now() + 1_200
    while (performance.now() < until) {
      const { amount, period } = await two().take('short', 5, 200, 3)
      taken.set(period, (taken.get(period) ?? 0) + amount)
    }
    expect(taken.size).toBeGreaterThanOrEqual(5)
    for (const amount of taken.values()) expect(amount).toBeLessThanOrEqual(5)
    expect([...taken.values()].filter(amount => amount === 5).length).toBeGreaterThanOrEqual(4)
  })

  test('grants slots, and takes them back', async () => {
    expect(await one().hold('places', 5, 3)).toEqual({ held: 3, left: 2 })
    expect(await two().hold('places', 5, 4)).toEqual({ held: 2, left: 0 })
    expect(await three().hold('places', 5, 1)).toEqual({ held: 0, left: 0 })
    expect(await one().hold('places', 5, 1)).toEqual({ held: 1, left: 2 })
    expect(await three().hold('places', 5, 4)).toEqual({ held: 2, left: 0 })
    await Promise.all([one().hold('places', 5, 0), two().hold('places', 5, 0)])
    expect(await three().hold('places', 5, 5)).toEqual({ held: 5, left: 0 })
    await three().hold('places', 5, 0)
  })

  test('knows how many share it', async () => {
    await expect.poll(() => counters.map(counter => counter.processes())).toEqual([3, 3, 3])
  })

  test('counts processes by the clock of the server: one that is ahead would remove all others', async () => {
    const now = Date.now
    const ahead = new RedisCounter(redis.url)
    const client = new Redis(redis.url)
    Date.now = () => now() + 60_000
    try {
      await ahead.ready(5_000)
      await expect.poll(() => ahead.processes()).toBe(4)
      const [seconds] = await client.time()
      for (const name of await client.zrange('sluice:processes', '0', '-1'))
        expect(Math.abs(Number(await client.zscore('sluice:processes', name)) / 1000 - Number(seconds))).toBeLessThan(20)
    } finally {
      Date.now = now
      await client.quit()
      await ahead.close()
    }
  })

  test('a limit that two processes ask about together is never exceeded, in far fewer calls than requests', async () => {
    let calls = 0
    const processes = [one(), two()].map(counter => {
      const sharing = new Sharing(
        {
          processes: () => 2,
          take: (...given) => {
            calls++
            return counter.take(...given)
          },
          give: (...given) => counter.give(...given),
          hold: (...given) => counter.hold(...given),
          probe: () => counter.probe(),
        },
        { away: () => {}, back: () => {} },
        clock,
      )
      sharing.start()
      return { sharing, meter: sharing.rate('together', REQUESTS, 'x', 5_000, 3_600_000) }
    })
    let admitted = 0
    let asked = 0
    await Promise.all(
      processes.flatMap(({ meter }) =>
        Array.from({ length: 8 }, async () => {
          for (let index = 0; index < 400; index++) {
            asked++
            if ((await take([meter], amountsOf(0, 0), clock)) instanceof Lease) admitted++
            if (index % 20 === 0) await sleep(1)
          }
        }),
      ),
    )
    expect(asked).toBe(6_400)
    expect(admitted).toBeLessThanOrEqual(5_000)
    expect(admitted).toBeGreaterThan(4_900)
    expect(calls).toBeLessThan(asked / 10)
    for (const { sharing } of processes) sharing.close()
  })

  test('counts together again when a network that dropped all in silence is back for new connections', async () => {
    const network = await startNetwork({ host: '127.0.0.1', port: Number(new URL(redis.url).port) })
    const counter = new RedisCounter(`redis://127.0.0.1:${network.port}`)
    await counter.ready(5_000)
    expect((await counter.take('silent', 10, 3_600_000, 1)).amount).toBe(1)
    network.cut()
    await expect(counter.take('silent', 10, 3_600_000, 1)).rejects.toThrow()
    network.heal()
    const taken = async (): Promise<number> =>
      counter.take('silent', 10, 3_600_000, 1).then(
        ({ amount }) => amount,
        () => 0,
      )
    await expect.poll(taken, { timeout: 30_000 }).toBe(1)
    await counter.close()
    network.close()
  })

  test('is away, with the reason, where the server does not know the user or has no such database', async () => {
    const isAway = async (url: string, reason: RegExp): Promise<void> => {
      const counter = new RedisCounter(url)
      const said: string[] = []
      const probe = async (): Promise<string> => {
        said.push(
          await counter.probe().then(
            () => 'counted',
            (error: Error) => error.message,
          ),
        )
        return said.at(-1) as string
      }
      await expect.poll(probe).toMatch(reason)
      expect(said).not.toContain('counted')
      await counter.close()
    }
    const address = redis.url.slice('redis://'.length)
    await isAway(`redis://nobody:wrong@${address}`, /^WRONGPASS/)
    // The client would count in the first database, with those who use that.
    await isAway(`${redis.url}/99`, /^ERR DB index is out of range$/)
    await isAway(`redis://127.0.0.1:${await freePort()}`, /ECONNREFUSED/)
  })

  test('counts locally while Redis is down, with one warning, and shares again when it is back', async () => {
    const told: string[] = []
    const sharing = new Sharing(one(), { away: () => told.push('away'), back: () => told.push('back') }, clock)
    sharing.start()
    const meter = sharing.rate('killed', REQUESTS, 'x', 30, 3_600_000)
    const ask = async (): Promise<boolean> => (await take([meter], amountsOf(0, 0), clock)) instanceof Lease
    expect(await ask()).toBe(true)
    await redis.kill()
    let alone = 0
    let slowest = 0
    for (let index = 0; index < 100; index++) {
      const began = performance.now()
      if (await ask()) alone++
      slowest = Math.max(slowest, performance.now() - began)
    }
    // A third of it, as three processes were there: the one of before, and what was left of a chunk.
    expect(alone).toBeGreaterThan(0)
    expect(alone).toBeLessThanOrEqual(10 + 8)
    expect(slowest).toBeLessThan(1_000)
    expect(told).toEqual(['away'])
    await redis.start()
    const until = performance.now() + PATIENCE
    while (told.length < 2 && performance.now() < until) await sleep(20)
    expect(told).toEqual(['away', 'back'])
    expect(await ask()).toBe(true)
    sharing.close()
  })
})
