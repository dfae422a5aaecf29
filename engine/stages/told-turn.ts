// Tells in an answer what its request continues: a provider that got that as ordinary input does not know it, and a client may go on
// from what the answer says.

import { isObject, memberAt } from '../core/members.js'
import type { Json } from '../plan.js'
import { jsonOr } from '../wire/json/parse.js'
import type { Attempt } from './attempt.js'
import { replaced } from './replaced.js'
import { blockWith, type Rewriter } from './rewriter.js'

/** Undefined if the request continues nothing that is kept here, or a mapping tells it. */
export function toldTurnOf({ binding, input: { turn } }: Attempt): Rewriter | undefined {
  const rule = binding.from.keep?.told
  if (turn === undefined || rule === undefined || (binding.mapping && turn.isReferable)) return undefined
  const { previous = null, conversation = null } = turn
  if (previous === null && conversation === null) return undefined
  const members = Object.entries(rule.members({ previous, conversation }) as Record<string, Json>).filter(([, value]) => value !== null)
  const told = (text: string, paths: readonly (readonly string[])[]): string => {
    const body = jsonOr(text, undefined)
    const path = paths.find(one => isObject(memberAt(body, one)))
    if (path === undefined || !isObject(body)) return text
    const values = members.map(([name, value]) => [[...path, name].join('.'), value] as const)
    return replaced(Buffer.from(text), body, values).toString()
  }
  const event = (text: string): string => (rule.events.some(([name]) => text.includes(`"${name}"`)) ? told(text, rule.events) : text)
  return {
    whole: text => told(text, [[]]),
    event,
    block: text => blockWith(text, event),
  }
}
