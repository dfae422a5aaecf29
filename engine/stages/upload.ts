// A client's body on its way to an upstream, piece by piece: what the upstream has not taken yet is bounded, and beyond that
// the client waits.

import type { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Limits } from '../plan.js'

/** From so many bytes on the client waits, and from so few on it goes on. */
const MOST_HELD = 256 * 1024
const LEAST_HELD = 64 * 1024

/** The body of a request as it comes. Ends with the failure of the exchange where it comes too slowly, is too large or is cut. */
export async function* uploadOf(exchange: Exchange, limits: Limits): AsyncGenerator<Buffer> {
  const chunks: Buffer[] = []
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
