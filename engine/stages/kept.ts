// Answers that the gateway keeps in its store, so that a later request can continue them or refer to their items. A
// dialect's `keep` rule defines how; the store holds texts, and only requests that refer to some ask for them.

import { MOST_TEXT } from '../control/kept-bounds.js'
import { GatewayError, unknownId } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt, valueAt } from '../core/members.js'
import type { Body, Dialect, Json, KeepRule } from '../plan.js'
import type { Key, Route, Snapshot, Store } from '../snapshot/model.js'
import { releaseDigits } from '../wire/json/digits.js'
import { holdsAny } from '../wire/json/markers.js'
import type { Attempt } from './attempt.js'
import { type Choice, taskOf } from './choose.js'
import { conversationWith, unknownConversation } from './conversation.js'
import { conversationId, isFull, isKeptId, lengthOf, listOf, outputOf, refusedOf, tooLong } from './kept-items.js'
import { type Keeping, referredItems } from './kept-references.js'
import { limit } from './limit.js'
import { type Input, inputOf, saidAt, withoutBody } from './read.js'

/** The request with all kept items that it refers to. Throws `not_found` for an unknown answer. */
export function restore(
  keep: KeepRule,
  input: Input,
  choice: Choice,
  route: Route,
  exchange: Exchange,
  snapshot: Snapshot,
): Input | Promise<Input> {
  const conversation = conversationIn(keep, input)
  if (keep.when) {
    const isReferable = keep.when(input.outline)
    if (isReferable || conversation !== undefined) input.turn = { previous: undefined, conversation, isReferable, own: input }
  }
  const given = textSaid(keep.previous, input)
  if (given !== undefined && conversation !== undefined) throw both(keep)
  // A provider that keeps answers resolves the reference itself.
  const previous = choice.task === undefined ? given : undefined
  if (previous === undefined && conversation === undefined && !refersIn(keep, input)) return input
  if (input.turn) input.turn.previous = previous
  return restored({ keep, previous, conversation, input, choice, route, exchange, snapshot, store: snapshot.store as Store })
}

function both({ previous, conversation }: KeepRule): GatewayError {
  const [one, other] = [previous, conversation?.members[0] as readonly string[]].map(path => path.join('.'))
  return new GatewayError('invalid_request', `'${one}' and '${other}' exclude each other: give one of them.`, { param: one })
}

/** The id of the conversation that a request names. */
function conversationIn({ conversation }: KeepRule, input: Input): string | undefined {
  for (const path of conversation?.members ?? []) {
    const id = textSaid(path, input)
    if (id !== undefined) return id
  }
  return undefined
}

function textSaid(path: readonly string[], input: Input): string | undefined {
  const said = saidAt({ from: 'body', path }, input, undefined)
  return typeof said === 'string' && said !== '' ? said : undefined
}

function refersIn({ markers }: KeepRule, { probeBytes }: Input): boolean {
  return holdsAny(probeBytes, markers)
}

interface Restoring {
  keep: KeepRule
  previous: string | undefined
  conversation: string | undefined
  input: Input
  choice: Choice
  route: Route
  exchange: Exchange
  snapshot: Snapshot
  store: Store
}

async function restored(restoring: Restoring): Promise<Input> {
  const { keep, previous, conversation, input, choice, route, exchange, snapshot, store } = restoring
  const before =
    previous !== undefined
      ? await itemsUpTo(previous, restoring)
      : conversation !== undefined
        ? await itemsOfConversation(conversation, restoring)
        : undefined
  // The provider has the conversation, and appends the answer itself.
  if (conversation !== undefined && before === undefined) input.turn = undefined
  const continued = before === undefined ? input.body : (keep.continued(input.body, before) as Body)
  const items = await referredItems(continued, keep, keepingOf(choice), exchange, store)
  if (before === undefined && items === undefined) return input
  const body = items === undefined ? continued : keep.resolved(continued, items)
  const bytes = Buffer.from(releaseDigits(JSON.stringify(body)))
  if (bytes.length > route.limits.body) throw tooLong(conversation === undefined ? keep.previous.at(-1) : memberOf(keep))
  const whole = await inputOf(bytes, route, exchange, snapshot.plan.dialects[route.dialect] as Dialect)
  // What it refers to may be removed, and the conversation stays.
  const own = items && input.turn?.conversation !== undefined && { body: keep.resolved(input.body, items) as Body }
  whole.turn = input.turn && { ...input.turn, ...(own && { own }) }
  return whole
}

/** The member that names a conversation. */
const memberOf = ({ conversation }: KeepRule): string | undefined => conversation?.members[0]?.join('.')

