// The access log: one JSON line for each exchange, with the field names of OpenTelemetry where they exist.

import type { Call, CallFacts, Exchange } from './exchange.js'
import { LONGEST_ID } from './text.js'
import { NANO, spentBy } from './usage.js'

/**
 * The fields of a line. `cost` and, if different, `charge` are in the currency of the prices. Times are milliseconds. It
 * never holds a key, a body or a secret.
 */
export function accessLine(exchange: Exchange, total: number): Record<string, unknown> {
  const { log } = exchange
  const { cost, charge } = spentBy(exchange)
  return {
    id: exchange.id,
    client_id: exchange.headers['x-request-id']?.slice(0, LONGEST_ID),
    route: log.route?.name,
    method: exchange.method,
    path: exchange.path,
    key: log.key,
    model: log.model,
    target: log.target,
    status: log.status,
    attempts: log.attempts > 1 ? log.attempts : undefined,
    bytes_in: log.bytesIn,
    bytes_out: log.bytesOut,
    usage: log.usage,
    cost: cost === undefined ? undefined : cost / NANO,
    charge: charge === undefined || log.times === undefined ? undefined : charge / NANO,
    partial: log.isPartial,
    mirror: log.isMirror,
    first_byte: round(log.firstByte),
    first_token: round(log.firstToken),
    total: round(total),
    error: log.error,
    failed: log.failed,
    cancelled: log.cancelled,
    calls: log.consulted,
    facts: log.facts,
    masked: log.masked,
    upstream: log.call && factsOf(log.call),
  }
}

/** Whether a line reports a failure that is not the client's; a failure that another target made good counts as well. */
export function isFailure({ log: { error, failed, status, call } }: Exchange): boolean {
  if (failed !== undefined) return true
  if (error === undefined || error.kind === 'not_implemented') return false
  // A broken stream has a good status, and a provider's 429 is about the operator's account.
  return status >= 500 || (call !== undefined && (status === 429 || status < 400))
}

/** The facts of a call so far. */
export function factsOf(call: Call): CallFacts {
  const { status, began, connectedAt, headersAt, firstAt } = call
  const facts: CallFacts = {}
  if (status > 0) {
    facts.status = status
    const id = call.header(call.idHeader)
    if (id !== undefined) facts.request_id = id.slice(0, LONGEST_ID)
  }
  if (connectedAt > 0) facts.connect = round(connectedAt - began) as number
  if (headersAt > 0) facts.headers = round(headersAt - began) as number
  if (firstAt > 0) facts.first_event = round(firstAt - began) as number
  return facts
}

function round(time: number | undefined): number | undefined {
  return time === undefined ? undefined : Math.round(time * 100) / 100
}
