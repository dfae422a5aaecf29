// How many requests are under way at an upstream, as this process sees it; where that is bounded, a queue for those who
// wait for a place, which is bounded, too, in its length and in time.

import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'

export interface ConcurrencyConfig {
  maxRequests: number
  maxPending: number
  /** Milliseconds. */
  pendingTimeout: number
}

/** Seconds after which a caller who was refused may try again. */
const SOON = '1'

export class Concurrency {
  /** How many are under way. */
  active = 0
  /** Those who wait, the first one first. */
  private readonly pending = new Set<Waiter>()

  /** @param config absent: it is counted and not bounded */
  constructor(
    readonly name: string,
    public config: ConcurrencyConfig | undefined,
  ) {}

  /** Takes a place, if there is one and nobody waits for it. */
  enter(): boolean {
    if (this.config !== undefined && (this.active >= this.config.maxRequests || this.pending.size > 0)) return false
    this.active++
    return true
  }

  /** Gives a place back: to the one who waits longest. */
  leave(): void {
    this.active--
    this.resume()
  }

  /** Another bound, from now on. */
  configure(config: ConcurrencyConfig | undefined): void {
    this.config = config
    this.resume()
  }

  private resume(): void {
    const most = this.config?.maxRequests ?? Number.POSITIVE_INFINITY
    for (const waiter of this.pending) {
      if (this.active >= most) return
      this.active++
      waiter.enter()
    }
  }

  /** Waits for a place. Rejects with `overloaded` where too many wait already, or it takes too long; and where the client goes away. */
  wait(exchange: Exchange): Promise<void> {
    const { config } = this
    return new Promise((resolve, reject) => {
      if (config === undefined || this.pending.size >= config.maxPending) {
        reject(this.full(config?.maxPending === 0 ? 'nobody may wait' : `${this.pending.size} wait already`))
        return
      }
      const waiter = new Waiter(now() + config.pendingTimeout, resolve, reject, one => this.pending.delete(one), this)
      this.pending.add(waiter)
      watch(waiter)
      exchange.onAbort(() => waiter.give(new GatewayError('upstream', 'The client went away.')))
    })
  }

  full(why: string): GatewayError {
    return new GatewayError('overloaded', 'The upstreams of this model have as many requests under way as they may. Try again.', {
      retryAfter: SOON,
      cause: `the upstream ${this.name} has ${this.active} requests under way; ${why}`,
    })
  }
}

class Waiter implements Deadline {
  slot = -1
  private isOver = false

  constructor(
    public due: number,
    private readonly resolve: () => void,
    private readonly reject: (error: GatewayError) => void,
    private readonly over: (waiter: Waiter) => void,
    private readonly concurrency: Concurrency,
  ) {}

  fire(): void {
    this.give(this.concurrency.full('no place became free in time'))
  }

  enter(): void {
    this.end()
    this.resolve()
  }

  give(error: GatewayError): void {
    if (this.isOver) return
    this.end()
    this.reject(error)
  }

  private end(): void {
    this.isOver = true
    unwatch(this)
    this.over(this)
  }
}
