// Several calls for one request, if a provider takes one item at a time. Their answers are joined.

import { GatewayError } from '../core/errors.js'
import { addUsage, readUsage } from '../core/usage.js'
import type { Body, Context, Json, Mapping } from '../plan.js'
import { BODY_LIMIT, call, collect, withinLimit } from '../upstream/call.js'
import { checkRefusal } from '../upstream/refusal.js'
import { signed } from '../upstream/sign.js'
import type { Attempt } from './attempt.js'
import { readAnswer, translatable, understood } from './read-answer.js'
import { type Rendered, render } from './render.js'

const MOST_PARTS = 64
/** Calls that run at once. */
const WIDTH = 4

/** Sends each part; `body` joins the answers. Throws the first failure when the calls that run have ended. */
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
  const ask = async (index: number): Promise<void> => {
    const part = { ...attempt, input: { ...input, body: parts[index] as Body, outline: parts[index] as Body } }
    const id = `${ctx.id.slice(4)}${String(index).padStart(4, '0')}`
    const one = render(part, { ...ctx, id }, unnamed)
    rendered[index] = one
    const response = await call(signed(one.request, binding), limits, exchange)
    if (response.status >= 300) await checkRefusal(response, binding, one.request.hides)
    response.startIdle()
    const bytes = withinLimit(await collect(response, BODY_LIMIT))
    answers[index] = understood(() => {
      const body = translatable(readAnswer(bytes, binding), binding, one.ctx, one.carry)
      addUsage(exchange.log, readUsage(binding.to.usage, body))
      return mapping.response?.(body, one.ctx, one.carry)
    })
  }
  let hasFailed = false
  const work = async (): Promise<void> => {
    while (next < parts.length && !hasFailed) {
      try {
        await ask(next++)
      } catch (error) {
        // What would still be sent would be answered for nothing.
        hasFailed = true
        throw error
      }
    }
  }
  const results = await Promise.allSettled(Array.from({ length: Math.min(WIDTH, parts.length) }, work))
  const failed = results.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
  const carry = mapping.carry?.(input.body, ctx)
  return { rendered: rendered[0] as Rendered, body: () => mapping.join?.(answers, ctx, carry) }
}
