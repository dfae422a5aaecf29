// The access log: one JSON line for each exchange, with the field names of OpenTelemetry where they exist.

import type { Call, CallFacts, Exchange } from './exchange.js'
import { LONGEST_ID } from './text.js'
import { NANO, spentBy } from './usage.js'

/**
 * The members of a line, as JSON. `cost` and, if different, `charge` are in the currency of the prices. Times are milliseconds.
 * It never holds a key, a body or a secret. Written member by member: an object and its JSON would take twice the time.
 */
export function accessLine(exchange: Exchange, total: number): string {
  const { log } = exchange
  const { cost, charge } = spentBy(exchange)
  return `"id":"${exchange.id}"${
    word('client_id', exchange.headers['x-request-id']?.slice(0, LONGEST_ID)) +
    word('route', log.route?.name) +
    word('method', exchange.method) +
    word('path', exchange.path) +
    word('key', log.key) +
    word('model', log.model) +
    word('target', log.target) +
    figure('status', log.status) +
    figure('attempts', log.attempts > 1 ? log.attempts : undefined) +
    figure('bytes_in', log.bytesIn) +
    figure('bytes_out', log.bytesOut) +
    other('usage', log.usage) +
    figure('cost', cost === undefined ? undefined : cost / NANO) +
    figure('charge', charge === undefined || log.times === undefined ? undefined : charge / NANO) +
    other('partial', log.isPartial) +
    other('mirror', log.isMirror) +
    figure('first_byte', round(log.firstByte)) +
    figure('first_token', round(log.firstToken)) +
    figure('total', round(total)) +
    other('error', log.error) +
    other('failed', log.failed) +
    other('cancelled', log.cancelled) +
    other('calls', log.consulted) +
    other('facts', log.facts) +
    other('masked', log.masked) +
    (log.call ? upstreamOf(log.call) : '')
  }`
}

/** Texts in which JSON escapes nothing: most names and paths. */
const PLAIN = /^[ !#-[\]-~]*$/

const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))
const word = (name: string, text: string | undefined): string => (text === undefined ? '' : `,"${name}":${quoted(text)}`)
const figure = (name: string, value: number | undefined): string => (value === undefined ? '' : `,"${name}":${value}`)
const other = (name: string, value: unknown): string => (value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`)

function upstreamOf(call: Call): string {
  const { status, request_id: id, connect, headers, first_event: first } = factsOf(call)
  const facts =
    figure('status', status) +
    word('request_id', id) +
    figure('connect', connect) +
    figure('headers', headers) +
    figure('first_event', first)
  return `,"upstream":{${facts.slice(1)}}`
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
