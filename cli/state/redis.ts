// Counts limits for all instances in Redis or Valkey. A rate is counted by clock windows, each with its own key, so that a
// late request cannot count in the next window.

import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Counter, Grant, HeldSlots } from '../../engine/limits/shared.js'

/** Milliseconds for one command, for a connection, and at most between two attempts to connect. */
const COMMAND = 250
const CONNECT = 2_000
const LONGEST_PAUSE = 2_000
/** Milliseconds after which a connection without an answer is given up: a network may drop all in silence. */
const SILENCE = 3_000
/** Milliseconds between signs of life of a process, and after which a silent one is gone. */
const HEARTBEAT = 2_000
const GONE = 10_000
const PROCESSES = 'sluice:processes'
/** Milliseconds that slots are held without being renewed. */
const LAPSE = 15_000
/** Milliseconds of the window that a probe counts in. */
const PROBE = 1_000
/** Cached pairs of limit and window. */
const MOST_LIMITERS = 1_000

/**
 * Holds slots: KEYS are a hash of holders with their numbers, and a sorted set of holders by expiry; ARGV the holder, the
 * number that it wants in place of its present one, the limit, and the milliseconds until expiry. Returns how many it
 * holds, and how many are free.
 */
const HOLD = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do
  redis.call('HDEL', KEYS[1], gone)
  redis.call('ZREM', KEYS[2], gone)
end
local all = redis.call('HGETALL', KEYS[1])
local others = 0
for index = 1, #all, 2 do
  if all[index] ~= ARGV[1] then others = others + tonumber(all[index + 1]) end
