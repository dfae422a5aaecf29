// Limits under any interleaving: never more than the limit is granted, nothing is lost, and each return counts once; in one
// process, and in several that share a limit over messages that take any time and may get lost.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Bucket } from '../../engine/limits/bucket.js'
import { LocalCounter } from '../../engine/limits/counter.js'
import { amountsOf, Lease, take, takeNow } from '../../engine/limits/lease.js'
import { IN_FLIGHT, LocalRate, LocalSlots, type Meter, OUTPUT, REQUESTS, TOKENS } from '../../engine/limits/meter.js'
import { Meters } from '../../engine/limits/registry.js'
import { type Counter, type Grant, type HeldSlots, Sharing } from '../../engine/limits/shared.js'

const RUNS = { numRuns: 500 }

describe('a bucket', () => {
  test('counts as exactly as fractions, for any limit and window', () => {
    const limits = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 2 ** 32 }))
    const windows = fc.oneof(fc.constantFrom(1, 7, 1000, 60_000, 86_400_000), fc.integer({ min: 1, max: 356_400_000 }))
    const steps = fc.array(fc.record({ pause: fc.nat(200_000), share: fc.double({ min: -0.5, max: 1, noNaN: true }) }), { maxLength: 60 })
    fc.assert(
      fc.property(limits, windows, steps, (limit, window, steps) => {
        // Only where no tick is longer than a millisecond is the oracle as exact.
        fc.pre(limit * window <= 2 ** 52)
        let time = 1_000
        const bucket = new Bucket(limit, window, time)
        // What is there, in parts of the window.
        let level = BigInt(limit) * BigInt(window)
        const most = level
        for (const { pause, share } of steps) {
          time += pause
          level += BigInt(pause) * BigInt(limit)
          if (level > most) level = most
          const amount = Math.ceil(share * limit)
          const isThere = level >= BigInt(amount) * BigInt(window)
          const wait = bucket.wait(amount, time)
          expect(wait === 0).toBe(isThere)
          if (!isThere) {
            // It is there after that, and was not a millisecond before.
            const later = (pause: number): bigint => level + BigInt(pause) * BigInt(limit)
            expect(later(wait) >= BigInt(amount) * BigInt(window)).toBe(true)
            expect(later(wait - 1) >= BigInt(amount) * BigInt(window)).toBe(false)
            continue
          }
          bucket.take(amount)
          level -= BigInt(amount) * BigInt(window)
          if (level > most) level = most
          expect(bucket.left(time)).toBe(Number(level / BigInt(window)))
        }
      }),
      RUNS,
    )
  })

  test('never grants more than a limit that is too large for exact milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10 ** 9, max: 10 ** 12 }), fc.array(fc.nat(10_000_000), { maxLength: 40 }), (limit, pauses) => {
        const window = 356_400_000
        const bucket = new Bucket(limit, window, 0)
        let time = 0
        let taken = 0
        for (const pause of pauses) {
          time += pause
          const amount = Math.max(0, bucket.left(time))
          if (bucket.wait(amount, time) > 0) continue
          bucket.take(amount)
          taken += amount
          expect(taken).toBeLessThanOrEqual(limit + Math.ceil((time * limit) / window))
        }
      }),
      RUNS,
    )
  })

  test('keeps its count when its limit changes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e6 }),
        fc.integer({ min: 1, max: 1e6 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (from, to, part) => {
          const bucket = new Bucket(from, 60_000, 0)
          const used = Math.floor(from * part)
          bucket.take(used)
          bucket.resize(to, 0)
          expect(bucket.left(0)).toBe(to - used)
        },
      ),
      RUNS,
    )
  })
})

/** What happens to exchanges: one begins, one says what it has used so far, one is over, perhaps more than once. */
const events = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('begin' as const), input: fc.nat(300), output: fc.nat(300), process: fc.nat(2) }),
    fc.record({ kind: fc.constant('note' as const), which: fc.nat(20), used: fc.nat(400) }),
    fc.record({ kind: fc.constant('over' as const), which: fc.nat(20), used: fc.option(fc.nat(400), { nil: undefined }) }),
  ),
  { maxLength: 80 },
)

