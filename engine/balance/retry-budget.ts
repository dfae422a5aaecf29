// Bounds retries to a share of the requests: where everything fails, retrying makes it worse. As in Finagle, each request
// deposits a fraction of a retry, each retry withdraws a whole one, and deposits expire. A small allowance per second is
// always available, so that a process with few requests can retry, too.

import { now } from '../core/deadlines.js'

export interface RetryBudgetConfig {
  /** Percent. */
  percent: number
  minPerSecond: number
}

/** Milliseconds for which a deposit counts. */
const REMEMBERS = 10_000

export class RetryBudget {
  /** Requests since the last retry. A request costs one addition; the balance is computed when a retry is wanted. */
  requests = 0
  /** Retries deposited by requests. */
  private paid = 0
  /** What is left of the allowance; it refills with time. */
  private reserve: number
  private lookedAt: number

  constructor(public config: RetryBudgetConfig) {
    this.lookedAt = now()
    this.reserve = this.mostReserve()
  }

  private mostReserve(): number {
    return (this.config.minPerSecond * REMEMBERS) / 1_000
  }

  /** Withdraws a retry if one is available. */
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
