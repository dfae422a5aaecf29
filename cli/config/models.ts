// Models in gateway.yaml.

import { useOneOf } from '../../codegen/read/suggest.js'
import type { Pointer } from '../../codegen/read/yaml.js'
import type { PlanFacts } from '../../engine/plan.js'
import { entriesFor } from '../../engine/snapshot/catalogue.js'
import type { ModelConfig, UpstreamConfig } from '../../engine/snapshot/config.js'
import type { GatewayData, GatewayModel } from '../../schemas/config/types.js'
import type { BudgetReader } from './budgets.js'
import type { Find } from './find.js'
import { checkGroups } from './groups.js'
import { checkRateLimits, rateLimitsOf } from './rate-limits.js'
import { checkRouting, routingOf } from './routing.js'

type Upstreams = Readonly<Record<string, UpstreamConfig>>

/** The models that upstreams list, by name. A model that an upstream lists has no settings of its own. */
export function modelsListed({ upstreams: written }: GatewayData, upstreams: Upstreams): Record<string, GatewayModel> {
  // A model may have any name, also one that objects inherit.
  const listed: Record<string, GatewayModel> = Object.create(null)
  for (const [name, { models }] of Object.entries(written))
    if (upstreams[name]) for (const model of models) listed[model] = { targets: [{ upstream: name }] } as GatewayModel
  return listed
}

/** All models, those that upstreams list and those of the file, by name. */
export function modelsOf(
  file: GatewayData,
  listed: Readonly<Record<string, GatewayModel>>,
  plan: PlanFacts,
  budgets: BudgetReader,
): Record<string, ModelConfig> {
  const written: Record<string, GatewayModel> = Object.assign(Object.create(null), listed, file.models)
  // The grammar's defaults apply to listed models, too.
  plan.validateGateway({ models: written })
  const models: Record<string, ModelConfig> = Object.create(null)
  for (const [name, { budget, ...model }] of Object.entries(written)) {
    const own = budgets.read(budget, ['models', name, 'budget'])
    models[name] = { ...modelOf(model), ...(own && { budgets: own }) }
  }
  return models
}

/** A model's settings, without the facts about its inputs and outputs. */
function modelOf(written: GatewayModel): ModelConfig {
  const { limits, retry, hedge, choose, sticky, mirror, hidden, list, ...model } = written
  const rateLimits = rateLimitsOf(limits)
  const { context, max_output } = limits ?? {}
  return {
    ...model,
    ...(limits && { limits: { ...(context !== undefined && { context }), ...(max_output !== undefined && { max_output }) } }),
    ...(rateLimits && { rateLimits }),
    routing: routingOf(written),
    ...(hidden && { isHidden: true }),
    ...(list && { list }),
  }
}

/** Reports what the grammar cannot find in the models of the file. */
export function checkModels(file: GatewayData, upstreams: Upstreams, plan: PlanFacts, find: Find): void {
  for (const [name, model] of Object.entries(file.models)) {
    const here: Pointer = ['models', name]
    checkTargets(model, here, file, upstreams, plan, find)
    checkPatch(model.patch, model.targets, [...here, 'patch'], upstreams, plan, find)
    model.targets.forEach((target, index) => {
      checkPatch(target.patch, [target], [...here, 'targets', index, 'patch'], upstreams, plan, find)
    })
    checkCallers(model, here, upstreams, plan, find)
    checkRateLimits(model.limits, [...here, 'limits'], find)
    checkRouting(name, model, Object.keys(file.upstreams), find)
    checkList(model, here, upstreams, plan, find)
    checkGroups(file, model.groups, [...here, 'groups'], find)
  }
}

function checkTargets(
  { targets }: GatewayModel,
  here: Pointer,
  file: GatewayData,
  upstreams: Upstreams,
  plan: PlanFacts,
  find: Find,
): void {
  targets.forEach((target, index) => {
    if (!Object.hasOwn(file.upstreams, target.upstream))
      find(
        [...here, 'targets', index, 'upstream'],
        'names/upstream',
        `there is no upstream ${target.upstream}`,
        useOneOf(Object.keys(file.upstreams), target.upstream),
      )
    const provider = upstreams[target.upstream]?.provider
    const { known_as: known } = target
    if (known !== undefined && provider !== undefined && entriesFor(plan.catalogue ?? [], provider, known).length === 0)
      find(
        [...here, 'targets', index, 'known_as'],
        'names/fact',
        `there is no model ${known} in models/`,
        'name one that `sluice models` shows, or remove the entry',
      )
  })
}

/** Reports patches for dialects that no provider of these targets speaks. */
function checkPatch(
  patch: GatewayModel['patch'],
  targets: readonly { upstream: string }[],
  here: Pointer,
  upstreams: Upstreams,
  { providers }: PlanFacts,
  find: Find,
): void {
  if (typeof patch !== 'object') return
  const spoken = [...new Set(targets.flatMap(({ upstream }) => Object.keys(providers[upstreams[upstream]?.provider ?? '']?.speaks ?? {})))]
  for (const dialect of Object.keys(patch))
    if (spoken.length > 0 && !spoken.includes(dialect))
      find([...here, dialect], 'model/patch', `no provider of this model speaks ${dialect}`, useOneOf(spoken, dialect))
}

/** Reports targets that would send a caller's credential for one host to another. */
function checkCallers({ targets }: GatewayModel, here: Pointer, upstreams: Upstreams, plan: PlanFacts, find: Find): void {
  const origins = targets.map(({ upstream }) => callersOrigin(upstreams[upstream], plan))
  const first = origins.find(origin => origin !== undefined)
  origins.forEach((origin, index) => {
    if (origin !== undefined && origin !== first)
      find(
        [...here, 'targets', index, 'upstream'],
        'upstream/caller',
        `this host would get the caller's credential for another host`,
        'keep the targets of one host, or give this upstream its own secret',
      )
  })
}

/** The origin that an upstream sends callers' credentials to; undefined if it sends none. */
function callersOrigin(upstream: UpstreamConfig | undefined, plan: PlanFacts): string | undefined {
  const base = upstream?.isCallers && (upstream.base ?? plan.providers[upstream.provider]?.base)
  return base && URL.canParse(base) ? new URL(base).origin : undefined
}

/** Reports a list that the first target's upstream cannot give. */
function checkList({ list, targets }: GatewayModel, here: Pointer, upstreams: Upstreams, { providers }: PlanFacts, find: Find): void {
  const name = targets[0]?.upstream ?? ''
  const lister = upstreams[name]
  if (list === 'account' && lister && (providers[lister.provider]?.modelsPath === undefined || lister.isCallers))
    find([...here, 'list'], 'model/list', `the upstream ${name} cannot list the models of its account`, 'list the names')
}
