// How many requests may be repeated, as a share of those that came: where everything fails, trying again makes it worse. As
// Finagle has it: each request pays a part of a retry in, each retry takes one out, and what was paid in is forgotten with
// time. A small number a second is always there, so that few requests may be repeated, too.

import { now } from '../core/deadlines.js'

export interface RetryBudgetConfig {
  /** Percent. */
  percent: number
  minPerSecond: number
}

/** Milliseconds for which a request counts. */
const REMEMBERS = 10_000

export class RetryBudget {
  /** Requests since the last retry: a request costs an addition, and the rest is reckoned when a retry is asked for. */
  requests = 0
  /** Retries that were paid for. */
  private paid = 0
  /** Those that are always there; they come back with time. */
  private reserve: number
  private lookedAt: number

  constructor(public config: RetryBudgetConfig) {
    this.lookedAt = now()
    this.reserve = this.mostReserve()
  }

  private mostReserve(): number {
    return (this.config.minPerSecond * REMEMBERS) / 1_000
  }

  /** Takes a retry, if there is one. */
  take(): boolean {
    const time = now()
    const passed = Math.max(time - this.lookedAt, Number.MIN_VALUE)
    this.lookedAt = time
    const fresh = this.requests * Math.min(1, REMEMBERS / passed)
    this.requests = 0
    this.paid = this.paid * Math.max(0, 1 - passed / REMEMBERS) + (fresh * this.config.percent) / 100
    this.reserve = Math.min(this.mostReserve(), this.reserve + (this.config.minPerSecond * passed) / 1_000)
    if (this.paid >= 1) this.paid--
    else if (this.reserve >= 1) this.reserve--
    else return false
    return true
  }
}