describe('leases in one process', () => {
  test('leave the limit minus the held and used amounts', () => {
    fc.assert(
      fc.property(events, fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 1, max: 10 }), (events, tokens, slotLimit) => {
        const requests = new LocalRate('r', REQUESTS, 'x', 50, 1e9, 0)
        const both = new LocalRate('t', TOKENS, 'x', tokens, 1e9, 0)
        const output = new LocalRate('o', OUTPUT, 'x', tokens, 1e9, 0)
        const slots = new LocalSlots('s', 'x', slotLimit)
        const meters: Meter[] = [requests, both, output, slots]
        const open: { lease: Lease; input: number; output: number; most: number }[] = []
        const over: Lease[] = []
        let admitted = 0
        let usedTokens = 0
        const debt = (): number => open.reduce((sum, one) => sum + Math.max(one.most, Math.min(tokens, one.input + one.output)), 0)
        for (const event of events) {
          if (event.kind === 'begin') {
            const before = [requests.left(0), both.left(0), output.left(0), slots.left()]
            const result = takeNow(meters, amountsOf(event.input, event.output), 0)
            const fits =
              requests.left(0) >= 0 &&
              (before[0] as number) >= 1 &&
              (before[1] as number) >= Math.min(tokens, event.input + event.output) &&
              (before[2] as number) >= Math.min(tokens, event.output) &&
              (before[3] as number) >= 1
            // Also an amount above the whole limit fits, when all of the limit is there.
            expect(result instanceof Lease).toBe(fits)
            if (result instanceof Lease) {
              admitted++
              open.push({ lease: result, input: event.input, output: event.output, most: 0 })
            } else {
              // None of them has lost anything.
              expect([requests.left(0), both.left(0), output.left(0), slots.left()]).toEqual(before)
            }
          } else if (open.length > 0) {
            const one = open[event.which % open.length] as (typeof open)[number]
            if (event.kind === 'note') {
              one.most = Math.max(one.most, event.used)
              one.lease.note({ input: event.used })
            } else {
              open.splice(open.indexOf(one), 1)
              const taken = Math.max(one.most, Math.min(tokens, one.input + one.output))
              one.lease.settle(event.used === undefined ? undefined : { input: event.used })
              // A second time changes nothing.
              one.lease.settle({ input: 0 })
              one.lease.note({ input: 10_000 })
              over.push(one.lease)
              usedTokens += event.used ?? taken
            }
          }
          expect(requests.left(0)).toBe(50 - admitted)
          expect(slots.left()).toBe(slotLimit - open.length)
          expect(both.left(0)).toBe(Math.max(0, tokens - debt() - usedTokens))
        }
        for (const one of open) one.lease.settle({})
        for (const lease of [...over, ...open.map(one => one.lease)]) lease.settle({})
        expect(slots.left()).toBe(slotLimit)
        expect(both.left(0)).toBe(Math.max(0, tokens - usedTokens))
      }),
      RUNS,
    )
  })

  test('keep their counts over a reload, and return to the meters that they were taken from', () => {
    const meters = new Meters(() => 0)
    const link = (inFlight: number, amount: number) =>
      meters.link(() => meters.of('key:a', 'this API key', { inFlight, requests: [{ amount, window: 1000 }] }))
    const [requests, slots] = link(3, 10) as [Meter, Meter]
    const lease = takeNow([requests, slots], amountsOf(0, 0), 0) as Lease
    const [same, again] = link(2, 5) as [Meter, Meter]
    expect([same, again]).toEqual([requests, slots])
    expect([same.left(0), again.left(0)]).toEqual([4, 1])
    lease.settle(undefined)
    expect([same.left(0), again.left(0)]).toEqual([4, 2])
    // What is no longer asked for is forgotten, but for an error in between.
    expect(() =>
      meters.link(() => {
        throw new Error('wrong')
      }),
    ).toThrow('wrong')
    expect(link(2, 5)[0]).toBe(requests)
    meters.link(() => [])
    expect(link(2, 5)[0]).not.toBe(requests)
  })
})

/** A counter over messages that come in any order and any time after they were sent, and may never be answered. */
class Remote implements Counter {
  isAway = false
  constructor(
    private readonly inner: { take: Counter['take']; give: Counter['give']; hold: Counter['hold'] },
    private readonly scheduler: fc.Scheduler,
    private readonly count: number,
  ) {}

  processes(): number {
    return this.count
  }

