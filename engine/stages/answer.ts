// Routes that the gateway answers itself: lists of what the caller may use, and token counts.

import { beginningOf } from '../core/durations.js'
import { GatewayError, unsupportedModel } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { valueAt } from '../core/members.js'
import type { CountedView, DayMembers, Dialect, Json } from '../plan.js'
import type { Key, Model, Route, Snapshot } from '../snapshot/model.js'
import { viewOf } from '../snapshot/view.js'
import { mayUse } from './choose.js'
import { type Input, LONGEST_NAME, readObject } from './read.js'
import { standingView } from './standing.js'
import { tokensIn } from './token-estimate.js'

const DAY = 86_400_000

export function answer(route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): void | Promise<void> {
  if (!route.bodies.includes('json')) return answerWith({}, route, key, exchange, snapshot)
  return readObject(route, exchange).then(body => answerWith({ body }, route, key, exchange, snapshot))
}

/** Like `answer`, with the outline of the request's body. */
function answerWith(
  said: { body?: Json },
  route: Route,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): void | Promise<void> {
  const { store } = snapshot
  const isCounted = route.usage !== undefined && store !== undefined
  if (key === undefined || (!isCounted && !route.isStanding)) return tell(route, key, said, exchange, snapshot)
  const days = isCounted ? daysOf(route.usage as DayMembers, exchange) : undefined
  return Promise.all([
    days && store?.ask('days', { key: key.name, ...days }),
    route.isStanding ? standingView(key, snapshot) : undefined,
  ]).then(([usage, standing]) =>
    tell(
      route,
      key,
      { ...said, ...(usage && { usage: usage as unknown as Json, today: new Date().toISOString().slice(0, 10) }), ...standing },
      exchange,
      snapshot,
    ),
  )
}

/** The days in a request's query, as times: from the beginning of the first to the end of the last. */
function daysOf(members: DayMembers, { query }: Exchange): { from: number; to: number } {
  const day = (member: string | undefined): number | undefined => {
    const text = member === undefined ? undefined : query[member]
    if (text === undefined) return undefined
    const time = beginningOf(text)
    if (time === undefined)
      throw new GatewayError('invalid_request', `'${member}' must be a day such as 2026-11-22.`, { param: member as string })
    return time
  }
  return { from: day(members.from) ?? 0, to: (day(members.to) ?? Math.floor(Date.now() / DAY) * DAY) + DAY }
}

/** The model that the request names: in its path, or where its dialect has the name. */
function namedIn(route: Route, body: Json, exchange: Exchange, { plan }: Snapshot): string | undefined {
  const { model } = plan.dialects[route.dialect] as Dialect
  const name = exchange.params.model ?? valueAt(model, Object(body), exchange)
  return typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME ? name : undefined
}

/** The models with names in lists. An alias, or a name that only a pattern serves, is among them if the request has it. */
function modelsFor(name: string | undefined, { models, find }: Snapshot): Model[] {
  const other = name === undefined || models.has(name) ? undefined : find(name)
  return other === undefined || name === undefined ? [...models.values()] : [...models.values(), { ...other, name }]
}

function tell(route: Route, key: Key | undefined, counted: CountedView, exchange: Exchange, snapshot: Snapshot): void {
  const times = key === undefined ? 1 : snapshot.standingOf(key).times
  const models = modelsFor(namedIn(route, counted.body, exchange, snapshot), snapshot).filter(
    model => !model.isHidden && (key === undefined || mayUse(key, model)),
  )
  const body = route.answer?.({
    models: models.map(model => viewOf(model, times)),
    key: key && shown(key, snapshot),
    query: exchange.query,
    path: exchange.params,
    now: Math.floor(Date.now() / 1000),
    ...counted,
  })
  if (body === undefined) {
    const name = exchange.params.model
    throw new GatewayError('not_found', name === undefined ? 'Not found.' : `The model '${name}' does not exist.`, {
      param: 'model',
      code: 'model_not_found',
    })
  }
  exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(body))
}

/** What a key's holder may see of the key. */
function shown({ name, team, groups: all, routes, ips, tags, expires }: Key, snapshot: Snapshot): Json {
  const groups = all.filter(group => !snapshot.isHidden(group))
  const end = expires !== undefined && { expires: new Date(expires).toISOString(), expires_time: Math.floor(expires / 1000) }
  return { name, team, groups, routes, ips, tags, ...end }
}

/** Estimates the tokens of a request if no provider of its model counts them; the answer says that it is an estimate. */
export async function estimate(route: Route, input: Input, exchange: Exchange): Promise<void> {
  const { estimate: rule } = route
  if (rule === undefined) throw unsupportedModel(input.model)
  input.settle?.()
  const text = rule.text(input.body)
  const tokens = await tokensIn(typeof text === 'string' ? text : JSON.stringify(text ?? ''))
  exchange.send(200, { 'content-type': 'application/json', 'x-sluice-estimated': 'true' }, JSON.stringify(rule.answer(tokens, input.body)))
}
