// What is done on the way of an exchange, where its route has something to be done: when its key is known, when its body was
// read, and when its answer is there.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Body, Dialect, Json } from '../plan.js'
import type { Moment } from '../snapshot/config.js'
import type { ExchangeView, Guards, Key, LinkedCall, Route, Snapshot } from '../snapshot/model.js'
import type { Choice } from './choose.js'
import { consult, type Said } from './consult.js'
import { type AnswerGuard, GuardedExchange } from './guarded-exchange.js'
import { type Input, inputOf } from './read.js'
import { replaced } from './replaced.js'

/** Asks who is to be asked about the key. Throws what the client is told. */
export async function guardAdmission(
  guards: Guards,
  route: Route,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<void> {
  const calls = callsAt('admit', guards, key, undefined)
  if (calls.length === 0) return
  const view = viewOf(guards, route, key, exchange)
  const said: Said = { replace: [], target: undefined }
  for (const call of calls) await consult(call, view, exchange, kindsOf(route, snapshot), said)
}

/** A request as it goes on, and the target that was chosen for it. */
export interface GuardedRequest {
  input: Input
  target: string | undefined
}

/** Asks who is to be asked about a request, one after the other: each sees what those before it have changed. Throws what the client is told. */
export async function guardRequest(
  guards: Guards,
  asked: Input,
  route: Route,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<GuardedRequest> {
  let input = asked
  let target: string | undefined
  for (const call of callsAt('request', guards, key, modelOf(asked, snapshot))) {
    const said: Said = { replace: [], target }
    await consult(call, { ...viewOf(guards, route, key, exchange), ...requestOf(input) }, exchange, kindsOf(route, snapshot), said)
    target = said.target
    // There is nothing to replace in a form, or where there is no body.
    if (said.replace.length === 0 || input.bytes.length === 0) continue
    const bytes = replaced(input.bytes, input.body, said.replace)
    input = await inputOf(bytes, route, exchange, dialectOf(route, snapshot), route.defaultModel ?? snapshot.defaultModel)
  }
  return { input, target }
}

/** The bindings of the target that was chosen. Throws where there is none. */
export function narrowed(choice: Choice, target: string | undefined): Choice {
  if (target === undefined) return choice
  const bindings = choice.bindings.filter(({ target: { name, upstream } }) => name === target || upstream === target)
  if (bindings.length > 0) return { ...choice, bindings }
  throw new GatewayError('unavailable', 'The target that was chosen for this request is not there.', {
    cause: `a call chose a target that the model does not have, or that does not serve the request: ${target.slice(0, 100)}`,
  })
}

/** Looks at the answer of an exchange before the client gets it. */
export class GuardedAnswers implements AnswerGuard {
  readonly exchange: Exchange
  private calls: readonly LinkedCall[] = []
  private input: Input | undefined

  constructor(
    private readonly guards: Guards,
    private readonly route: Route,
    private readonly key: Key | undefined,
    private readonly own: Exchange,
    private readonly snapshot: Snapshot,
  ) {
    this.exchange = new GuardedExchange(own, this)
  }

  /** This is what will be answered. Throws where its answer could not be looked at, before anybody is asked for it. */
  expect(input: Input): void {
    this.input = input
    this.calls = callsAt('answer', this.guards, this.key, modelOf(input, this.snapshot))
    if (input.stream) this.begin()
  }

  begin(): void {
    const refusing = this.calls.find(({ refusesStreams }) => refusesStreams)
    if (refusing === undefined) return
    throw new GatewayError('invalid_request', 'Answers of this model can be had as a whole only: ask without a stream.', {
      param: 'stream',
      cause: `the call ${refusing.name} sees whole answers only`,
    })
  }

  async whole(given: Buffer): Promise<Buffer> {
    const { guards, route, key, own, snapshot, input } = this
    let bytes = given
    for (const call of this.calls) {
      const body = JSON.parse(bytes.toString('utf8')) as Json
      const view = { ...viewOf(guards, route, key, own), ...(input && requestOf(input)), answer: body }
      const said: Said = { replace: [], target: undefined }
      await consult(call, view, own, kindsOf(route, snapshot), said)
      if (said.replace.length > 0) bytes = replaced(bytes, body as Body, said.replace)
    }
    return bytes
  }
}

function dialectOf(route: Route, snapshot: Snapshot): Dialect {
  return snapshot.plan.dialects[route.dialect] as Dialect
}

function kindsOf(route: Route, snapshot: Snapshot): ReadonlySet<string> {
  return new Set(Object.keys(dialectOf(route, snapshot).error.kinds))
}

/** The model's own name, by whichever it was asked. */
function modelOf({ model }: Input, snapshot: Snapshot): string {
  return (snapshot.models.get(model) ?? snapshot.find(model))?.name ?? model
}

function callsAt(moment: Moment, { calls }: Guards, key: Key | undefined, model: string | undefined): LinkedCall[] {
  return calls.filter(({ at, forKey, forModel }) => at === moment && forKey(key?.name ?? '') && (model === undefined || forModel(model)))
}

function viewOf({ keyHeaders }: Guards, route: Route, key: Key | undefined, exchange: Exchange): ExchangeView {
  const { headers, method, path, query } = exchange
  return {
    key: key && { name: key.name, team: key.team, tags: key.tags, groups: key.groups },
    groups: key?.groups ?? [],
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !keyHeaders.has(name))),
    route: route.name,
    method,
    path,
    query,
    request: {},
  }
}

function requestOf({ body, model }: Input): Pick<ExchangeView, 'model' | 'request'> {
  return { model, request: body }
}
