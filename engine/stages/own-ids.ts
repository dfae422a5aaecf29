// Gives an answer that is kept here, and its items, ids of the gateway's own: some providers use an id twice, and a later
// request would continue another answer.

import { memberAt, valuesAt } from '../core/members.js'
import type { Json } from '../plan.js'
import type { Attempt } from './attempt.js'
import type { Rewriter } from './rewriter.js'
import { replacer, textsAt } from './seal-ids.js'

/** Undefined if the answer is not kept here, or has the gateway's ids anyway. */
export function ownIdsOf({ binding, input, exchange, snapshot }: Attempt): Rewriter | undefined {
  const { keep } = binding.from
  const rule = keep?.ownIds
  if (input.turn === undefined || keep === undefined || rule === undefined) return undefined
  if (!snapshot.store || !binding.keepsHere || binding.mapping) return undefined
  const { answers, items, isOwn, members } = rule
  const idMembers = new Set(members)
  // The provider's id → ours.
  const names = new Map<string, string>()
  const learn = (id: unknown): void => {
    if (typeof id !== 'string' || id === '' || names.has(id)) return
    const [kind = ''] = /^[a-z]{1,16}[_-]/.exec(id) ?? []
    names.set(id, `${kind}${exchange.id.slice(-24)}${names.size === 0 ? '' : `_${names.size}`}`)
  }
  const learnAll = (text: string): void => {
    const value: Json = JSON.parse(text)
    for (const path of answers) for (const id of textsAt(value, path)) learn(id)
    for (const path of items)
      for (const item of valuesAt(value, path))
        if (typeof item === 'object' && item !== null && isOwn(item as Json)) learn(memberAt(item, [keep.itemId]))
  }
  return replacer((id, member) => (member !== undefined && idMembers.has(member) ? names.get(id) : undefined), learnAll, learnAll)
}
