// The delay before the only target of a model is tried again.

import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import type { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Retry } from '../snapshot/retry.js'
import type { ClientRequest } from './attempt.js'

/**
 * Waits with full jitter: any time up to an interval that doubles with each try, and at least the refusal's retry-after.
 * Returns false if that exceeds the longest interval or the exchange's time limit, or if the exchange ends; the caller
 * then learns when to retry.
 */
export async function backOff(retry: Retry, tries: number, failure: GatewayError, { exchange, route }: ClientRequest): Promise<boolean> {
  const asked = Number(failure.more.retryAfter ?? 0) * 1_000 || 0
  if (asked > retry.maxInterval) return false
  const wait = asked + Math.random() * Math.min(retry.maxInterval, retry.baseInterval * 2 ** (tries - 1))
  const { total } = route.limits
  if (total !== null && now() + wait >= exchange.began + total) return false
  await pause(wait, exchange)
  return !exchange.isEnded
}

/** Resolves after `time` milliseconds, or when the exchange ends. */
export function pause(time: number, exchange: Exchange): Promise<void> {
  return new Promise(resolve => {
    const deadline = new Pause(now() + time, () => {
      exchange.offAbort(end)
      resolve()
    })
    const end = (): void => deadline.fire()
    watch(deadline)
    exchange.onAbort(end)
  })
}

class Pause implements Deadline {
  slot = -1

  constructor(
    public due: number,
    private readonly resolve: () => void,
  ) {}

  fire(): void {
    unwatch(this)
    this.resolve()
  }
}
