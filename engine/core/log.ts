// What the log and its lines say of a call, and of a failure.

import type { GatewayError } from './errors.js'
import type { Call, CallFacts, Exchange, LogEntry } from './exchange.js'
import { describeCause } from './source-map.js'
import { LONGEST_ID } from './text.js'

/** The facts of a call so far. */
export function factsOf(call: Call): CallFacts {
  const { status, began, connectedAt, headersAt, firstAt } = call
  const facts: CallFacts = {}
  if (status > 0) {
    facts.status = status
    const id = requestIdOf(call)
    if (id !== undefined) facts.request_id = id
  }
  if (connectedAt > 0) facts.connect = round(connectedAt - began) as number
  if (headersAt > 0) facts.headers = round(headersAt - began) as number
  if (firstAt > 0) facts.first_event = round(firstAt - began) as number
  return facts
}

/** The client's own id of an exchange. */
export const clientIdOf = ({ headers }: Exchange): string | undefined => headers['x-request-id']?.slice(0, LONGEST_ID)

/** The provider's id of the request; undefined before the head of its response. */
export function requestIdOf(call: Call): string | undefined {
  return call.status === 0 ? undefined : call.header(call.idHeader)?.slice(0, LONGEST_ID)
}

/** An error as the log has it: its cause is for the operator alone. */
export function failureOf({ kind, message, cause }: GatewayError): NonNullable<LogEntry['error']> {
  return { kind, message, ...(cause !== undefined && { cause: describeCause(cause) }) }
}

/** Milliseconds with two decimals. */
export function round(time: number | undefined): number | undefined {
  return time === undefined ? undefined : Math.round(time * 100) / 100
}
