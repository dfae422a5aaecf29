// Explains the order of targets, and why some are left out.

import type { Json } from '../../engine/plan.js'
import type { Binding, Model, Route } from '../../engine/snapshot/model.js'
import type { Choice } from '../../engine/stages/choose.js'

/** The order by price is fixed; orders by lot or by live measurements are shown by priority and weight. */
export function inOrder({ bindings, model }: Choice): Binding[] {
  if (model?.choose === 'cheapest') return [...bindings]
  return [...bindings].sort(({ target: left }, { target: right }) => left.priority - right.priority || right.weight - left.weight)
}

/** The position of a target within its priority. */
export function placeOf({ target }: Binding, { bindings, model }: Choice): object {
  const same = bindings.filter(one => one.target.priority === target.priority)
  const sum = same.reduce((total, one) => total + one.target.weight, 0)
  const share = { share: Math.round((target.weight / sum) * 1000) / 1000 }
  if (model === undefined || model.choose === 'weighted' || same.length === 1) return { priority: target.priority, ...share }
  return { priority: target.priority, by: model.choose, weight: target.weight }
}

/** The settings of a model's retries, beside its targets. */
export function routingOf({ choose, retry, hedgeAfter, mirror, config }: Model): Record<string, Json> {
  const sticky = config.routing?.sticky
  return {
    ...(choose !== 'weighted' && { choose }),
    ...(sticky && { sticky: `by ${sticky.by}` }),
    ...(retry.attempts !== undefined && { attempts: retry.attempts }),
    ...(hedgeAfter !== undefined && { hedge: `after ${hedgeAfter} ms` }),
    ...(mirror && { mirror: `${mirror.share * 100}% to ${mirror.target.name}` }),
  }
}

/** The targets of a model that cannot serve this request, with the reasons. */
export function skippedTargets({ model, bindings }: Choice, route: Route): Record<string, string> | undefined {
  const asked = new Set(bindings.map(({ target }) => target))
  const left = (model?.targets ?? []).filter(target => !asked.has(target))
  if (left.length === 0) return undefined
  return Object.fromEntries(
    left.map(target => [
      target.name,
      target.weight === 0
        ? 'its weight is 0'
        : target.bindings.has(route.dialect)
          ? 'its `only` is false for this request'
          : `its provider does not serve ${route.dialect}`,
    ]),
  )
}
