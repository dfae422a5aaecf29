// The access log: one line of JSON for each exchange, in the words of the field.

import type { Call, CallFacts, Exchange } from './exchange.js'
import { NANO, spentBy } from './usage.js'

/** What a line says. `cost` and, where it is another, `charge` are in the currency of the prices. Times are milliseconds. Never a key, a body or a secret. */
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

/** Whether a line tells of a failure that is not the client's: one that was made good is one all the same. */
export function isFailure({ log: { error, failed, status, call } }: Exchange): boolean {
  if (failed !== undefined) return true
  if (error === undefined || error.kind === 'not_implemented') return false
  // A stream that broke off has a good status; a provider's 429 is about the operator's account.
  return status >= 500 || (call !== undefined && (status === 429 || status < 400))
}

/** What is logged of a client's own id of the request: characters. */
const LONGEST_ID = 128

/** What is known of a call so far. */
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
