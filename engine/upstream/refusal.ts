// Turns an upstream's refusal into an error for the caller: a kind, and a message that is safe to show.

import { GatewayError, kindOfStatus } from '../core/errors.js'
import { mediaTypeOf } from '../core/media-type.js'
import type { Dialect, ErrorRead, Json, Kind } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import { collect, type UpstreamResponse } from './call.js'
import { redact, redactValue } from './redact.js'
import { millisecondsOf, secondsIn, secondsOf } from './retry-after.js'

/** An upstream's response without its body. */
export type Head = Pick<UpstreamResponse, 'header'> & Partial<Pick<UpstreamResponse, 'headersThat'>>

/** The code of an error for a request that is too long for the model. */
const TOO_LONG = 'context_length'

/** The largest body of a refusal that is read: bytes. */
export const LONGEST_REFUSAL = 1024 * 1024

/** The longest plain text that is a message: characters. */
const LONGEST_SENTENCE = 1000

/** Headers that tell any client whether and when to retry, and what they may hold. */
const ADVICE: [name: string, read: (value: string | undefined) => string | undefined][] = [
  ['x-should-retry', value => value],
  ['retry-after', secondsOf],
  ['retry-after-ms', millisecondsOf],
]

/** Clients retry any 5xx, but a refused key of the gateway stays refused until the operator changes it. */
const UNCHANGED = { 'x-should-retry': 'false' }

/**
 * Throws the error of a response whose status is not a good one. A redirect that is not followed counts as a refusal.
 * @param hides a credential of the caller, which is removed from the upstream's message
 */
export async function checkRefusal(response: UpstreamResponse, binding: Binding, hides: string | undefined): Promise<void> {
  const { status } = response
  if (binding.to.response === 'bytes' && (status === 304 || status === 416)) return
  let read: ErrorRead | undefined
  let text = ''
  try {
    const whole = String(await collect(response, LONGEST_REFUSAL))
    text = hides === undefined ? whole : whole.replaceAll(hides, '***')
    const body: Json = JSON.parse(text)
    read = binding.to.error.read(binding.endpoint.error?.(body) ?? body, status)
  } catch {
    // The body did not come, or is not JSON: a sentence, or a proxy's page, of which the status says enough.
    read = sentence(text, mediaTypeOf(response.header('content-type')))
  }
  throw errorFrom(read, status, binding, response)
}

/** A body of plain text that says in few words why a request is refused: some servers parse requests in a library that answers so. */
function sentence(text: string, type: string): ErrorRead | undefined {
  const message = text.trim()
  return type === 'text/plain' && message.length <= LONGEST_SENTENCE && !message.startsWith('<') ? { message } : undefined
}

/**
 * The error that an upstream reports: in an answer, whose head is given then, or inside a stream, where the status belongs
 * to the error's type and `event` reports it. A client of the same dialect gets it unchanged, except for errors about the
 * gateway's own key.
 */
export function errorFrom(read: ErrorRead | undefined, status: number, binding: Binding, head?: Head, event?: Json): GatewayError {
  // If the dialect recognises the error by its content, the status does not matter.
  const said = typeof read?.kind === 'string' && Object.hasOwn(binding.to.error.kinds, read.kind) ? (read.kind as Kind) : undefined
  const { isCallers } = binding.target
  const known = said ?? aboutKey(status) ?? kindOfStatus(status)
  // A message about a key concerns the gateway's key, unless the caller sent its own.
  const isOurs = (!isCallers || status === PROXY_REFUSES) && (known === 'authentication' || known === 'permission')
  const kind = isOurs ? 'upstream' : known
  const words = typeof read?.message === 'string' && read.message !== '' ? shown(read.message, binding) : undefined
  const message = isOurs
    ? 'The upstream rejected the credentials of the gateway.'
    : (words ?? `The upstream answered with status ${status}.`)
  const isSame = binding.mapping === undefined && !isOurs
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? shown(value, binding) : undefined)
  // An error that the dialect recognises by its content gets that kind's own form.
  const isKept = isSame && said === undefined
  const type = isKept ? text(read?.type) : undefined
  return new GatewayError(kind, message, {
    cause: `${binding.target.name} answered ${status}${words === undefined ? '' : `: ${words}`}`,
    // A provider that names a type without a code means that there is no code.
    ...(!isOurs && { code: text(read?.code) ?? (type === undefined ? undefined : null) }),
    ...(isSame && { type, param: text(read?.param) }),
    ...(isKept && head && status >= 400 && status < 600 && { status }),
    ...(read?.details !== undefined && isSame && { details: redactValue(read.details, binding.target, binding.to.error.ids) }),
    ...(event !== undefined && isSame && { event }),
    retryAfter: secondsOf(head?.header('retry-after')) ?? secondsIn(read?.retry_after),
    ...(kind === 'invalid_request' && read?.reason === TOO_LONG && { isTooLong: true }),
    ...(head && { headers: isOurs ? UNCHANGED : headersOf(head, binding) }),
  })
}

/** An upstream's text as callers may see it. */
function shown(text: string, { target, to }: Binding): string {
  return redact(text, target, to.error.ids)
}

/** A proxy between the gateway and the upstream wants credentials: they are never the caller's. */
export const PROXY_REFUSES = 407

/** The kind of a status that is about the key of a request. */
function aboutKey(status: number): Kind | undefined {
  if (status === 401 || status === PROXY_REFUSES) return 'authentication'
  return status === 403 ? 'permission' : undefined
}

function headersOf(head: Head, binding: Binding): Record<string, string> {
  const { passes } = binding.target
  const headers = passes && head.headersThat ? head.headersThat(passes) : {}
  for (const [name, read] of ADVICE) {
    const value = read(head.header(name))
    if (value === undefined) delete headers[name]
    else headers[name] = value
  }
  for (const name of Object.keys(headers)) headers[name] = shown(headers[name] as string, binding)
  return headers
}

/** A failure that a mapping found in an answer with a good status. */
export function failureFrom(found: Json, binding: Binding): GatewayError | undefined {
  if (typeof found !== 'object' || found === null) return undefined
  const { kind, message, code, param } = found as Record<string, unknown>
  const known = typeof kind === 'string' && Object.hasOwn(binding.from.error.kinds, kind) ? (kind as Kind) : 'upstream'
  const text = typeof message === 'string' && message !== '' ? shown(message, binding) : 'The upstream failed.'
  return new GatewayError(known, text, {
    cause: `${binding.target.name}: ${text}`,
    ...(typeof code === 'string' && { code: shown(code, binding) }),
    ...(typeof param === 'string' && { param: shown(param, binding) }),
  })
}

/** The status that belongs to an upstream's error type in its dialect. */
export function statusOfWord(read: { type?: unknown; code?: unknown } | undefined, dialect: Dialect): number {
  const code = Number(read?.code)
  if (Number.isInteger(code) && code >= 400 && code < 600) return code
  for (const { type, code: word, status } of Object.values(dialect.error.kinds)) {
    if (read?.code !== undefined && word !== null && word === read.code) return status
    if (read?.type !== undefined && type === read.type && status >= 429) return status
  }
  for (const { type, status } of Object.values(dialect.error.kinds)) if (read?.type !== undefined && type === read.type) return status
  return 502
}
