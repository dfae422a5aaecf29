// Gives an answer in the client's own dialect the name that the client requested, if the provider was asked under another one: a
// client may take it for the answer of another model otherwise, and not send back what only the same model may read.

import { memberAt } from '../core/members.js'
import type { Body } from '../plan.js'
import { jsonOr } from '../wire/json/parse.js'
import type { Attempt } from './attempt.js'
import { replaced } from './replaced.js'
import { blockWith, type Rewriter } from './rewriter.js'

/** Undefined if the dialect's clients do not need it, or the provider was asked under the requested name. */
export function requestedNameOf({ binding, input }: Attempt): Rewriter | undefined {
  const { answerModel } = binding.from
  const requested = input.model
  if (answerModel === undefined || binding.mapping || requested === undefined || requested === binding.target.model) return undefined
  // A stream names the model once.
  let isDone = false
  const renamed = (text: string): string => {
    const body = jsonOr(text, undefined)
    const found = answerModel.find(path => typeof memberAt(body, path) === 'string')
    if (found === undefined) return text
    isDone = true
    return replaced(Buffer.from(text), body as Body, [[found.join('.'), requested]]).toString()
  }
  return {
    whole: renamed,
    event: text => (isDone ? text : renamed(text)),
    block: text => blockWith(text, renamed, () => isDone),
    isDone: () => isDone,
  }
}
