// The wait before the only target of a model is tried again.

import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import type { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Retry } from '../snapshot/retry.js'
import type { ClientRequest } from './attempt.js'

/**
 * Waits with full jitter: any time up to an interval that doubles with each try, and at least as long as the refusal asks for.
 * False where that is longer than the longest interval, or than the exchange may take, and where the client goes away; the
 * caller is told when to try again then.
 */
export async function backOff(retry: Retry, tries: number, failure: GatewayError, { exchange, route }: ClientRequest): Promise<boolean> {
  const asked = Number(failure.more.retryAfter ?? 0) * 1_000 || 0
  if (asked > retry.maxInterval) return false
  const wait = asked + Math.random() * Math.min(retry.maxInterval, retry.baseInterval * 2 ** (tries - 1))
  const { total } = route.limits
  if (total !== null && now() + wait >= exchange.began + total) return false
  await pause(wait, exchange)
  return !exchange.isAborted
}

/** Resolves after so many milliseconds, or when the client goes away. */
export function pause(time: number, exchange: Exchange): Promise<void> {
  return new Promise(resolve => {
    const deadline = new Pause(now() + time, resolve)
    watch(deadline)
    exchange.onAbort(() => deadline.fire())
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
