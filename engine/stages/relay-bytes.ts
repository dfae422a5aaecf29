// Passes bytes from an upstream to a client as they arrive; a slow client makes the upstream wait.

import type { GatewayError } from '../core/errors.js'
import { failureOf } from '../core/log.js'
import type { UpstreamResponse } from '../upstream/call.js'
import type { Attempt } from './attempt.js'
import { estimator } from './estimator.js'
import { hasBrokenOff } from './evidence.js'

/** Headers that describe the bytes. */
const OF_BYTES = ['content-type', 'content-range', 'accept-ranges', 'content-disposition', 'content-encoding', 'etag', 'last-modified']

/** Passes bytes on with the headers that describe them; resolves when the answer has ended, for whatever reason. */
export function relayBytes(response: UpstreamResponse, more: Readonly<Record<string, string>>, attempt: Attempt): Promise<void> {
  const headers: Record<string, string> = { ...more }
  for (const name of OF_BYTES) {
    const value = response.header(name)
    if (value !== undefined) headers[name] = value
  }
  return passBytes(response, headers, attempt)
}

/** Passes bytes on with these headers, and their length if known; resolves when the answer has ended, for whatever reason. */
export function passBytes(response: UpstreamResponse, headers: Readonly<Record<string, string>>, attempt: Attempt): Promise<void> {
  const { exchange } = attempt
  const estimate = estimator(attempt)
  const announced = response.header('content-length')
  const length = announced !== undefined && /^\d+$/.test(announced) ? Number(announced) : undefined
  return new Promise(resolve => {
    const sink = exchange.open(response.status, headers, length)
    let isOver = false
    const close = (): void => {
      isOver = true
      resolve()
    }
    const fail = (error: GatewayError): void => {
      if (isOver) return
      exchange.log.error = failureOf(error)
      exchange.log.isPartial = true
      // Raw bytes have no form for an error: only a broken connection shows that some are missing.
      sink.destroy()
      response.cancel()
      close()
    }
    sink.onDrain(() => response.resume())
    exchange.onEnding(fail)
    exchange.onAbort(() => {
      response.cancel()
      close()
    })
    response.startIdle()
    response.receive({
      data(chunk) {
        if (isOver) return
        // Before it is sent: with the last piece the exchange may be over.
        estimate?.(chunk)
        if (!sink.write(chunk)) response.pause()
      },
      end() {
        if (isOver) return
        sink.end()
        attempt.binding.target.health.succeed()
        close()
      },
      fail(error) {
        if (!isOver) hasBrokenOff(attempt, error)
        fail(error)
      },
    })
  })
}
