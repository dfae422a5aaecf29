// A request for a provider of another dialect, and its whole answer, by a mapping. (Streams: stream/translate.ts.)

import { asGatewayError, GatewayError } from '../core/errors.js'
import { addUsage } from '../core/usage.js'
import type { Context } from '../plan.js'
import type { UpstreamResponse } from '../upstream/call.js'
import { fetchAll } from '../upstream/fetch-media.js'
import type { Attempt } from './attempt.js'
import { clientBody } from './client-body.js'
import { fanOut } from './fan-out.js'
import { followLocation } from './follow-location.js'
import { checkServed } from './lost-fields.js'
import type { Outcome } from './outcome.js'
import { forMapping } from './read.js'
import { bytesOf, readAnswer, translatable, understood } from './read-answer.js'
import { contextOf, type Rendered, render } from './render.js'

/** A request to send, another attempt to make in its place, or the outcome of several calls. */
type Translated = { attempt: Attempt; rendered: Rendered } | { instead: Attempt } | Outcome

/** A request that this binding's dialect cannot express goes to the `usual` attempt, if there is one. */
export async function translateRequest(asked: Attempt, usual?: Attempt): Promise<Translated> {
  let attempt: Attempt
  let ctx: Context
  let unnamed: readonly string[]
  try {
    attempt = { ...asked, input: await forMapping(asked) }
    ctx = contextOf(attempt)
    const { binding, input } = attempt
    if (binding.next && binding.mapping?.refused?.(input.body, ctx)) {
      const { form, ...whole } = input
      return { instead: { ...attempt, binding: binding.next, input: form ? whole : input } }
    }
    unnamed = checkServed(attempt, ctx)
  } catch (error) {
    if (usual === undefined || asGatewayError(error).kind !== 'invalid_request') throw error
    return { instead: usual }
  }
  const { binding, input, exchange, snapshot } = attempt
  const { mapping } = binding
  const urls = mapping?.fetch?.(input.body, ctx)
  if (Array.isArray(urls) && urls.length > 0) ctx.fetched = await fetchAll(urls, exchange, snapshot.mayFetchPrivate)
  const parts = mapping?.split?.(input.body, ctx)
  if (Array.isArray(parts) && parts.length === 0) return withoutCall(attempt, ctx)
  if (Array.isArray(parts) && parts.length > 1) {
    const { rendered, body } = await fanOut(attempt, parts, ctx, unnamed)
    return { kind: 'joined', attempt, rendered, text: understood(() => clientBody(body(), attempt)) }
  }
  if (input.stream && !mapping?.stream) throw new GatewayError('not_implemented', 'This model cannot stream on this route.')
  return { attempt, rendered: render(attempt, ctx, unnamed) }
}

/** The answer to a request of which nothing is left to send: it costs nothing. */
function withoutCall(attempt: Attempt, ctx: Context): Outcome {
  const { binding, input, exchange } = attempt
  const carry = binding.mapping?.carry?.(input.body, ctx)
  addUsage(exchange.log, { input: 0, output: 0 })
  const text = clientBody(binding.mapping?.join?.([], ctx, carry), attempt)
  return { kind: 'joined', attempt, rendered: { ctx, carry, isAsked: false, dropped: [] }, text, isUnasked: true }
}

/** The client's answer, made of the provider's whole one. Rejects with the failure that the answer reports. */
export async function translateAnswer(bytes: Buffer, response: UpstreamResponse, attempt: Attempt, rendered: Rendered): Promise<Outcome> {
  const { binding } = attempt
  const { mapping } = binding
  const { ctx, carry } = rendered
  const body = understood(() => translatable(readAnswer(bytes, binding), binding, ctx, carry))
  const location = understood(() => mapping?.location?.(body, ctx, carry))
  if (location !== undefined)
    return { kind: 'bytes', attempt, rendered, response: bytesOf(await followLocation(location, attempt), binding.from) }
  const text = understood(() => clientBody(mapping?.response?.(body, ctx, carry), attempt))
  return { kind: 'whole', attempt, rendered, response, body, text }
}
