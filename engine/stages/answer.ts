// Routes that are answered here: lists of what the caller may use, and counts of tokens.

import { GatewayError, unsupportedModel } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Json } from '../plan.js'
import { priceAt } from '../snapshot/catalogue.js'
import type { Key, Model, Route, Snapshot } from '../snapshot/model.js'
import { mayUse } from './choose.js'
import type { Input } from './read.js'

/** Where the operator does not say when a model was made: since when it is there to be used, in seconds. */
const BEGAN = Math.floor((Date.now() - performance.now()) / 1000)

export function answer(route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): void {
  const models: Json[] = []
  for (const model of snapshot.models.values()) {
    if (model.isHidden || (key !== undefined && !mayUse(key, model))) continue
    models.push(viewOf(model))
  }
  const body = route.answer?.({
    models,
    key: key && shown(key),
    query: exchange.query,
    path: exchange.params,
    now: Math.floor(Date.now() / 1000),
  })
  if (body === undefined) {
    const name = exchange.params.model
    throw new GatewayError('not_found', name === undefined ? 'There is nothing here.' : `The model '${name}' does not exist.`, {
      param: 'model',
      code: 'model_not_found',
    })
  }
  exchange.send(200, { 'content-type': 'application/json' }, JSON.stringify(body))
}

/** A day, or a time, as RFC 3339 has it. */
function timeOf(day: string): string {
  return new Date(day).toISOString()
}

/** What is told of a model: as the operator declares it, and else as the catalogue knows it. */
function viewOf({ name, config, facts, targets, methods }: Model): Json {
  const { deprecated, retired, context, maxOutput, inputs, outputs } = facts
  const today = new Date().toISOString()
  const created = facts.created === undefined ? BEGAN : Math.floor(Date.parse(facts.created) / 1000)
  const price = config.price ?? priceAt(facts.prices, today)
  return {
    name,
    display_name: facts.displayName ?? name,
    owner: facts.owner ?? targets[0]?.provider.name ?? 'sluice',
    created,
    created_at: new Date(created * 1000).toISOString(),
    limits: { ...(context !== undefined && { context }), ...(maxOutput !== undefined && { max_output: maxOutput }) },
    ...(price !== undefined && { price }),
    ...(inputs && { inputs }),
    ...(outputs && { outputs }),
    lifecycle: retired !== undefined && retired <= today ? 'retired' : (deprecated ?? retired) === undefined ? 'active' : 'deprecated',
    ...(deprecated !== undefined && { deprecated_at: timeOf(deprecated) }),
    ...(retired !== undefined && { retires_at: timeOf(retired) }),
    methods: [...methods],
  }
}

/** What the holder of a key may know of it. */
function shown({ name, team, groups, routes, ips, tags, expires }: Key): Json {
  return { name, team, groups, routes, ips, tags, expires: expires === undefined ? undefined : new Date(expires).toISOString() }
}

/** Counts the tokens of a request where no provider of its model does; the answer says that it is an estimate. */
export async function estimate(route: Route, input: Input, exchange: Exchange): Promise<void> {
  const { estimate: rule } = route
  if (rule === undefined) throw unsupportedModel(input.model)
  input.settle?.()
  // The tables of the tokenizer are large; a gateway that never estimates never loads them.
  const tokenizer = await import('gpt-tokenizer')
  const text = rule.text(input.body)
  const tokens = tokenizer.encode(typeof text === 'string' ? text : JSON.stringify(text ?? ''), { allowedSpecial: 'all' }).length
  exchange.send(200, { 'content-type': 'application/json', 'x-sluice-estimated': 'true' }, JSON.stringify(rule.answer(tokens, input.body)))
}
