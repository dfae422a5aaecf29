// How a target fares, by outlier detection: what fails too often is ejected for a while, then tried by a few requests, and
// returns when one of them succeeds. An ordinary success costs an addition and two comparisons.

import { now } from '../core/deadlines.js'
import type { Kind } from '../plan.js'

/** Times are milliseconds; `Infinity` for what is not looked at. */
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

/** Failures that say something of the target, and not of the request alone. */
const COUNTED: ReadonlySet<Kind> = new Set(['upstream', 'timeout', 'unavailable', 'overloaded', 'rate_limit', 'billing', 'not_found'])

/** What a target that returns begins with, of its weight. */
const LEAST_WEIGHT = 0.1

export function countsAgainstTarget(kind: Kind): boolean {
  return COUNTED.has(kind)
}

export class Health {
  /** Until when it is ejected, on the clock of deadlines; 0 while it is well. */
  ejectedUntil = 0
  /** Ejections that followed each other. */
  private ejections = 0
  private inRow = 0
  private trials = 0
  /** The interval, which begins with a failure. */
  private since = 0
  private requests = 0
  private failures = 0
  private returnedAt = Number.NEGATIVE_INFINITY

  /** @param config absent: it is not ejected by itself */
  constructor(public config: HealthConfig | undefined) {}

  /** Whether others go first: it is ejected, or its ejection is over and as many as may try it do. */
  isAside(time: number): boolean {
    if (this.ejectedUntil === 0) return false
    return this.ejectedUntil > time || this.trials >= (this.config?.trials ?? 1)
  }

  /** What is left of its weight while it starts slowly: above 0, up to 1. */
  share(time: number): number {
    const { config } = this
    if (config === undefined || config.slowStart === 0 || this.returnedAt === Number.NEGATIVE_INFINITY) return 1
    return Math.min(1, Math.max(LEAST_WEIGHT, (time - this.returnedAt) / config.slowStart))
  }

  /** A request begins. Whether it is a trial, which is to be told when the request is over. */
  begin(): boolean {
    if (this.ejectedUntil === 0 || this.ejectedUntil > now()) return false
    this.trials++
    return true
  }

  /** Neither failed nor succeeded: the client went away, or the request was at fault. */
  leave(isTrial: boolean): void {
    if (isTrial) this.trials--
  }

  succeed(isTrial: boolean): void {
    this.requests++
    this.inRow = 0
    if (isTrial) this.trials--
    if (this.ejectedUntil !== 0) {
      this.ejectedUntil = 0
      this.requests = 0
      this.failures = 0
      this.returnedAt = now()
    }
  }

  /** @param retryAfter milliseconds that the target asked to be left alone for, where it did */
  fail(isTrial: boolean, retryAfter: number | undefined): void {
    if (isTrial) this.trials--
    const { config } = this
    if (config === undefined) return
    const time = now()
    if (retryAfter !== undefined) {
      this.ejectedUntil = Math.max(this.ejectedUntil, time + Math.min(retryAfter, config.maxEjection))
      return
    }
    // What was under way when it was ejected says nothing new.
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
