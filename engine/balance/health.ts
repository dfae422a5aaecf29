// The health of a target, by outlier detection: a target that fails too often is ejected for a while, then tried by a few
// requests, and returns when one of them is answered. An answer that begins well may still break off: it is a success, or a
// failure, when it has ended. An ordinary success costs an addition and two comparisons.

import { now } from '../core/deadlines.js'
import type { Kind } from '../plan.js'

/** Times are milliseconds; `Infinity` switches a threshold off. */
export interface HealthConfig {
  consecutiveFailures: number
  /** Percent. */
  failurePercentage: number
  requestVolume: number
  interval: number
  baseEjection: number
  maxEjection: number
  trials: number
  slowStart: number
}

/** The failures that count against the target; others are the request's own fault. */
const COUNTED: ReadonlySet<Kind> = new Set(['upstream', 'timeout', 'unavailable', 'overloaded', 'rate_limit', 'billing', 'not_found'])

/** What a target was when a request for it began: healthy, ejected, or on trial, with that request. */
export type Standing = 'healthy' | 'ejected' | 'trial'

/** The share of its weight that a returning target begins with. */
const LEAST_WEIGHT = 0.1

export function countsAgainstTarget(kind: Kind): boolean {
  return COUNTED.has(kind)
}

export class Health {
  /** When the ejection ends, on the clock of deadlines; 0 while the target is healthy. */
  ejectedUntil = 0
  /** Ejections in a row. */
  private ejections = 0
  private inRow = 0
  private trials = 0
  /** When the interval began; the first failure begins one. */
  private since = 0
  private requests = 0
  private failures = 0
  private returnedAt = Number.NEGATIVE_INFINITY

  /** @param config undefined: failures never eject the target */
  constructor(public config: HealthConfig | undefined) {}

  /** Whether other targets go first: this one is ejected, or is being tried by as many requests as are allowed. */
  isAside(time: number): boolean {
    if (this.ejectedUntil === 0) return false
    return this.ejectedUntil > time || this.trials >= (this.config?.trials ?? 1)
  }

  /** The share of its weight during slow start: above 0, up to 1. */
  share(time: number): number {
    const { config } = this
    if (config === undefined || config.slowStart === 0 || this.returnedAt === Number.NEGATIVE_INFINITY) return 1
    return Math.min(1, Math.max(LEAST_WEIGHT, (time - this.returnedAt) / config.slowStart))
  }

  /** A request begins. The caller passes the standing on when the request ends. */
  begin(): Standing {
    if (this.ejectedUntil === 0) return 'healthy'
    if (this.ejectedUntil > now()) return 'ejected'
    this.trials++
    return 'trial'
  }

  /** The request neither failed nor succeeded: the client went away, or the request itself was wrong. */
  leave(standing: Standing): void {
    if (standing === 'trial') this.trials--
  }

  /**
   * An answer has begun well: a trial is over, and the target returns. A request that was under way before the ejection says
   * nothing about the time after it. Whether the answer ends well is told later, outside of the trial.
   */
  answer(standing: Standing): void {
    this.leave(standing)
    if (this.ejectedUntil !== 0 && standing !== 'healthy') {
      this.ejectedUntil = 0
      this.requests = 0
      this.failures = 0
      this.returnedAt = now()
    }
  }

  /** An answer is complete. */
  succeed(): void {
    this.requests++
    this.inRow = 0
  }

  /**
   * The request failed before its answer began, or the answer broke off.
   * @param retryAfter milliseconds for which the target asked to receive no requests, if it did
   */
  fail(standing: Standing, retryAfter: number | undefined): void {
    this.leave(standing)
    const { config } = this
    if (config === undefined) return
    const time = now()
    if (retryAfter !== undefined) {
      this.ejectedUntil = Math.max(this.ejectedUntil, time + Math.min(retryAfter, config.maxEjection))
      return
    }
    // Requests that were under way at the ejection add no new evidence.
    if (this.ejectedUntil > time) return
    if (time > this.since + config.interval) {
      this.since = time
      this.requests = 0
      this.failures = 0
    }
    this.requests++
    this.failures++
    this.inRow++
    const isFrequent = this.requests >= config.requestVolume && this.failures * 100 >= this.requests * config.failurePercentage
    if (this.ejectedUntil === 0 && this.inRow < config.consecutiveFailures && !isFrequent) return
    if (this.ejectedUntil === 0 && time > this.returnedAt + config.maxEjection) this.ejections = 0
    this.ejectedUntil = time + Math.min(config.baseEjection * 2 ** this.ejections, config.maxEjection)
    this.ejections++
    this.inRow = 0
    this.since = 0
  }
}
