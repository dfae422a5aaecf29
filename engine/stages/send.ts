// Calls the targets of a request until one of them answers well; collected answers are judged here, too.

import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Context, Json } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import { ask, refusalIn } from '../upstream/ask.js'
import { collect, type UpstreamResponse } from '../upstream/call.js'
import { fetchAll } from '../upstream/fetch-media.js'
import { framings } from '../wire/framing.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { clientBody, clientBytes } from './client-body.js'
import { failover } from './failover.js'
import { fanOut } from './fan-out.js'
import { followLocation } from './follow-location.js'
import { hedge } from './hedge.js'
import { checkServed } from './lost-fields.js'
import { forMapping } from './read.js'
import { BODY_LIMIT, readAnswer, translatable, understood, withinLimit } from './read-answer.js'
import { contextOf, type Rendered, render } from './render.js'
import { firstEvents } from './stream/first-events.js'

/** An upstream's answer, as far as it has been read. */
export type Outcome = { attempt: Attempt; rendered: Rendered } & (
  | { kind: 'stream'; response: UpstreamResponse /** Events that were read to see that it begins well. */; first: Buffer | undefined }
  | { kind: 'bytes'; response: UpstreamResponse }
  /** A whole JSON body; `body` is the part that the engine needs, and `text` is the client's. */
  | { kind: 'whole'; response: UpstreamResponse; body: Json; text: Buffer | string }
  /** The client's answer, joined from the answers of several calls. */
  | { kind: 'joined'; text: string }
)

/** The first good answer of the bindings, in order. */
export function send(request: ClientRequest): Promise<Outcome> {
  const { bindings, model } = request.choice
  // A form that has been sent cannot be sent again.
  if (model?.hedgeAfter !== undefined && bindings.length > 1 && !request.input.form)
    return hedge(request, bindings, model.hedgeAfter, askBetter)
  return failover(request, bindings, askBetter)
}

/** The binding that the model's facts prefer to the usual one for a request, by what it asks for. */
export function betterFor({ binding, input }: Pick<Attempt, 'binding' | 'input'>): Binding | undefined {
  return binding.preferred?.find(({ asks }) => asks.every(asked => asked(input.outline)))?.binding
}

function askBetter(usual: Attempt): Promise<Outcome> {
  const better = betterFor(usual)
  return better ? askTranslated({ ...usual, binding: better }, usual) : askOne(usual)
}

function askOne(attempt: Attempt): Promise<Outcome> {
  return attempt.binding.mapping ? askTranslated(attempt) : askDirectly(attempt)
}

const NONE: readonly string[] = Object.freeze([])

/** Client and provider speak the same dialect: bytes pass. */
async function askDirectly(attempt: Attempt): Promise<Outcome> {
  const { binding, input, limits, exchange } = attempt
  const rendered = render(attempt, contextOf(attempt), NONE)
  input.forget?.()
  const response = await ask(binding, rendered.request, limits, exchange)
  const refusal = refusalIn(response, binding, rendered.request.hides)
  if (refusal) throw await refusal
  const kind = kindOf(response, attempt)
  if (kind === 'stream') return { kind, attempt, rendered, response, first: await firstEvents(response, binding) }
  if (kind === 'bytes') return { kind, attempt, rendered, response }
  response.startIdle()
  const bytes = withinLimit(await collect(response, BODY_LIMIT))
  const body = understood(() => readAnswer(bytes, binding))
  const { vectors } = binding.from
  const text = vectors ? understood(() => clientBytes(bytes, vectors, attempt)) : bytes
  return { kind, attempt, rendered, response, body, text }
}

/**
 * Translates the request and its answer with a mapping. A request that this binding's dialect cannot express goes to the
 * `usual` attempt, if there is one.
 */
async function askTranslated(asked: Attempt, usual?: Attempt): Promise<Outcome> {
  let attempt: Attempt
  let ctx: Context
  let unnamed: readonly string[]
  try {
    attempt = { ...asked, input: await forMapping(asked.input, asked.route, asked.binding.from) }
    ctx = contextOf(attempt)
    const { binding, input } = attempt
    if (binding.next && binding.mapping?.refused?.(input.body, ctx)) {
      const { form, ...whole } = input
      return askOne({ ...attempt, binding: binding.next, input: form ? whole : input })
    }
    unnamed = checkServed(attempt, ctx)
  } catch (error) {
    if (usual === undefined || asGatewayError(error).kind !== 'invalid_request') throw error
    return askOne(usual)
  }
  const { binding, input, limits, exchange, snapshot } = attempt
  const { mapping } = binding
  const urls = mapping?.fetch?.(input.body, ctx)
  if (Array.isArray(urls) && urls.length > 0) ctx.fetched = await fetchAll(urls, exchange, snapshot.mayFetchPrivate)
  const others = mapping?.fetchMore?.(input.body, ctx)
  if (Array.isArray(others) && others.length > 0)
    ctx.fetched = { ...ctx.fetched, ...(await fetchAll(others, exchange, snapshot.mayFetchPrivate)) }
  const parts = mapping?.split?.(input.body, ctx)
  if (Array.isArray(parts) && parts.length > 1) {
    const { rendered, body } = await fanOut(attempt, parts, ctx, unnamed)
    return { kind: 'joined', attempt, rendered, text: understood(() => clientBody(body(), attempt)) }
  }
  if (input.stream && !mapping?.stream) throw new GatewayError('not_implemented', 'This model cannot stream on this route.')
  const rendered = render(attempt, ctx, unnamed)
  input.forget?.()
  const { carry } = rendered
  const response = await ask(binding, rendered.request, limits, exchange)
  const refusal = refusalIn(response, binding, rendered.request.hides)
  if (refusal) throw await refusal
  const kind = kindOf(response, attempt)
  if (kind === 'stream') return { kind, attempt, rendered, response, first: await firstEvents(response, binding) }
  if (kind === 'bytes') return { kind, attempt, rendered, response }
  response.startIdle()
  const bytes = withinLimit(await collect(response, BODY_LIMIT))
  const body = understood(() => translatable(readAnswer(bytes, binding), binding, ctx, carry))
  const location = understood(() => mapping?.location?.(body, ctx, carry))
  if (location !== undefined) return { kind: 'bytes', attempt, rendered, response: await followLocation(location, attempt) }
  const text = understood(() => clientBody(mapping?.response?.(body, ctx, carry), attempt))
  return { kind, attempt, rendered, response, body, text }
}

/** Streams and bytes are passed on as they arrive; a whole JSON answer is collected. */
function kindOf(upstream: UpstreamResponse, { binding, input }: Attempt): 'stream' | 'bytes' | 'whole' {
  const { stream, response } = binding.to
  if (stream?.isOptional ? framings[stream.framing].isStream(typeOf(upstream)) : input.stream) return 'stream'
  return response === 'bytes' && typeOf(upstream) !== JSON_TYPE ? 'bytes' : 'whole'
}

const JSON_TYPE = 'application/json'

function typeOf(response: UpstreamResponse): string {
  const type = response.header('content-type')
  if (type === undefined || type === JSON_TYPE) return type ?? ''
  return (type.split(';')[0] as string).trim().toLowerCase()
}
