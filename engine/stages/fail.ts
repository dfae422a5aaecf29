// The refusal of a route that always refuses.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Route, Snapshot } from '../snapshot/model.js'
import { notFound } from '../snapshot/near-path.js'

/** The error of a route that always refuses, written by its dialect. */
export function failure({ fail, failWith }: Route, exchange: Exchange, snapshot: Snapshot): GatewayError {
  if (fail !== undefined && failWith !== undefined) return new GatewayError(fail, failWith.message, { status: failWith.status })
  if (fail === undefined || fail === 'not_found') return notFound(exchange, snapshot)
  return new GatewayError(fail, fail === 'not_implemented' ? 'This API is not implemented.' : 'This cannot be served.')
}
