// Answers that the gateway keeps in its store, so that a later request can continue them or refer to their items. A
// dialect's `keep` rule defines how; the store holds texts, and only requests that refer to some ask for them.

import { GatewayError, unknownId } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt, valueAt } from '../core/members.js'
import { storable } from '../core/text.js'
import type { Body, Dialect, Json, KeepRule } from '../plan.js'
import type { KeptAnswer, Key, Route, Snapshot, Store } from '../snapshot/model.js'
import { releaseDigits } from '../wire/json/digits.js'
import { holdsAny } from '../wire/json/markers.js'
import type { Attempt } from './attempt.js'
import { type Choice, taskOf } from './choose.js'
import { limit } from './limit.js'
import { type Input, inputOf, saidAt, withoutBody } from './read.js'

/** The longest answer, with what its request added, that is kept: characters. */
const MOST_KEPT = 24 * 1024 * 1024
/** Kept items that one request may refer to. */
const MOST_REFERENCES = 1_000

/** Characters of an id under which something is kept: an index of Postgres holds no text of any length. */
const LONGEST_KEPT_ID = 512

/** Whether anything can be kept under an id. The store is not asked for any other: some stores refuse the question. */
function isKeptId(id: unknown): id is string {
  return typeof id === 'string' && id.length <= LONGEST_KEPT_ID && storable(id) === id
}

/** The request with all kept items that it refers to. Throws `not_found` for an unknown answer. */
export function restore(
  keep: KeepRule,
  input: Input,
  choice: Choice,
  route: Route,
  exchange: Exchange,
  snapshot: Snapshot,
): Input | Promise<Input> {
  if (keep.when?.(input.outline)) input.turn = { previous: undefined, own: input }
  // A provider that keeps answers resolves the reference itself.
  const given = choice.task === undefined ? saidAt({ from: 'body', path: keep.previous }, input, undefined) : undefined
  const previous = typeof given === 'string' && given !== '' ? given : undefined
  if (previous === undefined && !refersIn(keep, input)) return input
  if (input.turn) input.turn.previous = previous
  return restored({ keep, previous, input, choice, route, exchange, snapshot, store: snapshot.store as Store })
}

function refersIn({ markers }: KeepRule, { probeBytes }: Input): boolean {
  return holdsAny(probeBytes, markers)
}

interface Restoring {
  keep: KeepRule
  previous: string | undefined
  input: Input
  choice: Choice
  route: Route
  exchange: Exchange
  snapshot: Snapshot
  store: Store
}

async function restored(restoring: Restoring): Promise<Input> {
  const { keep, previous, input, route, exchange, snapshot, store } = restoring
  let { body } = input
  if (previous !== undefined) {
    if (!isKeptId(previous)) throw unknownId(route, previous)
    const turns = await store.ask('kept', { caller: exchange.log.key ?? '', id: previous })
    if (turns === null) throw tooLong(keep)
    if (turns.length === 0) throw unknownId(route, previous)
    exchange.hold(lengthOf(turns))
    const before = turns.flatMap(turn => [...(JSON.parse(turn.input) as Json[]), ...outputOf(keep, turn)])
    body = keep.continued(body, before) as Body
  }
  const items = await itemsOf(body, restoring)
  if (items !== undefined) body = keep.resolved(body, items) as Body
  else if (previous === undefined) return input
  const bytes = Buffer.from(releaseDigits(JSON.stringify(body)))
  if (bytes.length > route.limits.body) throw tooLong(keep)
  const whole = await inputOf(bytes, route, exchange, snapshot.plan.dialects[route.dialect] as Dialect)
  whole.turn = input.turn
  return whole
}

/** The kept items that a request refers to, by id; undefined if there are none. */
async function itemsOf(body: Body, { keep, choice, exchange, store }: Restoring): Promise<Record<string, Json> | undefined> {
  const ids = [...new Set(listOf(keep.references(body)).filter(id => typeof id === 'string'))] as string[]
  if (ids.length === 0) return undefined
  if (ids.length > MOST_REFERENCES)
    throw new GatewayError('invalid_request', `A request may refer to at most ${MOST_REFERENCES} items.`, { param: keep.previous[0] })
  // A provider that keeps answers has its own items, so their absence here is not an error.
  const isOurs = choice.bindings.some(binding => binding.keepsHere)
  const asked = store.ask('items', { caller: exchange.log.key ?? '', ids: ids.filter(isKeptId), isAwaited: isOurs })
  const answers = await (isOurs ? asked : asked.catch(() => []))
  if (answers === null) throw tooLong(keep)
  exchange.hold(lengthOf(answers))
  const items: Record<string, Json> = Object.create(null)
  for (const answer of answers)
    for (const item of outputOf(keep, answer)) {
      const id = memberAt(item, [keep.itemId])
      if (typeof id === 'string') items[id] = item
    }
  const missing = ids.find(id => items[id] === undefined)
  if (missing !== undefined && choice.bindings.every(binding => binding.keepsHere)) throw unknownItem(missing)
  return answers.length === 0 ? undefined : items
}

function unknownItem(id: string): GatewayError {
  return new GatewayError('not_found', `No kept item of yours has the id '${id}'.`, { code: 'not_found' })
}

/** A short request may refer to a long conversation: its memory counts like that of a body which holds all of it. */
function lengthOf(answers: readonly KeptAnswer[]): number {
  return answers.reduce((sum, { input, answer }) => sum + input.length + answer.length, 0)
}

function outputOf(keep: KeepRule, { answer }: KeptAnswer): Json[] {
  return listOf(keep.output(JSON.parse(answer)))
}

function listOf(value: Json): Json[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
}

function tooLong(keep: KeepRule): GatewayError {
  return new GatewayError('too_large', 'The conversation that this request continues is too long.', { param: keep.previous.at(-1) })
}

/** A function that keeps an answer; undefined if the answer is not to be kept here, or no client gets it. */
export function keeperOf({ binding, input, exchange, snapshot }: Attempt): ((answer: Json) => void) | undefined {
  const { turn } = input
  const { keep } = binding.from
  const { store } = snapshot
  if (turn === undefined || keep === undefined || store === undefined || !binding.keepsHere || exchange.log.isMirror) return undefined
  return answer => {
    const id = memberAt(answer, [keep.id])
    if (!isKeptId(id)) return
    const items = listOf(keep.output(answer))
      .map(item => memberAt(item, [keep.itemId]))
      .filter(isKeptId)
    const input = releaseDigits(JSON.stringify(listOf(keep.items(turn.own.body))))
    const text = JSON.stringify(answer)
    if (input.length + text.length > MOST_KEPT) return
    const kept = { caller: exchange.log.key ?? '', id, previous: turn.previous ?? null, items, input, answer: text }
    // The answer is kept before the client gets it, so that a request which continues it finds it. If the store is away,
    // the answer is not kept and the client gets it all the same; the control process logs that.
    store.ask('keep', kept).catch(() => undefined)
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

function refusedOf(refused: Json): GatewayError {
  const text = (name: string): string | undefined => memberAt(refused, [name])?.toString()
  return new GatewayError('invalid_request', text('message') ?? 'Invalid request.', { param: text('param'), code: text('code') })
}
