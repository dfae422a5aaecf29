// Conversations that the gateway keeps in its store. A conversation is a row of its own behind its turns: its text is what the
// routes keep about it, and an answer that belongs to it becomes its last turn.

import { MOST_TEXT } from '../control/kept-bounds.js'
import { GatewayError, unknownId } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import type { Body, Json, KeepRule } from '../plan.js'
import type { KeptAnswer, Key, NewAnswer, Route, Snapshot, Store } from '../snapshot/model.js'
import { conversationId, isFull, isKeptId, lengthOf, listOf, outputOf, refusedOf, tooLong } from './kept-items.js'
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

/** A request about a conversation: the one that its path names, or a new one. */
interface Question {
  keep: KeepRule
  rule: NonNullable<Route['conversation']>
  id: string
  /** The member of the path that names it; undefined: the request makes one. */
  param: string | undefined
  /** The id in the store of what the request adds. */
  next: string
  input: Body
  route: Route
  exchange: Exchange
  store: Store
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
  const param = follow?.path[0]
  const id = param === undefined ? `${rule.prefix ?? ''}${exchange.id}` : (exchange.params[param] as string)
  // What it refers to may be removed, and the conversation stays.
  const referred = await referredItems(input.body, keep, 'here', exchange, store)
  const body = referred === undefined ? input.body : (keep.resolved(input.body, referred) as Body)
  const question = { keep, rule, id, param, next: conversationId(exchange.id), input: body, route, exchange, store }
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const found = await find(question)
    const told = answerTo(question, found)
    if (!(await change(question, found, told))) continue
    exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(memberAt(told, ['body'])))
    return
  }
  throw new GatewayError('conflict', 'Others are changing this conversation: try again.', { retryAfter: '1' })
}

async function find({ keep, rule, id, param, route, exchange, store }: Question): Promise<Conversation> {
  if (param === undefined) return { text: '', about: null, turns: [], items: [] }
  const found = rule.needsItems ? await conversationWith(id, keep, param, exchange, store) : await conversationAlone(id, exchange, store)
  if (found === undefined) throw unknownId(route, id)
  return found
}

/** What the route's expression says: `{ body, about, items, removed }`. Throws its refusal. */
function answerTo({ rule, id, next, input: body, exchange }: Question, { about, items }: Conversation): Json {
  const { query, params: path } = exchange
  const now = Math.floor(Date.now() / 1000)
  const told = rule.answer({ conversation: { id, about, items, next }, body, query, path, now })
  if (memberAt(told, ['body']) === undefined) throw refusedOf(memberAt(told, ['refused']))
  return told
}

/** Does what was said. Returns false if another request has changed the conversation since it was found. */
async function change(question: Question, found: Conversation, told: Json): Promise<boolean> {
  const { id, param, next, exchange, store } = question
  const caller = exchange.log.key ?? ''
  const row = conversationId(id)
  const about = memberAt(told, ['about'])
  const items = listOf(memberAt(told, ['items']))
  const [to, added] = [JSON.stringify(about), JSON.stringify(items)]
  if (items.length > 0 && isFull(found.turns, added.length)) throw tooLong(param)
  if (param === undefined) await put(question, { id: row, conversation: null, input: '[]', answer: to })
  else if (about !== undefined && !(await store.ask('change', { caller, id: row, from: found.text, to }))) return false
  if (items.length > 0) await put(question, { id: next, conversation: row, input: added, answer: '{}' })
  if (memberAt(told, ['removed']) === true) await store.ask('remove', { caller, id: row })
  return true
}

async function put({ param, exchange, store }: Question, kept: Pick<NewAnswer, 'id' | 'conversation' | 'input' | 'answer'>): Promise<void> {
  const isShort = kept.input.length + kept.answer.length <= MOST_TEXT
  const asked = { caller: exchange.log.key ?? '', previous: null, items: [], ...kept }
  if (!isShort || !(await store.ask('keep', asked))) throw tooLong(param)
}
