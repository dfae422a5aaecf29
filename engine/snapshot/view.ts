// A model as the gateway's own lists and pages show it.

import { createHash } from 'node:crypto'
import type { Json } from '../plan.js'
import { priceAt, pricesTimes, regionsAt, tiersAt } from './catalogue.js'
import type { Model } from './model.js'

/** The creation time of models without one: the start of the process, in seconds. */
const BEGAN = Math.floor((Date.now() - performance.now()) / 1000)

/** A day, or a time, in RFC 3339. */
function timeOf(day: string): string {
  return new Date(day).toISOString()
}

/** The facts of a model, and its prices for a caller: the operator's, else the catalogue's. */
export function viewOf({ name, facts, targets, methods }: Model, times: number): Json {
  const { deprecated, retired, context, maxOutput, inputs, outputs } = facts
  const today = new Date().toISOString()
  const created = facts.created === undefined ? BEGAN : Math.floor(Date.parse(facts.created) / 1000)
  const price = pricesTimes(priceAt(facts.prices, today), times)
  const abilities = [name, [...methods], context ?? null, maxOutput ?? null, inputs ?? null, outputs ?? null]
  return {
    name,
    display_name: facts.displayName ?? name,
    owner: facts.owner ?? targets[0]?.provider.name ?? 'sluice',
    created,
    created_at: new Date(created * 1000).toISOString(),
    limits: { ...(context !== undefined && { context }), ...(maxOutput !== undefined && { max_output: maxOutput }) },
    ...(price !== undefined && {
      price,
      tiers: tiersAt(facts.prices, today).map(({ when, price: listed }) => ({ when, price: pricesTimes(listed, times) })),
      regions: regionsAt(facts.prices, today),
    }),
    ...(inputs && { inputs }),
    ...(outputs && { outputs }),
    lifecycle: retired !== undefined && retired <= today ? 'retired' : (deprecated ?? retired) === undefined ? 'active' : 'deprecated',
    ...(deprecated !== undefined && { deprecated_at: timeOf(deprecated) }),
    ...(retired !== undefined && { retires_at: timeOf(retired) }),
    methods: [...methods],
    traits: targets[0]?.traits ?? {},
    // Few lists show it: the others do not pay for it.
    get digest() {
      return createHash('sha256').update(JSON.stringify(abilities)).digest('hex')
    },
    source: facts.source,
    read: facts.read,
  }
}