  private async send<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
    await this.scheduler.schedule(Promise.resolve(), `${what} arrives`)
    if (this.isAway) throw new Error('away')
    const result = await run()
    await this.scheduler.schedule(Promise.resolve(), `${what} is answered`)
    return result
  }

  take(id: string, limit: number, window: number, amount: number): Promise<Grant> {
    return this.send('take', () => this.inner.take(id, limit, window, amount))
  }

  give(id: string, window: number, amount: number, period: number): Promise<void> {
    return this.send('give', () => this.inner.give(id, window, amount, period))
  }

  hold(id: string, limit: number, slots: number): Promise<HeldSlots> {
    return this.send('hold', () => this.inner.hold(id, limit, slots))
  }

  async probe(): Promise<void> {
    if (this.isAway) throw new Error('away')
  }
}

/** Counts by windows of the clock, as a counter over Redis does: a chunk may be spent until its window ends. */
class WindowCounter {
  private readonly used = new Map<string, number>()

  constructor(private readonly clock: () => number) {}

  take(id: string, limit: number, window: number, amount: number): Grant {
    const time = this.clock()
    const period = Math.floor(time / window)
    const key = `${id}:${period}`
    const before = this.used.get(key) ?? 0
    const granted = Math.max(0, Math.min(amount, limit - before))
    this.used.set(key, before + granted)
    const holds = (period + 1) * window - time
    return { amount: granted, left: Math.max(0, limit - before - granted), retry: holds, reset: holds, holds, period }
  }

  give(id: string, window: number, amount: number, period: number): void {
    const key = `${id}:${period}`
    if (Math.floor(this.clock() / window) === period) this.used.set(key, (this.used.get(key) ?? 0) - amount)
  }

  lose(): void {
    this.used.clear()
  }
}

