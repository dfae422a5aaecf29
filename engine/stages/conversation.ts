// Conversations that the gateway keeps in its store. A conversation is a row of its own behind its turns: its text is what the
// routes keep about it, and an answer that belongs to it becomes its last turn.

import { GatewayError, unknownId } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import type { Body, Json, KeepRule } from '../plan.js'
import type { KeptAnswer, Key, NewAnswer, Route, Snapshot, Store } from '../snapshot/model.js'
import { conversationId, isFull, isKeptId, lengthOf, listOf, MOST_KEPT, outputOf, refusedOf, tooLong } from './kept-items.js'
import { referredItems } from './kept-references.js'
import { limit } from './limit.js'
import { type Input, withoutBody } from './read.js'

interface Conversation {
  /** What the routes keep about it, as JSON text. */
  text: string
  about: Json
  turns: readonly KeptAnswer[]
  /** Its items, as its dialect lists them. */
  items: Json[]
}

/** How often a change is tried again that others cross. */
const MOST_TRIES = 20

export function unknownConversation(id: string): GatewayError {
  return new GatewayError('not_found', `Conversation with id '${id.slice(0, 100)}' not found.`, { code: 'not_found' })
}

/** A conversation with its items; undefined if there is none. `param` is the member that names it. */
export async function conversationWith(
  id: string,
  keep: KeepRule,
  param: string | undefined,
  exchange: Exchange,
  store: Store,
): Promise<Conversation | undefined> {
  // The last turn may have made it longer than one may be that is continued.
  const asked = { caller: exchange.log.key ?? '', id: conversationId(id), isOverfull: true }
  const rows = isKeptId(id) ? await store.ask('kept', asked) : []
  if (rows === null) throw tooLong(param)
  const own = rows.at(-1)
  if (own === undefined) return undefined
  exchange.hold(lengthOf(rows))
  const about: Json = JSON.parse(own.answer)
  const turns = rows.slice(0, -1)
  const said = turns.map(turn => ({ id: turn.id, input: JSON.parse(turn.input) as Json, output: outputOf(keep, turn) }))
  return { text: own.answer, about, turns, items: listOf(keep.conversation?.items({ about, turns: said })) }
}

/** The same without its items: its turns are not read. */
async function conversationAlone(id: string, exchange: Exchange, store: Store): Promise<Conversation | undefined> {
  const own = isKeptId(id) ? await store.ask('look', { caller: exchange.log.key ?? '', id: conversationId(id) }) : null
  return own === null ? undefined : { text: own.answer, about: JSON.parse(own.answer), turns: [], items: [] }
}

/** Answers a request about a conversation, and does what it asks for. */
export async function answerConversation(
  route: Route,
  input: Input,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<void> {
  const { store } = snapshot
  const { keep, follow, conversation: rule } = route
  if (store === undefined || keep === undefined || rule === undefined)
    throw new GatewayError('not_implemented', 'This gateway keeps no conversations.')
  input.settle?.()
  if (snapshot.hasLimits()) await limit(route, withoutBody(), key, undefined, exchange, snapshot)
  const caller = exchange.log.key ?? ''
  const param = follow?.path.at(-1)
  const id = follow === undefined ? `${rule.prefix ?? ''}${exchange.id}` : (exchange.params[follow.path[0] as string] as string)
  const row = conversationId(id)
  const next = conversationId(exchange.id)
  const find = async (): Promise<Conversation> => {
    if (follow === undefined) return { text: '', about: null, turns: [], items: [] }
    const found = rule.needsItems ? await conversationWith(id, keep, param, exchange, store) : await conversationAlone(id, exchange, store)
    if (found === undefined) throw unknownId(route, id)
    return found
  }
  /** Whether it took place; otherwise another request has changed the conversation since it was read. */
  const write = async (told: Json, { text: was, turns }: Conversation): Promise<boolean> => {
    const about = memberAt(told, ['about'])
    const items = listOf(memberAt(told, ['items']))
    const [to, added] = [JSON.stringify(about), JSON.stringify(items)]
    const put = async (kept: Pick<NewAnswer, 'id' | 'conversation' | 'input' | 'answer'>): Promise<void> => {
      const isShort = kept.input.length + kept.answer.length <= MOST_KEPT
      if (!isShort || !(await store.ask('keep', { caller, previous: null, items: [], ...kept }))) throw tooLong(param)
    }
    if (items.length > 0 && isFull(turns, added.length)) throw tooLong(param)
    if (follow === undefined) await put({ id: row, conversation: null, input: '[]', answer: to })
    else if (about !== undefined && !(await store.ask('change', { caller, id: row, from: was, to }))) return false
    if (items.length > 0) await put({ id: next, conversation: row, input: added, answer: '{}' })
    if (memberAt(told, ['removed']) === true) await store.ask('remove', { caller, id: row })
    return true
  }
  // What it refers to may be removed, and the conversation stays.
  const referred = await referredItems(input.body, keep, 'here', exchange, store)
  const body = referred === undefined ? input.body : (keep.resolved(input.body, referred) as Body)
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const found = await find()
    const { about, items } = found
    const now = Math.floor(Date.now() / 1000)
    const { query, params: path } = exchange
    const told = rule.answer({ conversation: { id, about, items, next }, body, query, path, now })
    const said = memberAt(told, ['body'])
    if (said === undefined) throw refusedOf(memberAt(told, ['refused']))
    if (!(await write(told, found))) continue
    exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(said))
    return
  }
  throw new GatewayError('conflict', 'Others are changing this conversation: try again.', { retryAfter: '1' })
}
