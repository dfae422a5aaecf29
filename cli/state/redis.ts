// Counts limits for all instances in a Redis or Valkey. A rate is counted by windows of the clock, each under a key of its
// own, so that what comes too late for one cannot count in the next.

import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Counter, Grant, Places } from '../../engine/limits/shared.js'

/** Milliseconds for one command, for a connection, and between two attempts to connect at most. */
const COMMAND = 250
const CONNECT = 2_000
const LONGEST_PAUSE = 2_000
/** Milliseconds: how often a process says that it is there, and after which one that does not is gone. */
const HEARTBEAT = 2_000
const GONE = 10_000
/** Milliseconds that places are held without being renewed. */
const LAPSE = 15_000
/** How many pairs of limit and window are remembered. */
const MOST_LIMITERS = 1_000

/**
 * Holds places: KEYS are a hash of holders with their numbers, and a sorted set of holders by the moment they lapse; ARGV the
 * holder, how many it wants in place of those that it has, the limit, and the milliseconds until they lapse. Gives how many
 * it holds, and how many nobody does.
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

interface Commands {
  sluiceHold(hash: string, lapses: string, holder: string, wanted: number, limit: number, lapse: number): Promise<[number, number]>
}

export class RedisCounter implements Counter {
  private readonly client: Redis & Commands
  private readonly name = randomUUID()
  private readonly limiters = new Map<string, RateLimiterRedis>()
  private readonly timer: NodeJS.Timeout
  private count = 1

  /** @param url `redis://…`, `rediss://…`, or the same as `valkey` */
  constructor(url: string) {
    this.client = new Redis(url.replace(/^valkey(s?):/, 'redis$1:'), {
      // What cannot be asked now is decided without: nothing waits in a queue.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: COMMAND,
      connectTimeout: CONNECT,
      retryStrategy: times => Math.min(50 * 2 ** times, LONGEST_PAUSE),
    }) as Redis & Commands
    // Each command that fails tells of it; the client would write to standard error otherwise.
    this.client.on('error', () => undefined)
    this.client.on('ready', () => this.heartbeat())
    this.client.defineCommand('sluiceHold', { numberOfKeys: 2, lua: HOLD })
    this.timer = setInterval(() => this.heartbeat(), HEARTBEAT)
    this.timer.unref()
  }

  /** Resolves when it is there, or after so many milliseconds. */
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
    const time = Date.now()
    const period = Math.floor(time / window)
    const holds = (period + 1) * window - time
    const limiter = this.limiter(limit, window)
    const key = `${id}:${period}`
    const consumed = await consumedBy(limiter.consume(key, amount))
    // The numbers that its counting has passed are this process's own; those above the limit are nobody's and go back.
    const granted = Math.max(0, Math.min(amount, limit - (consumed - amount)))
    if (granted < amount) await limiter.reward(key, amount - granted)
    return { amount: granted, left: Math.max(0, limit - consumed), retry: holds, reset: holds, holds, period }
  }

  async give(id: string, window: number, amount: number, period: number): Promise<void> {
    if (Math.floor(Date.now() / window) !== period) return
    await this.limiter(Number.MAX_SAFE_INTEGER, window).reward(`${id}:${period}`, amount)
  }

  async hold(id: string, limit: number, places: number): Promise<Places> {
    // Both keys lie on one node of a cluster.
    const tag = `sluice:{${id}}`
    const [held, left] = await this.client.sluiceHold(`${tag}:held`, `${tag}:lapses`, this.name, places, limit, LAPSE)
    return { held, left }
  }

  async probe(): Promise<void> {
    await this.client.ping()
  }

  /** Ends the connection, once what was sent is done. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    try {
      await this.client.zrem('sluice:processes', this.name)
      await this.client.quit()
    } catch {
      this.client.disconnect()
    }
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
        // Longer than the window, whose key it only has to clear away.
        duration: Math.ceil(window / 1000) + 5,
        rejectIfRedisNotReady: true,
      })
      this.limiters.set(name, limiter)
    }
    return limiter
  }

  private heartbeat(): void {
    if (this.client.status !== 'ready') return
    const time = Date.now()
    this.client
      .pipeline()
      .zadd('sluice:processes', time, this.name)
      .zremrangebyscore('sluice:processes', '-inf', time - GONE)
      .zcard('sluice:processes')
      .exec()
      .then(answers => {
        const count = Number(answers?.[2]?.[1])
        if (count >= 1) this.count = count
      })
      .catch(() => undefined)
  }
}

/** What has been consumed with it: the library throws the same answer where that is more than the limit. */
async function consumedBy(answer: Promise<RateLimiterRes>): Promise<number> {
  try {
    return (await answer).consumedPoints
  } catch (thrown) {
    if (thrown instanceof RateLimiterRes) return thrown.consumedPoints
    throw thrown
  }
}