end
local held = math.max(0, math.min(tonumber(ARGV[2]), tonumber(ARGV[3]) - others))
if held > 0 then
  redis.call('HSET', KEYS[1], ARGV[1], held)
  redis.call('ZADD', KEYS[2], now + ARGV[4], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
else
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
end
return { held, math.max(0, ARGV[3] - others - held) }
`

/**
 * Counts the processes: KEYS is a sorted set of them by their last sign of life; ARGV the process that gives one, and the
 * milliseconds after which a silent one is gone. By the server's clock, since those of processes may differ by more than that.
 */
const BEAT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
return redis.call('ZCARD', KEYS[1])
`

interface Commands {
  sluiceBeat(processes: string, name: string, gone: number): Promise<number>
  sluiceHold(hash: string, lapses: string, holder: string, wanted: number, limit: number, lapse: number): Promise<[number, number]>
}

export class RedisCounter implements Counter {
  private readonly client: Redis & Commands
  private readonly name = randomUUID()
  private readonly limiters = new Map<string, RateLimiterRedis>()
  private readonly timer: NodeJS.Timeout
  private count = 1
  /** The first error since the server was last reached: those after it only follow from it. */
  private fault: Error | undefined
  /** When a server that only reads was left. */
  private moved = Number.NEGATIVE_INFINITY

  /** @param url `redis://…`, `rediss://…`, or the same with `valkey` */
  constructor(url: string) {
    this.client = new Redis(url.replace(/^valkey(s?):/, 'redis$1:'), {
      // Without a connection commands fail at once, because decisions must not wait in a queue.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: COMMAND,
      connectTimeout: CONNECT,
      socketTimeout: SILENCE,
      // After a failover the server that was the primary may still answer.
      reconnectOnError: ({ message }) => message.startsWith('READONLY') && this.mayMove(),
      retryStrategy: times => Math.min(50 * 2 ** times, LONGEST_PAUSE),
    }) as Redis & Commands
    this.client.on('error', (error: Error & { command?: { name: string } }) => {
      this.fault ??= error
      // Without the database of its address the client would go on in the first one.
      if (error.command?.name === 'select') this.client.disconnect(true)
    })
    this.client.on('connect', () => {
      this.fault = undefined
    })
    this.client.on('ready', () => this.heartbeat())
    this.client.defineCommand('sluiceBeat', { numberOfKeys: 1, lua: BEAT })
    this.client.defineCommand('sluiceHold', { numberOfKeys: 2, lua: HOLD })
    this.timer = setInterval(() => this.heartbeat(), HEARTBEAT)
    this.timer.unref()
  }

  /** Resolves when the server answers, or after so many milliseconds. */
  async ready(milliseconds: number): Promise<void> {
    if (this.client.status === 'ready') return
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, milliseconds)
      this.client.once('ready', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  processes(): number {
    return this.count
  }

  async take(id: string, limit: number, window: number, amount: number): Promise<Grant> {
    this.checkConnection()
    const time = Date.now()
    const period = Math.floor(time / window)
    const holds = (period + 1) * window - time
    const limiter = this.limiter(limit, window)
    const key = `${id}:${period}`
    const consumed = await consumedBy(limiter.consume(key, amount))
    // The numbers up to the new count are this process's own; those above the limit belong to nobody.
    const granted = Math.max(0, Math.min(amount, limit - (consumed - amount)))
    if (granted < amount) await limiter.reward(key, amount - granted)
    return { amount: granted, left: Math.max(0, limit - consumed), retry: holds, reset: holds, holds, period }
  }

  async give(id: string, window: number, amount: number, period: number): Promise<void> {
    if (Math.floor(Date.now() / window) !== period) return
    this.checkConnection()
    await this.limiter(Number.MAX_SAFE_INTEGER, window).reward(`${id}:${period}`, amount)
  }

  async hold(id: string, limit: number, slots: number): Promise<HeldSlots> {
    this.checkConnection()
    // The tag puts both keys on one node of a cluster.
    const tag = `sluice:{${id}}`
    const [held, left] = await this.client.sluiceHold(`${tag}:held`, `${tag}:lapses`, this.name, slots, limit, LAPSE)
    return { held, left }
  }

  /** Counts something: a server that answers may still refuse to write, for want of memory, disk or replicas. */
  async probe(): Promise<void> {
    await this.take('probe', Number.MAX_SAFE_INTEGER, PROBE, 1)
  }

  /** Closes the connection after the pending commands. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    try {
      await this.client.zrem(PROCESSES, this.name)
      await this.client.quit()
    } catch {
      this.client.disconnect()
    }
  }

  /** Whether a server that only reads may be left: the address may name it again, and each connection would soon be left. */
  private mayMove(): boolean {
    const time = performance.now()
    if (time - this.moved < LONGEST_PAUSE) return false
    this.moved = time
    return true
  }

  /** Throws why there is no connection: the client itself would say only that there is none. */
  private checkConnection(): void {
    if (this.client.status !== 'ready') throw this.fault ?? new Error('Redis does not answer')
  }

  private limiter(limit: number, window: number): RateLimiterRedis {
    const name = `${limit}/${window}`
    let limiter = this.limiters.get(name)
    if (limiter === undefined) {
      if (this.limiters.size >= MOST_LIMITERS) this.limiters.clear()
      limiter = new RateLimiterRedis({
        storeClient: this.client,
        keyPrefix: 'sluice',
        points: limit,
        // Longer than the window: the expiry only removes the key.
        duration: Math.ceil(window / 1000) + 5,
      })
      this.limiters.set(name, limiter)
    }
    return limiter
  }

  private heartbeat(): void {
    if (this.client.status !== 'ready') return
    this.client
      .sluiceBeat(PROCESSES, this.name, GONE)
      .then(count => {
        this.count = count
      })
      .catch(() => undefined)
  }
}

/** The count after consuming: the library throws the same result if it is above the limit. */
async function consumedBy(answer: Promise<RateLimiterRes>): Promise<number> {
  try {
    return (await answer).consumedPoints
  } catch (thrown) {
    if (thrown instanceof RateLimiterRes) return thrown.consumedPoints
    throw thrown
  }
}
