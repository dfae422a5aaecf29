// Model → ordered ways to serve it. Priorities come first, weights share inside one; a target that has failed comes
// last until its time is over, so that a request which nobody else can serve is its trial.

import { now } from './deadlines.js'
import { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import type { Input } from './read.js'
import type { Key, Model, Route, Target, Way, World } from './world.js'

export interface Choice {
  model: Model
  ways: readonly Way[]
}

export function choose(route: Route, input: Input, key: Key | undefined, call: Exchange, world: World): Choice {
  call.log.model = input.model
  const model = world.models.get(input.model)
  if (model === undefined) {
    throw new GatewayError('not_found', `The model '${input.model}' does not exist.`, { param: 'model', code: 'model_not_found' })
  }
  if (!mayUse(key, model)) {
    throw new GatewayError('permission', `This API key may not use the model '${input.model}'.`, {
      param: 'model',
      code: 'model_not_allowed',
    })
  }
  checkCaps(route, input, model)
  const ways = order(model.targets)
    .map(target => target.ways.get(route.dialect))
    .filter(way => way !== undefined)
  return { model, ways }
}

export function mayUse(key: Key | undefined, model: Model): boolean {
  if (key === undefined) return true
  return key.groups.some(group => model.groups.has(group)) && key.matches(model.name)
}

function checkCaps(route: Route, input: Input, model: Model): void {
  const limit = model.config.limits?.max_output
  const path = route.caps?.maxOutput
  if (limit === undefined || path === undefined) return
  const asked = path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], input.body)
  if (typeof asked === 'number' && asked > limit) {
    const name = path.join('.')
    throw new GatewayError(
      'invalid_request',
      `${name}: ${asked} > ${limit}, which is the maximum allowed number of output tokens for ${model.name}.`,
      { param: name, code: 'invalid_value' },
    )
  }
}

function order(targets: readonly Target[]): Target[] {
  if (targets.length === 1 && (targets[0] as Target).weight > 0) return targets as Target[]
  const time = now()
  const rank = (target: Target): number => target.priority + (target.health.asideUntil > time ? 1e6 : 0)
  const drawn = targets
    .filter(target => target.weight > 0)
    .map(target => ({ target, rank: rank(target), lot: Math.random() ** (1 / target.weight) }))
  drawn.sort((left, right) => left.rank - right.rank || right.lot - left.lot)
  return drawn.map(({ target }) => target)
}
