// Links keys, models and their targets: resolves the names in the configuration to what a request needs.

import type { Pool } from 'undici'
import { Health } from '../balance/health.js'
import type { Balance } from '../balance/registry.js'
import type { Budgets } from '../budgets/budgets.js'
import { matcher } from '../core/text.js'
import type { Meter } from '../limits/meter.js'
import { type Meters, mergeRateLimits } from '../limits/registry.js'
import type { Dialect, ModelFacts, Plan, Prices, ProviderPlan } from '../plan.js'
import { type LinkBindings, wishesOf } from './bindings.js'
import { keyBudgets } from './budget-rules.js'
import { factsFor } from './catalogue.js'
import type { GatewayConfig, GroupConfig, KeyConfig, MirrorConfig, ModelConfig, TargetConfig, UpstreamConfig } from './config.js'
import { compiled, type Expressions } from './expressions.js'
import { linkKey as permitted } from './key.js'
import type { Key, Mirror, Model, Standing, Target } from './model.js'
import { costOf, ownPrices } from './price.js'
import { linkRetry } from './retry.js'

/** Headers of one connection, or of the answer in its original form, which must not be passed on. */
const OF_CONNECTION =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-(?:length|encoding|type|range)|set-cookie2?|date|x-request-id)$/

function passing(patterns: readonly string[]): (header: string) => boolean {
  const matches = matcher(patterns)
  return header => matches(header) && !OF_CONNECTION.test(header)
}

/** Everything that names are resolved in. */
export interface Linking {
  gateway: GatewayConfig
  plan: Plan
  poolOf(origin: string): Pool
  linkBindings: LinkBindings
  meters: Meters
  budgets: Budgets
  balance: Balance
  expressions: Expressions
  /** Upstreams whose requests under way must be counted. */
  counted: ReadonlySet<string>
}

export function linkKey(key: KeyConfig, linking: Linking): Key {
  return { ...permitted(key), standing: standingOf(key, linking) }
}

/** The configuration of a group; undefined if it has none. */
export function groupOf(name: string, { groups }: GatewayConfig): GroupConfig | undefined {
  return groups && Object.hasOwn(groups, name) ? groups[name] : undefined
}

/** The meters of a group. */
export function groupMeters(name: string, group: GroupConfig, meters: Meters): readonly Meter[] {
  return meters.of(`group:${name}`, group.isHidden ? 'the group of this API key' : `the group '${name}'`, group.rateLimits)
}

/** The limits and budgets of a key. A key stops when one of its groups has reached its limit. */
export function standingOf(key: KeyConfig, { gateway, meters, budgets }: Linking): Standing {
  const groups = key.groups.flatMap(name => {
    const group = groupOf(name, gateway)
    return group ? [{ name, group }] : []
  })
  const limits = mergeRateLimits([key.rateLimits, ...groups.map(({ group }) => group.keyLimits), gateway.keyLimits])
  // A key of the store is never the same as one of the file, even with the same name.
  const scope = key.id === undefined ? `key:${key.name}` : `stored_key:${key.id}`
  return {
    meters: [
      ...meters.of(scope, 'this API key', limits),
      ...(key.team === undefined ? [] : meters.of(`team:${key.team}`, `the team '${key.team}'`, key.teamLimits)),
      ...groups.flatMap(({ name, group }) => groupMeters(name, group, meters)),
    ],
    budgets: keyBudgets(key, groups, gateway, budgets),
    times: groups[0] !== undefined && groups[0].name === key.groups[0] ? (groups[0].group.times ?? 1) : 1,
  }
}

/** The groups whose keys may use a model: those that the model names, unless a group lists its models itself. */
function groupsOf(name: string, named: readonly string[], groups: GatewayConfig['groups']): ReadonlySet<string> {
  const may = new Set(named)
  for (const [group, { models }] of Object.entries(groups ?? {})) {
    if (models === undefined) continue
    if (matcher(models)(name)) may.add(group)
    else may.delete(group)
  }
  return may
}

/** An upstream as the only target of its own. */
export const account = (upstream: string): TargetConfig => ({ upstream, weight: 1, priority: 1, traits: {} })