describe('processes that share a limit', () => {
  const shared = { numRuns: 300 }

  test.each([
    [
      'a bucket',
      (clock: () => number) => {
        const counter = new LocalCounter(clock)
        return {
          take: (...asked: Parameters<LocalCounter['take']>) => counter.take(...asked),
          give: (id: string, _window: number, amount: number) => counter.give(id, amount),
        }
      },
    ],
    ['windows', (clock: () => number) => new WindowCounter(clock)],
  ])('never take more than the limit together, and return unused amounts, to %s', async (_name, make) => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.record({ process: fc.nat(2), tokens: fc.nat(40), stays: fc.boolean() }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 8 }),
        async (scheduler, requests, limit, slotLimit) => {
          let time = 0
          const clock = (): number => time
          const counter = make(clock)
          const places = new LocalCounter(clock)
          const counted: { take: number; give: number } = { take: 0, give: 0 }
          const processes = Array.from({ length: 3 }, (_, process) => {
            const inner = {
              take: async (id: string, most: number, window: number, amount: number) => {
                const grant = counter.take(id, most, window, amount)
                counted.take += grant.amount
                return grant
              },
              give: async (id: string, window: number, amount: number, period: number) => {
                counted.give += amount
                counter.give(id, window, amount, period)
              },
              hold: async (id: string, most: number, wanted: number) => places.hold(id, most, wanted, process),
            }
            const sharing = new Sharing(new Remote(inner, scheduler, 3), { away: () => {}, back: () => {} }, clock)
            // So long a window that nothing comes back by itself.
            const rate = sharing.rate('k', TOKENS, 'x', limit, 1e12)
            const slots = sharing.slots('s', 'x', slotLimit)
            return { sharing, meters: [rate, slots] }
          })
          let held = 0
          let used = 0
          const running: Promise<unknown>[] = []
          const staying: Lease[] = []
          for (const { process, tokens, stays } of requests) {
            const { meters } = processes[process] as (typeof processes)[number]
            const amount = Math.min(limit, tokens)
            running.push(
              take(meters, amountsOf(tokens, 0), clock).then(async result => {
                if (!(result instanceof Lease)) return
                held++
                used += amount
                expect(held).toBeLessThanOrEqual(slotLimit)
                expect(used).toBeLessThanOrEqual(limit)
                if (stays) {
                  staying.push(result)
                  return
                }
                await scheduler.schedule(Promise.resolve(), 'the exchange is over')
                const half = Math.floor(amount / 2)
                held--
                used -= amount - half
                result.settle({ input: half })
                result.settle({})
              }),
            )
          }
          await scheduler.waitIdle()
          await Promise.all(running)
          // After a while unused parts go back, and nothing is lost.
          for (const lease of staying) lease.settle({})
          for (let round = 0; round < 4; round++) {
            time += 10_000
            for (const { sharing } of processes) sharing.tick()
            await scheduler.waitIdle()
          }
          const left = counter.take('k', limit, 1e12, 0).left
          const settled = staying.length === 0 ? used : undefined
          if (settled !== undefined) expect(left).toBe(limit - settled)
          expect(counted.take - counted.give).toBe(limit - left)
          expect(places.hold('s', slotLimit, slotLimit, 'somebody else')).toEqual({ held: slotLimit, left: 0 })
        },
      ),
      shared,
    )
  })

  test('each use a part of the limit while the counter is unreachable, and all of it afterwards', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.oneof(fc.record({ process: fc.nat(1) }), fc.constant('away' as const), fc.constant('back' as const)), {
          maxLength: 60,
        }),
        fc.integer({ min: 2, max: 30 }),
        async (scheduler, steps, limit) => {
          const clock = (): number => 0
          const counter = new LocalCounter(clock)
          const told: string[] = []
          const remotes: Remote[] = []
          const processes = Array.from({ length: 2 }, () => {
            const remote = new Remote(
              {
                take: async (id, most, window, amount) => counter.take(id, most, window, amount),
                give: async (id, _window, amount) => counter.give(id, amount),
                hold: async (id, most, wanted) => counter.hold(id, most, wanted, remote),
              },
              scheduler,
              2,
            )
            remotes.push(remote)
            const sharing = new Sharing(remote, { away: () => told.push('away'), back: () => told.push('back') }, clock)
            return { sharing, meters: [sharing.rate('k', REQUESTS, 'x', limit, 1e12)] }
          })
          let withCounter = 0
          const alone = [0, 0]
          const running: Promise<unknown>[] = []
          for (const step of steps) {
            if (step === 'away' || step === 'back') {
              for (const remote of remotes) remote.isAway = step === 'away'
              for (const { sharing } of processes) sharing.tick()
            } else {
              const { meters, sharing } = processes[step.process] as (typeof processes)[number]
              running.push(
                take(meters, amountsOf(0, 0), clock).then(result => {
                  if (!(result instanceof Lease)) return
                  if (sharing.isAway) alone[step.process] = (alone[step.process] as number) + 1
                  else withCounter++
                }),
              )
            }
            await scheduler.waitIdle()
          }
          await scheduler.waitIdle()
          await Promise.all(running)
          expect(withCounter).toBeLessThanOrEqual(limit)
          for (const count of alone) expect(count).toBeLessThanOrEqual(Math.floor(limit / 2))
          // One word for each time that it went, not one for each request.
          for (const word of told) expect(['away', 'back']).toContain(word)
          expect(told.filter(word => word === 'away').length).toBeLessThanOrEqual(2 * (1 + steps.filter(step => step === 'away').length))
        },
      ),
      shared,
    )
  })

  test('spend the chunks of a period only in that period', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(fc.record({ process: fc.nat(1), pause: fc.nat(300), tokens: fc.integer({ min: 1, max: 20 }) }), { maxLength: 80 }),
        fc.integer({ min: 20, max: 100 }),
        async (scheduler, requests, limit) => {
          const window = 1_000
          let time = 0
          const clock = (): number => time
          const counter = new WindowCounter(clock)
          /** By process and period, what it was granted and has not spent or given back. */
          const unspent = Array.from({ length: 2 }, () => new Map<number, number>())
          let least = 0
          const change = (process: number, period: number, amount: number): void => {
            const own = unspent[process] as Map<number, number>
            const rest = (own.get(period) ?? 0) + amount
            own.set(period, rest)
            least = Math.min(least, rest)
          }
          const processes = Array.from({ length: 2 }, (_, process) => {
            const inner = {
              take: async (id: string, most: number, window: number, amount: number): Promise<Grant> => {
                const grant = counter.take(id, most, window, amount)
                change(process, grant.period, grant.amount)
                return grant
              },
              give: async (id: string, window: number, amount: number, period: number) => {
                change(process, period, -amount)
                counter.give(id, window, amount, period)
              },
              hold: async (_id: string, _limit: number, slots: number): Promise<HeldSlots> => ({ held: slots, left: 0 }),
            }
            const sharing = new Sharing(new Remote(inner, scheduler, 2), { away: () => {}, back: () => {} }, clock)
            return { sharing, meters: [sharing.rate('k', OUTPUT, 'x', limit, window)] }
          })
          const spent = new Map<number, number>()
          const running: Promise<unknown>[] = []
          for (const { process, pause, tokens } of requests) {
            time += pause
            for (const { sharing } of processes) sharing.tick()
            const { meters } = processes[process] as (typeof processes)[number]
            running.push(
              take(meters, amountsOf(0, tokens), clock).then(async result => {
                if (!(result instanceof Lease)) return
                const [period] = (result as unknown as { periods: [number] }).periods
                change(process, period, -tokens)
                spent.set(period, (spent.get(period) ?? 0) + tokens)
                expect(spent.get(period)).toBeLessThanOrEqual(limit)
                await scheduler.schedule(Promise.resolve(), 'over')
                result.settle({ output: 0 })
                change(process, period, tokens)
                // What a later window sees of it is nothing: only within its own does it come back.
                if (Math.floor(time / window) === period) spent.set(period, (spent.get(period) as number) - tokens)
              }),
            )
            if (pause % 3 === 0) await scheduler.waitIdle()
          }
          await scheduler.waitIdle()
          await Promise.all(running)
          for (const { sharing } of processes) sharing.close()
          await scheduler.waitIdle()
          expect(least).toBe(0)
        },
      ),
      shared,
    )
  })

  test('give nothing back to a counter that has lost what it granted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 40 }), async (limit, before) => {
        const clock = (): number => 0
        const counter = new WindowCounter(clock)
        let isAway = false
        const reached = async <Result>(run: () => Result): Promise<Result> => {
          if (isAway) throw new Error('away')
          return run()
        }
        const remote: Counter = {
          processes: () => 1,
          take: (...asked) => reached(() => counter.take(...asked)),
          give: (...given) => reached(() => counter.give(...given)),
          hold: (_id, _limit, held) => reached(() => ({ held, left: 0 })),
          probe: () => reached(() => undefined),
        }
        const sharing = new Sharing(remote, { away: () => {}, back: () => {} }, clock)
        const [meter, other] = ['k', 'other'].map(id => sharing.rate(id, REQUESTS, 'x', limit, 1e12)) as [Meter, Meter]
        const isAdmitted = async (by: Meter): Promise<boolean> => (await take([by], amountsOf(0, 0), clock)) instanceof Lease
        for (let count = 0; count < before; count++) await isAdmitted(meter)
        isAway = true
        counter.lose()
        // A meter that has to ask notices it, while the first one may still have a chunk.
        await isAdmitted(other)
        expect(sharing.isAway).toBe(true)
        isAway = false
        sharing.tick()
        await new Promise(done => setImmediate(done))
        expect(sharing.isAway).toBe(false)
        let admitted = 0
        while (await isAdmitted(meter)) admitted++
        expect(admitted).toBe(limit)
      }),
      { numRuns: 50 },
    )
  })
})

test('slots are renewed as long as they are needed', async () => {
  let time = 0
  const asked: number[] = []
  const counter: Counter = {
    processes: () => 1,
    take: () => Promise.reject(new Error('none')),
    give: async () => {},
    hold: async (_id, _limit, slots) => {
      asked.push(slots)
      return { held: slots, left: 0 }
    },
    probe: async () => {},
  }
  const sharing = new Sharing(counter, { away: () => {}, back: () => {} }, () => time)
  const slots = sharing.slots('s', 'x', 4)
  expect(slots.kind).toBe(IN_FLIGHT)
  const lease = (await take([slots], amountsOf(0, 0), () => time)) as Lease
  expect(asked).toEqual([1])
  for (let round = 0; round < 40; round++) {
    time += 250
    sharing.tick()
    await new Promise(done => setImmediate(done))
  }
  expect(asked.length).toBeGreaterThanOrEqual(3)
  expect(new Set(asked)).toEqual(new Set([1]))
  lease.settle(undefined)
  for (let round = 0; round < 10; round++) {
    time += 250
    sharing.tick()
    await new Promise(done => setImmediate(done))
  }
  expect(asked.at(-1)).toBe(0)
})
