// Parses a provider's whole answer as far as the engine or a mapping needs it. An answer that cannot be understood is the
// upstream's failure. It is found before anything is sent to the client, so that the next target can be tried.

import { GatewayError } from '../core/errors.js'
import type { Context, Json } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import { errorFrom, failureFrom } from '../upstream/refusal.js'
import { holdsAny } from '../wire/json/markers.js'
import { parseJson } from '../wire/json/parse.js'
import { reshape } from '../wire/json/vectors.js'
import { surelyMembers } from '../wire/json/well-formed.js'

/** The largest answer that is held for translation, or to be sent in one piece: bytes. */
export const BODY_LIMIT = 64 * 1024 * 1024

/** Runs a reader of an upstream's answer. An error that it throws is the upstream's fault, not the gateway's. */
export function understood<Result>(look: () => Result): Result {
  try {
    return look()
  } catch (error) {
    if (error instanceof GatewayError) throw error
    throw new GatewayError('upstream', 'The upstream sent an invalid answer.', { cause: error })
  }
}

export function withinLimit(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw new GatewayError('upstream', 'The answer of the upstream is too large.')
  return bytes
}

/** The part of an answer that the engine needs. Throws if the answer is not JSON, or reports a failure. */
export function readAnswer(bytes: Buffer, binding: Binding): Json {
  if (binding.mapping === undefined) {
    const { answer } = binding.to
    const isOne = answer === undefined || holdsAny(bytes, answer.markers)
    const seen = isOne ? peekUsage(bytes, binding) : undefined
    if (seen !== undefined) return seen
    const body = parse(bytes, undefined, binding)
    if (answer && !answer.isOne(body)) throw new GatewayError('upstream', 'The upstream sent something that is no answer.')
    return body
  }
  // Mappings see numbers, whatever encoding the provider used.
  const { vectors, verbatim } = binding.to
  const read = vectors ? reshape(bytes, vectors.path, false) : bytes
  return parse(read, verbatim?.response, binding)
}

/** The answer for a mapping. Throws if it reports a failure, or is not a valid answer. */
export function translatable(body: Json, binding: Binding, ctx: Context, carry: Json): Json {
  const failure = failureFrom(binding.mapping?.failure?.(body, ctx, carry), binding)
  if (failure) throw failure
  return binding.to.normaliseResponse ? binding.to.normaliseResponse(body) : body
}

/** The members that the log needs of an answer that passes; undefined if the whole has to be parsed. */
function peekUsage(bytes: Buffer, { to: { usageMembers } }: Binding): Json | undefined {
  if (usageMembers === undefined) return undefined
  let names = peeked.get(usageMembers)
  if (names === undefined) {
    names = [...usageMembers, 'error']
    peeked.set(usageMembers, names)
  }
  const found = surelyMembers(bytes, names)
  return found === undefined || 'error' in found ? undefined : found
}

const peeked = new WeakMap<readonly string[], readonly string[]>()

function parse(bytes: Buffer, verbatim: readonly (readonly string[])[] | undefined, binding: Binding): Json {
  let body: Json
  try {
    body = parseJson(bytes, verbatim) as Json
  } catch {
    throw new GatewayError('upstream', 'The upstream sent an invalid answer.', {
      cause: `${binding.target.name}: the body is not JSON`,
    })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError('upstream', 'The upstream sent an invalid answer.', {
      cause: `${binding.target.name}: the body is not an object`,
    })
  // Some upstreams report an error with status 200.
  if ('error' in body && binding.to.stream?.fail?.read(body)) throw errorFrom(binding.to.error.read(body, undefined), 502, binding)
  return body
}
