// The prices in new-api's options, the result of GET /api/option/: ratios and prices by model, as
// https://www.newapi.ai/docs/guide/console/settings/rate-settings explains them.

import type { Plan } from './plan.js'

type Ratios = Readonly<Record<string, number>>

/** USD for a million tokens of a model with the ratio 1: 500,000 quota points are a dollar, and a token is a point. */
const OF_RATIO_1 = 2

/** Gives the models of a plan their prices, and groups their multipliers. */
export function readNewApiOptions(file: unknown, plan: Plan): void {
  const options = optionsIn(file)
  const ratios = (name: string): Ratios => ratiosIn(options[name])
  const [input, output, cached, written] = [
    ratios('ModelRatio'),
    ratios('CompletionRatio'),
    ratios('CacheRatio'),
    ratios('CreateCacheRatio'),
  ]
  for (const [name, ratio] of Object.entries(input)) readRatio(name, ratio, output[name], cached[name], written[name], plan)
  for (const [name, price] of Object.entries(ratios('ModelPrice')))
    if (name in plan.gateway.models)
      plan.tell(`ModelPrice.${name}`, 'by hand', `${price} USD a request: prices with request in a file of models/ (docs/models.md)`)
  for (const [name, ratio] of Object.entries(ratios('GroupRatio'))) {
    plan.gateway.groups ??= {}
    plan.gateway.groups[name] = ratio === 1 ? {} : { times: ratio }
    plan.tell(`GroupRatio.${name}`, 'exact', ratio === 1 ? 'a group' : `times: ${ratio} of the group`)
  }
  // With `groups`, every group that is named has to be there.
  if (plan.gateway.groups)
    for (const name of Object.values(plan.gateway.models).flatMap(({ groups = [] }) => groups)) plan.gateway.groups[name] ??= {}
}

function readRatio(
  name: string,
  ratio: number,
  output: number | undefined,
  cached: number | undefined,
  written: number | undefined,
  plan: Plan,
): void {
  const model = plan.gateway.models[name]
  // Options have ratios of every model that new-api knows.
  if (model === undefined) return
  const price = (times: number): number => Number((ratio * OF_RATIO_1 * times).toPrecision(12))
  if (output === undefined) {
    plan.tell(
      `ModelRatio.${name}`,
      'by hand',
      `input is ${price(1)} USD a million tokens, but the options have no CompletionRatio for output`,
    )
    return
  }
  model.price = {
    input: price(1),
    output: price(output),
    ...(cached !== undefined && { cached: price(cached) }),
    ...(written !== undefined && { cache_write: price(written) }),
  }
  plan.tell(`ModelRatio.${name}`, 'exact', `price of a million tokens: input ${price(1)}, output ${price(output)}`)
}

/** The options as a map, from a list of `{ key, value }` or a map. */
function optionsIn(file: unknown): Record<string, unknown> {
  const { data } = Object(file) as { data?: unknown }
  if (data !== undefined) return optionsIn(data)
  if (!Array.isArray(file)) return Object(file) as Record<string, unknown>
  return Object.fromEntries(
    file.map(one => Object(one) as { key?: unknown; value?: unknown }).map(({ key, value }) => [String(key), value]),
  )
}

/** A map of numbers, or the JSON of one. */
function ratiosIn(value: unknown): Ratios {
  try {
    const map = Object(typeof value === 'string' ? JSON.parse(value) : value) as Record<string, unknown>
    return Object.fromEntries(Object.entries(map).filter((one): one is [string, number] => typeof one[1] === 'number'))
  } catch {
    return {}
  }
}
