// Several calls for one request, if a provider takes one item at a time. Their answers are joined.

import { GatewayError } from '../core/errors.js'
import { addUsage, readUsage } from '../core/usage.js'
import type { Body, Context, Json, Mapping } from '../plan.js'
import { ask, refusalIn } from '../upstream/ask.js'
import { collect } from '../upstream/call.js'
import type { Attempt } from './attempt.js'
import { BODY_LIMIT, readAnswer, translatable, understood, withinLimit } from './read-answer.js'
import { type Rendered, render } from './render.js'

const MOST_PARTS = 64
/** Calls that run at once. */
const WIDTH = 4

/** Sends each part; `body` joins the answers. Throws the first failure when all calls have ended. */
export async function fanOut(
  attempt: Attempt,
  parts: readonly Json[],
  ctx: Context,
  unnamed: readonly string[],
): Promise<{ rendered: Rendered; body: () => Json }> {
  const { binding, input, limits, exchange } = attempt
  if (parts.length > MOST_PARTS)
    throw new GatewayError(
      'invalid_request',
      `This model takes one item for each call: the request needs ${parts.length} calls, but at most ${MOST_PARTS} are allowed.`,
    )
  if (input.stream)
    throw new GatewayError('invalid_request', 'This model takes one item for each call, so its answers cannot be streamed.', {
      param: 'stream',
    })
  const mapping = binding.mapping as Mapping
  const answers: Json[] = new Array(parts.length)
  const rendered: Rendered[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < parts.length) {
      const index = next++
      const part = { ...attempt, input: { ...input, body: parts[index] as Body, outline: parts[index] as Body } }
      const id = `${ctx.id.slice(4)}${String(index).padStart(4, '0')}`
      const one = render(part, { ...ctx, id }, unnamed)
      rendered[index] = one
      const response = await ask(binding, one.request, limits, exchange)
      const refusal = refusalIn(response, binding, one.request.hides)
      if (refusal) throw await refusal
      response.startIdle()
      const bytes = withinLimit(await collect(response, BODY_LIMIT))
      answers[index] = understood(() => {
        const body = translatable(readAnswer(bytes, binding), binding, one.ctx, one.carry)
        addUsage(exchange.log, readUsage(binding.to.usage, body))
        return mapping.response?.(body, one.ctx, one.carry)
      })
    }
  }
  const results = await Promise.allSettled(Array.from({ length: Math.min(WIDTH, parts.length) }, work))
  const failed = results.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
  const carry = mapping.carry?.(input.body, ctx)
  return { rendered: rendered[0] as Rendered, body: () => mapping.join?.(answers, ctx, carry) }
}
