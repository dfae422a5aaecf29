// A list of everything in several accounts: one account after the other, in the order of the configuration. What ends a page
// leads to the account that goes on. If one account cannot be read there is no list, because it would lack what is there.

import type { Json, ListMembers } from '../plan.js'
import { keepDigits, releaseDigits } from '../wire/json/digits.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { failover } from './failover.js'
import type { Outcome } from './outcome.js'
import { understood } from './read-answer.js'
import { idSealerOf } from './seal-ids.js'

/** One page, whose ids are sealed. Rejects with the failure of the first account that has none. */
export async function joinLists(
  request: ClientRequest,
  members: ListMembers,
  send: (attempt: Attempt) => Promise<Outcome>,
): Promise<Outcome> {
  const { choice, exchange, route } = request
  const { bindings } = choice
  const asked = choice.query ?? exchange.query
  const most = /^\d+$/.test(asked[members.limit] ?? '') ? Number(asked[members.limit]) : Number.POSITIVE_INFINITY
  const items: Json[] = []
  let page: Record<string, Json> = {}
  let last: Outcome | undefined
  let isMore = false
  for (const [at, binding] of bindings.entries()) {
    const query = at === 0 ? asked : queryOfNext(asked, route.sealedIds?.query, members.limit, most - items.length)
    last = await failover({ ...request, choice: { ...choice, bindings: [binding], query } }, [binding], send)
    page = pageOf(last, members.items)
    for (const item of page[members.items] as Json[]) items.push(item)
    const goesOn = page[members.more] === true
    isMore = goesOn || at < bindings.length - 1
    if (goesOn || items.length >= most) break
  }
  const { attempt, rendered } = last as Outcome
  const ends = (at: number): Json => (items.at(at) as Record<string, Json> | undefined)?.[members.id] ?? null
  const whole = {
    ...page,
    [members.items]: items,
    [members.first]: ends(0),
    [members.last]: ends(-1),
    [members.more]: isMore,
  }
  return { kind: 'joined', attempt, rendered, text: releaseDigits(JSON.stringify(whole)), isSealed: true }
}

/** The next account begins at its beginning, with what is still missing of the page. */
function queryOfNext(
  asked: Readonly<Record<string, string>>,
  cursors: readonly string[] | undefined,
  limit: string,
  left: number,
): Record<string, string> {
  const query = Object.fromEntries(Object.entries(asked).filter(([name]) => !cursors?.includes(name)))
  return left === Number.POSITIVE_INFINITY ? query : { ...query, [limit]: String(left) }
}

/** The page of an account, for the caller. Throws `upstream` if it has no list. */
function pageOf(outcome: Outcome, list: string): Record<string, Json> {
  return understood(() => {
    if (outcome.kind !== 'whole') throw new Error('the answer is no list')
    const text = outcome.text.toString()
    outcome.attempt.binding.target.health.succeed()
    const page = JSON.parse(keepDigits(idSealerOf(outcome.attempt)?.whole(text) ?? text)) as Record<string, Json>
    if (!Array.isArray(page[list])) throw new Error('the answer has no list')
    return page
  })
}
