// When a failure moves on to another target, or to the same one again.

import type { Balance } from '../balance/registry.js'
import type { RetryBudget } from '../balance/retry-budget.js'
import type { Kind } from '../plan.js'
import type { RetryConfig } from './config.js'

export interface Retry {
  /** The kinds of failure that move on. What is wrong with a request is wrong everywhere, and is never among them. */
  on: ReadonlySet<Kind>
  /** How many tries an exchange has altogether; absent: one for each target. */
  attempts?: number
  /** Milliseconds before the only target is tried again: at most so much after the first try, twice as much after the next one. */
  baseInterval: number
  maxInterval: number
  /** Absent: none is kept. */
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

/** What holds where nothing is said: of a task, or of an account. */
export const UNSAID: Retry = Object.freeze({ on: ALL, baseInterval: 0, maxInterval: 0 })

/** @param isOne whether there is one target alone, and so none to move on to */
export function linkRetry(model: string, config: RetryConfig | undefined, isOne: boolean, balance: Balance): Retry {
  if (config === undefined) return UNSAID
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
