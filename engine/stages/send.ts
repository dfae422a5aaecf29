// One attempt: sends a request to a binding's upstream, and reads the answer as far as it must be read before the client gets
// any of it.

import { JSON_TYPE, mediaTypeOf } from '../core/media-type.js'
import type { Json } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import { BODY_LIMIT, call, collect, type UpstreamResponse, withinLimit } from '../upstream/call.js'
import { checkRefusal } from '../upstream/refusal.js'
import { signed } from '../upstream/sign.js'
import { framings } from '../wire/framing.js'
import { holdsAny } from '../wire/json/markers.js'
import { surelyMembers } from '../wire/json/well-formed.js'
import type { Attempt } from './attempt.js'
import { clientBytes } from './client-body.js'
import { followRedirect, isElsewhere } from './follow-location.js'
import type { Outcome } from './outcome.js'
import { bytesOf, readAnswer, understood } from './read-answer.js'
import { contextOf, type Rendered, render } from './render.js'
import { firstEvents } from './stream/first-events.js'
import { translateAnswer, translateRequest } from './translate.js'

/** Rejects with the upstream's failure, or throws the reason why the binding cannot serve the request. */
export function send(usual: Attempt): Promise<Outcome> {
  const better = betterFor(usual)
  return better ? sendTranslated({ ...usual, binding: better }, usual) : sendOne(usual)
}

/** The binding that the model's facts prefer to the usual one for a request, by what it asks for. */
export function betterFor({ binding, input }: Pick<Attempt, 'binding' | 'input'>): Binding | undefined {
  return binding.preferred?.find(({ asks }) => asks.every(asked => asked(input.outline)))?.binding
}

const NONE: readonly string[] = Object.freeze([])

function sendOne(attempt: Attempt): Promise<Outcome> {
  if (attempt.binding.mapping) return sendTranslated(attempt)
  // Client and provider speak the same dialect: bytes pass.
  return deliver(attempt, render(attempt, contextOf(attempt), NONE))
}

async function sendTranslated(attempt: Attempt, usual?: Attempt): Promise<Outcome> {
  const translated = await translateRequest(attempt, usual)
  if ('instead' in translated) return sendOne(translated.instead)
  return 'kind' in translated ? translated : deliver(translated.attempt, translated.rendered)
}

// Promises are chained here: a suspended function would hold all of its variables while an answer is awaited.

function deliver(attempt: Attempt, rendered: Rendered): Promise<Outcome> {
  const { binding, input, limits, exchange } = attempt
  input.forget?.()
  const request = binding.signer ? signed(rendered.request, binding) : rendered.request
  return call(request, limits, exchange).then(response => {
    if (response.status >= 300 && isElsewhere(response, request, binding))
      return followRedirect(response, rendered.request, attempt).then(found => answered(found, attempt, rendered))
    return answered(response, attempt, rendered)
  })
}

/** The outcome of an answer that may be a refusal. */
function answered(response: UpstreamResponse, attempt: Attempt, rendered: Rendered): Outcome | Promise<Outcome> {
  if (response.status < 300) return begun(response, attempt, rendered)
  return checkRefusal(response, attempt.binding, rendered.request.hides).then(() => begun(response, attempt, rendered))
}

/** The outcome of an answer that has begun well. */
function begun(response: UpstreamResponse, attempt: Attempt, rendered: Rendered): Outcome | Promise<Outcome> {
  const kind = kindOf(response, attempt)
  if (kind === 'stream') return firstEvents({ response, attempt, rendered }).then(first => ({ kind, attempt, rendered, response, first }))
  if (kind === 'bytes') return { kind, attempt, rendered, response: bytesOf(response, attempt.binding.to) }
  response.startIdle()
  const collected = collect(response, BODY_LIMIT)
  return collected instanceof Promise
    ? collected.then(bytes => whole(bytes, response, attempt, rendered))
    : whole(collected, response, attempt, rendered)
}

function whole(
  collected: Buffer | undefined,
  response: UpstreamResponse,
  attempt: Attempt,
  rendered: Rendered,
): Outcome | Promise<Outcome> {
  const { binding } = attempt
  const bytes = withinLimit(collected)
  if (binding.mapping) return translateAnswer(bytes, response, attempt, rendered)
  const body = readPassing(bytes, binding)
  const { vectors } = binding.from
  const text = vectors ? understood(() => clientBytes(bytes, vectors, attempt)) : bytes
  return { kind: 'whole', attempt, rendered, response, body, text }
}

/** Streams and bytes are passed on as they arrive; a whole JSON answer is collected. */
function kindOf(upstream: UpstreamResponse, { binding, input }: Attempt): 'stream' | 'bytes' | 'whole' {
  const { stream, response } = binding.to
  if (stream?.isOptional ? framings[stream.framing].isStream(typeOf(upstream)) : input.stream) return 'stream'
  // A refusal that passes, of a range for example, is no answer to be read.
  return response === 'bytes' && (typeOf(upstream) !== JSON_TYPE || upstream.status >= 300) ? 'bytes' : 'whole'
}

function typeOf(response: UpstreamResponse): string {
  return mediaTypeOf(response.header('content-type'))
}

/**
 * The members that the engine needs of an answer that passes. All of it is parsed only if it might be a failure, or no
 * answer at all.
 */
function readPassing(bytes: Buffer, binding: Binding): Json {
  const { answer, usageMembers } = binding.to
  if (usageMembers !== undefined && (answer === undefined || holdsAny(bytes, answer.markers))) {
    const { names, parsed } = searchFor(usageMembers, answer?.members ?? NONE)
    const found = surelyMembers(bytes, names, parsed)
    if (found !== undefined && !('error' in found) && isAnswer(found, answer?.members ?? NONE)) return found
  }
  return readAnswer(bytes, binding)
}

/** Whether one of an answer's own members is there. */
function isAnswer(found: object, members: readonly string[]): boolean {
  if (members.length === 0) return true
  for (const name of members) if (name in found) return true
  return false
}

const searches = new WeakMap<readonly string[], { names: readonly string[]; parsed: number }>()

/** The same list each time, as the scanner requires. */
function searchFor(usage: readonly string[], own: readonly string[]): { names: readonly string[]; parsed: number } {
  let search = searches.get(usage)
  if (search === undefined) {
    const values = [...usage, 'error']
    search = { names: [...values, ...own.filter(name => !values.includes(name))], parsed: values.length }
    searches.set(usage, search)
  }
  return search
}
