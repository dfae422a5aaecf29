// Items of kept answers that a request refers to by their ids.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import type { Body, Json, KeepRule } from '../plan.js'
import type { Store } from '../snapshot/model.js'
import { isKeptId, lengthOf, listOf, outputOf } from './kept-items.js'

/** Kept items that one request may refer to. */
const MOST_REFERENCES = 1_000

/** Where items may be kept: here alone, at a provider alone, or at either. */
export type Keeping = 'here' | 'elsewhere' | 'either'

/** The kept items that a request refers to, by id; undefined if there are none. Throws `not_found` for one that is nowhere. */
export async function referredItems(
  body: Body,
  keep: KeepRule,
  keeping: Keeping,
  exchange: Exchange,
  store: Store,
): Promise<Record<string, Json> | undefined> {
  const ids = [...new Set(listOf(keep.references(body)).filter(id => typeof id === 'string'))] as string[]
  if (ids.length === 0) return undefined
  if (ids.length > MOST_REFERENCES)
    throw new GatewayError('invalid_request', `A request may refer to at most ${MOST_REFERENCES} kept items.`)
  // A provider that keeps answers has its own items, so their absence here is not an error.
  const isOurs = keeping !== 'elsewhere'
  const asked = store.ask('items', { caller: exchange.log.key ?? '', ids: ids.filter(isKeptId), isAwaited: isOurs })
  const answers = await (isOurs ? asked : asked.catch(() => []))
  if (answers === null) throw new GatewayError('too_large', 'The kept items that this request refers to are too long.')
  exchange.hold(lengthOf(answers))
  const items: Record<string, Json> = Object.create(null)
  for (const answer of answers)
    for (const item of outputOf(keep, answer)) {
      const id = memberAt(item, [keep.itemId])
      if (typeof id === 'string') items[id] = item
    }
  const missing = ids.find(id => items[id] === undefined)
  if (missing !== undefined && keeping === 'here') throw unknownItem(missing)
  return answers.length === 0 ? undefined : items
}

function unknownItem(id: string): GatewayError {
  return new GatewayError('not_found', `No kept item of yours has the id '${id}'.`, { code: 'not_found' })
}
