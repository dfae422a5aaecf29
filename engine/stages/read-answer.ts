// Parses a provider's whole answer. One that cannot be understood is the upstream's failure. It is found before anything is
// sent to the client, so that the next target can be tried.

import { GatewayError } from '../core/errors.js'
import { mediaTypeOf } from '../core/media-type.js'
import type { Context, Dialect, Json } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import type { UpstreamResponse } from '../upstream/call.js'
import { errorFrom, failureFrom } from '../upstream/refusal.js'
import { jsonOr, parseJson } from '../wire/json/parse.js'
import { reshape } from '../wire/json/vectors.js'
import { parseBlock } from '../wire/sse.js'
import { failureOf, failureOfError } from './stream/event-watch.js'

/** Runs a reader of an upstream's answer. An error that it throws is the upstream's fault, not the gateway's. */
export function understood<Result>(look: () => Result): Result {
  try {
    return look()
  } catch (error) {
    if (error instanceof GatewayError) throw error
    throw new GatewayError('upstream', 'The upstream sent an invalid answer.', { cause: error })
  }
}

/** An answer that passes as bytes. Throws if its type shows that it is none. */
export function bytesOf(response: UpstreamResponse, { noAnswer }: Dialect): UpstreamResponse {
  if (response.status >= 300 || !noAnswer?.includes(mediaTypeOf(response.header('content-type')))) return response
  response.cancel()
  throw isNoAnswer()
}

/** A whole answer that passes, or an object for `translatable`. Throws if it is no JSON of an answer, or reports a failure. */
export function readAnswer(bytes: Buffer, binding: Binding): Json {
  return understood(() => {
    const { vectors, verbatim } = binding.to
    const isTranslated = binding.mapping !== undefined
    // Mappings see numbers, whatever encoding the provider used.
    const body = parse(
      isTranslated && vectors ? reshape(bytes, vectors.path, false).bytes : bytes,
      isTranslated ? verbatim?.response : undefined,
      binding,
    )
    if (!isAnswer(body, binding)) {
      const said = errorIn(body, binding)
      if (said) throw said
      // A mapping may say better why a body is no answer.
      if (!isTranslated) throw isNoAnswer()
    }
    return body
  })
}

/** The answer for a mapping. Throws if it reports a failure, or is not a valid answer. */
export function translatable(body: Json, binding: Binding, ctx: Context, carry: Json): Json {
  const failure = failureFrom(binding.mapping?.failure?.(body, ctx, carry), binding)
  if (failure) throw failure
  if (!isAnswer(body, binding)) throw isNoAnswer()
  return binding.to.normaliseResponse ? binding.to.normaliseResponse(body) : body
}

const isAnswer = (body: Json, { to: { answer } }: Binding): boolean => answer === undefined || Boolean(answer.isOne(body))

/** The error that a body reports which is no answer: some upstreams report it with status 200, and have no member for it. */
export function errorIn(body: Json, binding: Binding): GatewayError | undefined {
  const read = binding.to.error.read(body, undefined)
  return typeof read?.message === 'string' ? errorFrom(read, 502, binding) : undefined
}

/** The error in a body that is a stream of events, which nobody asked for: what it reports, or that it is one. */
function errorInEvents(bytes: Buffer, binding: Binding): GatewayError | undefined {
  let reported: GatewayError | undefined
  let isStream = false
  parseBlock(bytes, (data, isError) => {
    const event: Json = jsonOr(data, undefined)
    const isObject = typeof event === 'object' && event !== null
    isStream ||= isObject
    reported = isError ? failureOfError(data, binding) : isObject ? failureOf(event, data, binding) : undefined
    return reported !== undefined
  })
  return reported ?? (isStream ? new GatewayError('upstream', 'The upstream sent a stream, but a whole answer was asked for.') : undefined)
}

const isNoAnswer = (): GatewayError => new GatewayError('upstream', 'The upstream sent something that is no answer.')

function parse(bytes: Buffer, verbatim: readonly (readonly string[])[] | undefined, binding: Binding): Json {
  let body: Json
  try {
    body = parseJson(bytes, verbatim) as Json
  } catch {
    throw (
      errorInEvents(bytes, binding) ??
      new GatewayError('upstream', 'The upstream sent an invalid answer.', {
        cause: `${binding.target.name}: the body is not JSON`,
      })
    )
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError('upstream', 'The upstream sent an invalid answer.', {
      cause: `${binding.target.name}: the body is not an object`,
    })
  // Some upstreams report an error with status 200.
  if ('error' in body && binding.to.stream?.fail?.read(body)) throw errorFrom(binding.to.error.read(body, undefined), 502, binding)
  return body
}