/** A target of a model, or an upstream by itself, whose model name is filled in for each request. */
export function linkTarget(
  target: TargetConfig,
  modelName: string | undefined,
  config: ModelConfig | undefined,
  { gateway, plan, linkBindings, meters, budgets, balance, expressions, counted }: Linking,
): Target {
  const upstream = gateway.upstreams[target.upstream] as UpstreamConfig
  const provider = plan.providers[upstream.provider] as ProviderPlan
  const base = new URL((upstream.base ?? provider.base) as string)
  const model = target.model ?? modelName
  const facts = model === undefined ? {} : factsFor(plan.catalogue, provider.name, target.known_as ?? model)
  const known = { ...facts.traits, ...config?.traits, ...target.traits }
  const name = model === undefined ? target.upstream : `${target.upstream}/${target.label ?? model}`
  const unbound: Omit<Target, 'bindings' | 'clients'> = {
    name,
    upstream: target.upstream,
    provider,
    model: model ?? '',
    weight: target.weight,
    priority: target.priority,
    context: target.context ?? facts.context,
    traits: Object.freeze({ ...provider.traits, ...known }),
    known,
    facts,
    cost: costOf(pricesOf(config, facts, { gateway }), gateway.currency, {
      // The operator's own price is the price paid.
      times: config?.price ? 1 : upstream.times,
      region: typeof known.region === 'string' ? known.region : undefined,
    }),
    maxOutput: config?.limits?.max_output ?? facts.maxOutput ?? gateway.maxOutput,
    secret: upstream.secret,
    isCallers: upstream.isCallers === true,
    headerValues: [upstream, config, target].flatMap(said => Object.values(said?.headers ?? {})).filter(value => value !== null),
    limits: upstream.limits,
    host: base.host,
    health: balance.health(`${target.upstream}/${model ?? ''}`, upstream.health),
    concurrency: counted.has(target.upstream) ? balance.concurrency(target.upstream, upstream.concurrency) : undefined,
    latency: config?.routing?.choose === 'latency' ? balance.latency(`${target.upstream}/${model ?? ''}`) : undefined,
    only: target.only === undefined ? undefined : compiled(target.only, expressions),
    isShared: upstream.isShared === true,
    ...(upstream.passHeaders && { passes: passing(upstream.passHeaders) }),
    meters: meters.of(`upstream:${target.upstream}`, `the upstream ${target.upstream}`, upstream.rateLimits),
    budgets: budgets.of({ scope: `upstream:${target.upstream}`, words: 'the upstream', isTold: false }, upstream.budgets, gateway.currency),
  }
  // A binding refers to its target.
  return Object.assign(unbound, linkBindings(unbound as Target, model, wishesOf(config ?? {}, target)))
}

/** The operator's own price of a model, or else the catalogue's. */
function pricesOf(
  config: ModelConfig | undefined,
  facts: ModelFacts,
  { gateway }: Pick<Linking, 'gateway'>,
): readonly Prices[] | undefined {
  return config?.price ? ownPrices(config.price, gateway.currency) : facts.prices
}

/** Whether a model with these facts may be called in a dialect, as far as they are known. */
function isFor({ takes, gives }: Dialect, { inputs, outputs }: ModelFacts): boolean {
  const holds = (kind: string | undefined, kinds: readonly string[] | undefined): boolean =>
    kind === undefined || kinds === undefined || kinds.includes(kind)
  return holds(takes, inputs) && holds(gives, outputs)
}

/** Links a model. `of` is the name that it counts as. */
export function linkModel(name: string, config: ModelConfig, linking: Linking, of = name): Model {
  const targets = config.targets.map(target => linkTarget(target, name, config, linking))
  const methods = new Set(
    targets
      .filter(({ weight }) => weight > 0)
      .flatMap(({ clients, facts }) => clients.flatMap(from => (isFor(from, facts) ? [from.name] : []))),
  )
  const known = targets.find(target => target.weight > 0)?.facts ?? {}
  const { display_name, owner, created, limits } = config
  const prices = pricesOf(config, known, linking)
  const facts: ModelFacts = {
    ...known,
    ...(display_name !== undefined && { displayName: display_name }),
    ...(owner !== undefined && { owner }),
    ...(created !== undefined && { created: new Date(created * 1000).toISOString() }),
    ...(prices && { prices }),
    ...(limits?.context !== undefined && { context: limits.context }),
    ...(limits?.max_output !== undefined && { maxOutput: limits.max_output }),
  }
  const most = targets.map(target => target.facts.maxOutput)
  const isKnown = most.length > 0 && most.every(one => one !== undefined)
  const maxOutput = limits?.max_output ?? (isKnown ? Math.max(...most) : undefined)
  const groups = groupsOf(name, config.groups, linking.gateway.groups)
  const whose = { scope: `model:${of}`, words: `the model '${of}'`, isTold: true }
  const budgets = linking.budgets.of(whose, config.budgets, linking.gateway.currency)
  const meters = linking.meters.of(`model:${of}`, `the model '${of}'`, config.rateLimits)
  const { retry, hedgeAfter, choose = 'weighted', sticky, mirror } = config.routing ?? {}
  const isPlain = choose === 'weighted' && sticky === undefined && targets.every(({ only }) => only === undefined)
  return {
    name,
    config,
    groups,
    budgets,
    targets,
    methods,
    meters,
    facts,
    ...(maxOutput !== undefined && { maxOutput }),
    isPlain,
    ...(isPlain && isSingle(targets) && { single: targets }),
    choose,
    isHidden: config.isHidden === true,
    ...(sticky && { sticky: { by: compiled(sticky.by, linking.expressions), store: linking.balance.sticky(of, sticky.lasts) } }),
    ...(mirror && { mirror: linkMirror(mirror, name, of, config, linking) }),
    retry: linkRetry(of, retry, targets.length === 1, linking.balance),
    ...(hedgeAfter !== undefined && targets.length > 1 && { hedgeAfter }),
  }
}

function isSingle(targets: readonly Target[]): targets is readonly [Target] {
  return targets.length === 1 && (targets[0] as Target).weight > 0
}

function linkMirror(mirror: MirrorConfig, name: string, of: string, config: ModelConfig, linking: Linking): Mirror {
  const { upstream, share, most, ...said } = mirror
  const linked = linkTarget({ ...account(upstream), ...said }, name, config, linking)
  // A mirror's health says nothing about the targets that answer clients, and it takes none of their slots.
  Object.assign(linked, { health: new Health(undefined), concurrency: undefined, latency: undefined })
  return { target: linked, share, most, copies: linking.balance.copies(of) }
}
