// When a failed request goes on to another target, or to the same one again.

import type { Balance } from '../balance/registry.js'
import type { RetryBudget } from '../balance/retry-budget.js'
import type { Kind } from '../plan.js'
import type { RetryConfig } from './config.js'

export interface Retry {
  /** The kinds of failure that are retried. A faulty request fails everywhere, so its kind is never among them. */
  on: ReadonlySet<Kind>
  /** The tries of an exchange altogether; undefined: one for each target. */
  attempts?: number
  /** Milliseconds before the only target is tried again: at most this after the first try, doubled after each further one. */
  baseInterval: number
  maxInterval: number
  /** Undefined: retries have no budget. */
  budget?: RetryBudget
}

const ALL: ReadonlySet<Kind> = new Set<Kind>([
  'billing',
  'conflict',
  'method_not_allowed',
  'not_found',
  'not_implemented',
  'overloaded',
  'rate_limit',
  'timeout',
  'unavailable',
  'upstream',
])

/** The rules without a model: for a task, or an account. */
export const DEFAULT_RETRY: Retry = Object.freeze({ on: ALL, baseInterval: 0, maxInterval: 0 })

/** @param isOne whether there is only one target */
export function linkRetry(model: string, config: RetryConfig | undefined, isOne: boolean, balance: Balance): Retry {
  if (config === undefined) return DEFAULT_RETRY
  const { on, attempts, baseInterval, maxInterval, budget } = config
  const mayRepeat = !isOne || (attempts !== undefined && attempts > 1)
  return {
    on: new Set(on),
    baseInterval,
    maxInterval,
    ...(attempts !== undefined && { attempts }),
    ...(budget && mayRepeat && { budget: balance.retryBudget(model, budget) }),
  }
}
