// Estimates the usage of an answer that reports none, such as a transcript as text, from its length, its end and its request.

import { hasRare, markRare } from '../core/meters.js'
import { askedUsage, mergeUsage, readUsage } from '../core/usage.js'
import type { AnswerSize, Json, RawUsage, Usage } from '../plan.js'
import type { Attempt } from './attempt.js'

/** Bytes of the end of an answer that an estimate may look at. */
const END = 4096

/**
 * Takes an answer piece by piece, and notes the estimate so far. Undefined if its usage is not estimated, as without a store, or
 * need not be: what has been reported is enough, unless the price is for something else.
 */
export function estimator({ binding, exchange, input, snapshot }: Attempt): ((chunk: Buffer) => void) | undefined {
  const { estimated } = binding.to
  const { log, startedAt } = exchange
  const { usage: told, price } = log
  if (estimated === undefined || snapshot.store === undefined || snapshot.budgets.partial === 'none') return undefined
  if (told !== undefined && (price === undefined || price(told, startedAt) !== undefined)) return undefined
  const asked = askedUsage(binding.from, input)
  const read = (size: Json): RawUsage | undefined => estimated(size as AnswerSize)
  let length = 0
  let end: Buffer = Buffer.alloc(0)
  return chunk => {
    length += chunk.length
    // A copy: a piece may be a part of a larger buffer.
    end = Buffer.concat([end, chunk.subarray(-END)]).subarray(-END)
    const usage = mergeUsage(undefined, readUsage(read, { length, end: end.toString(), asked }))
    if (usage === undefined) return
    log.usage = told === undefined ? usage : completed(told, usage)
    log.isEstimated = true
  }
}

/** The reported figures, and estimates of the others. */
function completed(told: Usage, estimate: Usage): Usage {
  const all = { ...estimate, ...told }
  if (hasRare(told) || hasRare(estimate)) markRare(all)
  return all
}
