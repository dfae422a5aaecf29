// Streams a client's body to an upstream: the bytes that the upstream has not taken are bounded, and beyond the bound the
// client is paused.

import type { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { Gathered } from '../core/gathered.js'
import type { Limits } from '../plan.js'

/** Bytes above which the client is paused, and below which it resumes. */
const MOST_HELD = 256 * 1024
const LEAST_HELD = 64 * 1024

/** The body of a request as it arrives. Ends with the exchange's failure if the body is too slow, too large or cut. */
export async function* uploadOf(exchange: Exchange, limits: Limits): AsyncGenerator<Buffer> {
  const chunks = new Gathered()
  let held = 0
  let isWhole = false
  let failure: GatewayError | undefined
  let wake: (() => void) | undefined
  exchange.receive(limits, {
    data(chunk) {
      chunks.push(chunk)
      held += chunk.length
      if (held > MOST_HELD) exchange.pause()
      wake?.()
    },
    end() {
      isWhole = true
      wake?.()
    },
    fail(error) {
      failure = error
      wake?.()
    },
  })
  for (;;) {
    if (failure !== undefined) throw failure
    const chunk = chunks.shift()
    if (chunk !== undefined) {
      yield chunk
      held -= chunk.length
      if (held < LEAST_HELD) exchange.resume()
    } else if (isWhole) return
    else
      await new Promise<void>(resolve => {
        wake = resolve
      })
  }
}
