// An exchange without a client: the engine's stages read a request from it, and nothing is sent.

import { GatewayError } from '../../engine/core/errors.js'
import type { Exchange, Receiver } from '../../engine/core/exchange.js'
import type { Limits } from '../../engine/plan.js'
import type { GivenRequest } from './request-text.js'

/** In place of the id of a request. */
export const EXPLAINED_ID = 'explained'.padStart(24, '0')

const NOTHING = (): void => undefined

/** The exchange of a request on a route with these path parameters. */
export function exchangeOf(given: GivenRequest, params: Readonly<Record<string, string>>): Exchange {
  const bytes = Buffer.from(given.body)
  const tooLarge = (limits: Limits): GatewayError | undefined =>
    bytes.length > limits.body ? new GatewayError('too_large', `The request body is larger than ${limits.body} bytes.`) : undefined
  const sent = (): never => {
    throw new Error('explain sends nothing')
  }
  return {
    id: EXPLAINED_ID,
    method: given.method,
    path: given.path,
    query: given.query,
    queryText: given.queryText,
    address: () => '127.0.0.1',
    headers: given.headers,
    params,
    began: 0,
    startedAt: Date.now(),
    log: { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 },
    isAborted: false,
    isEnded: false,
    onAbort: NOTHING,
    offAbort: NOTHING,
    onOver: NOTHING,
    over: NOTHING,
    onEnding: NOTHING,
    endWith: NOTHING,
    async body(limits) {
      const error = tooLarge(limits)
      if (error) throw error
      return bytes
    },
    receive(limits: Limits, receiver: Receiver) {
      const error = tooLarge(limits)
      if (error) return receiver.fail(error)
      receiver.data(bytes)
      receiver.end()
    },
    hold: NOTHING,
    pause: NOTHING,
    resume: NOTHING,
    send: sent,
    open: sent,
  }
}