function keepingOf({ bindings }: Choice): Keeping {
  if (bindings.every(binding => binding.keepsHere)) return 'here'
  return bindings.some(binding => binding.keepsHere) ? 'either' : 'elsewhere'
}

/** The items up to a kept answer. */
async function itemsUpTo(id: string, { keep, route, exchange, store }: Restoring): Promise<Json[]> {
  const turns = isKeptId(id) ? await store.ask('kept', { caller: exchange.log.key ?? '', id }) : []
  if (turns === null) throw tooLong(keep.previous.at(-1))
  if (turns.length === 0) throw unknownId(route, id)
  exchange.hold(lengthOf(turns))
  return turns.flatMap(turn => [...(JSON.parse(turn.input) as Json[]), ...outputOf(keep, turn)])
}

/** The items of a kept conversation; undefined if it is unknown here, but a provider may have it. */
async function itemsOfConversation(id: string, { keep, input, choice, exchange, store }: Restoring): Promise<Json[] | undefined> {
  const found = await conversationWith(id, keep, memberOf(keep), exchange, store)
  if (found !== undefined) {
    const refused = keep.conversation?.refuse?.(input.body, found.items)
    if (refused !== undefined) throw refusedOf(refused)
    if (isFull(found.turns, input.bytes.length)) throw tooLong(memberOf(keep))
    return found.items.filter(one => memberAt(one, ['is_removed']) !== true).map(one => memberAt(one, ['item']) as Json)
  }
  if (choice.bindings.every(binding => binding.keepsHere)) throw unknownConversation(id)
  return undefined
}

/** Keeps an answer. If it becomes part of a conversation, its end waits for that, and fails if it cannot. */
export type Keep = (answer: Json) => Promise<void> | undefined

/** Undefined if the answer is not to be kept here, or no client gets it. */
export function keeperOf({ binding, input, exchange, snapshot }: Attempt): Keep | undefined {
  const { turn } = input
  const { keep } = binding.from
  const { store } = snapshot
  if (turn === undefined || keep === undefined || store === undefined || exchange.log.isMirror) return undefined
  const isReferable = turn.isReferable && binding.keepsHere
  const conversation = turn.conversation === undefined ? null : conversationId(turn.conversation)
  if (!isReferable && conversation === null) return undefined
  return answer => {
    const own = memberAt(answer, [keep.id])
    // A conversation has all turns, also those that clients cannot refer to.
    const id = isKeptId(own) && isReferable ? own : conversation === null ? undefined : conversationId(exchange.id)
    if (id === undefined) return undefined
    const items = listOf(keep.output(answer))
      .map(item => memberAt(item, [keep.itemId]))
      .filter(isKeptId)
    const input = releaseDigits(JSON.stringify(listOf(keep.items(turn.own.body))))
    const text = JSON.stringify(answer)
    const isShort = input.length + text.length <= MOST_TEXT
    const kept = { caller: exchange.log.key ?? '', id, previous: turn.previous ?? null, conversation, items, input, answer: text }
    const written = isShort ? store.ask('keep', kept) : Promise.resolve(false)
    // The next request of the conversation names no answer that it could wait for, and the model would have forgotten this one.
    if (conversation !== null) return written.then(isKept => (isKept ? undefined : Promise.reject(tooLong(memberOf(keep)))))
    // The answer is kept before the client gets it, so that a request which continues it finds it. If the store is away,
    // the answer is not kept and the client gets it all the same; the control process logs that.
    written.catch(() => undefined)
    return undefined
  }
}

/** Answers a request about a kept answer; false if there is none with its id. */
export async function answerKept(route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): Promise<boolean> {
  const { follow, kept } = route
  const id = follow && valueAt(follow, {}, exchange)
  if (kept === undefined || !isKeptId(id) || taskOf(id, route, exchange.log.key, snapshot) !== undefined) return false
  const caller = exchange.log.key ?? ''
  const store = snapshot.store as Store
  if (snapshot.hasLimits()) await limit(route, withoutBody(), key, undefined, exchange, snapshot)
  const found = await store.ask('look', { caller, id })
  if (found === null) return false
  exchange.hold(lengthOf([found]))
  const view = { kept: { id, answer: JSON.parse(found.answer), input: JSON.parse(found.input) }, query: exchange.query }
  const told = kept.answer(view)
  const body = memberAt(told, ['body'])
  if (body === undefined) throw refusedOf(memberAt(told, ['refused']))
  if (kept.isRemoved) await store.ask('remove', { caller, id })
  exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(body))
  return true
}
