// Estimates the usage of an answer that reports none, such as a transcript as text, from its length and its end.

import { mergeUsage, readUsage } from '../core/usage.js'
import type { AnswerSize, Json, RawUsage } from '../plan.js'
import type { Attempt } from './attempt.js'

/** Bytes of the end of an answer that an estimate may look at. */
const END = 4096

/** Takes an answer piece by piece, and notes the estimate so far; undefined if its usage is not estimated, as without a store. */
export function estimator({ binding, exchange: { log }, snapshot }: Attempt): ((chunk: Buffer) => void) | undefined {
  const { estimated } = binding.to
  if (estimated === undefined || snapshot.store === undefined || snapshot.budgets.partial === 'none') return undefined
  const read = (size: Json): RawUsage | undefined => estimated(size as AnswerSize)
  let length = 0
  let end: Buffer = Buffer.alloc(0)
  return chunk => {
    length += chunk.length
    // A copy: a piece may be a part of a larger buffer.
    end = Buffer.concat([end, chunk.subarray(-END)]).subarray(-END)
    const usage = mergeUsage(log.usage, readUsage(read, { length, end: end.toString() }))
    if (usage === undefined) return
    log.usage = usage
    log.isEstimated = true
  }
}
