// Finds models that a budget refuses, because the cost of a request to them is not known.

import type { Finding } from '../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import type { Budget } from '../engine/budgets/budgets.js'
import type { RoutePlan } from '../engine/plan.js'
import type { GatewayConfig } from '../engine/snapshot/config.js'
import type { Model, Snapshot, Target } from '../engine/snapshot/model.js'
import { mayUse } from '../engine/stages/choose.js'
import { mayBePriced } from '../engine/stages/priced.js'

/** A warning for each model without a known price that has a budget, whoever's it is. */
export function unpricedModels(document: YamlDocument, gateway: GatewayConfig, snapshot: Snapshot): Finding[] {
  const now = Date.now()
  const routes = snapshot.plan.routes.filter(({ model, estimate }) => model !== undefined && estimate === undefined)
  return [...snapshot.models.values()].flatMap((model): Finding[] => {
    if (model.targets.some(target => routes.some(route => hasPrice(target, route, now)))) return []
    const whose = refusedFor(model, gateway, snapshot)
    if (whose === undefined) return []
    return [
      {
        ...document.at(placeOf(model, document)),
        rule: 'budget/price',
        detail: `no price of ${model.name} is known in ${snapshot.currency}, so the budget of ${whose} refuses every request to it`,
        remedy:
          'give the model `price: { input: …, output: … }`, of a million tokens, or its target `known_as`, or the budget `when_spent: warn`',
      },
    ]
  })
}

/** Whether a request to a target on a route may be served where a budget counts. */
function hasPrice({ bindings }: Target, route: RoutePlan, time: number): boolean {
  const binding = bindings.get(route.dialect)
  return binding !== undefined && mayBePriced(binding, route, time)
}

/** Whose budget refuses requests to a model whose cost is not known; undefined: nobody's. */
function refusedFor(model: Model, gateway: GatewayConfig, snapshot: Snapshot): string | undefined {
  if (isRefusing(snapshot.budgets.all)) return 'the whole gateway'
  if (isRefusing(model.budgets)) return 'this model'
  const target = model.targets.find(({ budgets }) => budgets.length > 0)
  if (target) return `the upstream ${target.upstream}`
  const key = [...snapshot.keys.values()].find(one => mayUse(one, model) && isRefusing(snapshot.standingOf(one).budgets))
  if (key) return `the key ${key.name}, or of its groups or team,`
  // Keys of the store have it, too.
  return gateway.budgets?.key?.some(({ whenSpent }) => whenSpent !== 'warn') ? 'each key' : undefined
}

function isRefusing(budgets: readonly Budget[]): boolean {
  return budgets.some(({ config }) => config.whenSpent !== 'warn')
}

/** Where a model stands: under `models`, or in the list of its upstream. */
function placeOf({ name, targets }: Model, document: YamlDocument): Pointer {
  const file = Object(document.value) as { models?: object; upstreams?: Record<string, { models?: unknown[] } | undefined> }
  if (file.models && Object.hasOwn(file.models, name)) return ['models', name]
  const upstream = targets[0]?.upstream ?? ''
  return ['upstreams', upstream, 'models', file.upstreams?.[upstream]?.models?.indexOf(name) ?? 0]
}
