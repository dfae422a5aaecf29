// Counts the requests under way at an upstream, in this process. Where the configuration bounds them, further requests wait
// in a queue, which is itself bounded in length and time.

import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import { GatewayError, nobodyWaits } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'

export interface ConcurrencyConfig {
  maxRequests: number
  maxPending: number
  /** Milliseconds. */
  pendingTimeout: number
}

/** Seconds that the `retry-after` header of a refused caller names. */
const SOON = '1'

export class Concurrency {
  /** Requests under way. */
  active = 0
  /** Waiting requests, oldest first. */
  private readonly pending = new Set<Waiter>()

  /** @param config undefined: requests are counted but not bounded */
  constructor(
    readonly name: string,
    public config: ConcurrencyConfig | undefined,
  ) {}

  /** Takes a slot if one is free. A slot for which a request waits is never free: whoever leaves it hands it on at once. */
  enter(): boolean {
    if (this.config !== undefined && this.active >= this.config.maxRequests) return false
    this.active++
    return true
  }

  /** Gives a slot back: to the request that has waited longest. */
  leave(): void {
    this.active--
    this.resume()
  }

  /** Sets another bound; it holds from now on. */
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

  /** Waits for a slot. Rejects with `overloaded` if the queue is full or the wait takes too long, and if the exchange ends. */
  wait(exchange: Exchange): Promise<void> {
    const { config } = this
    return new Promise((resolve, reject) => {
      if (config === undefined || this.pending.size >= config.maxPending) {
        reject(this.full(config?.maxPending === 0 ? 'the queue has no places' : `${this.pending.size} wait already`))
        return
      }
      const giveUp = (): void => waiter.give(nobodyWaits())
      const over = (one: Waiter): void => {
        this.pending.delete(one)
        exchange.offAbort(giveUp)
      }
      const waiter = new Waiter(now() + config.pendingTimeout, resolve, reject, over, this)
      this.pending.add(waiter)
      watch(waiter)
      exchange.onAbort(giveUp)
    })
  }

  full(why: string): GatewayError {
    return new GatewayError('overloaded', 'The upstreams of this model have too many requests under way. Try again.', {
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
    this.give(this.concurrency.full('no slot became free in time'))
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
