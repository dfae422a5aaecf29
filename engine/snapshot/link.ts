// Links a model's targets and an upstream's bindings: resolves the names in the configuration to what a request needs.

import type { Pool } from 'undici'
import { Health } from '../balance/health.js'
import type { Balance } from '../balance/registry.js'
import type { Budgets } from '../budgets/budgets.js'
import { matcher } from '../core/text.js'
import type { Meter } from '../limits/meter.js'
import { type Meters, mergeRateLimits } from '../limits/registry.js'
import type { Body, Dialect, Endpoint, Mapping, ModelFacts, Plan, Prices, ProviderPlan } from '../plan.js'
import { keyBudgets } from './budget-rules.js'
import { factsFor } from './catalogue.js'
import type {
  GatewayConfig,
  GroupConfig,
  KeyConfig,
  MirrorConfig,
  ModelConfig,
  ParameterConfig,
  TargetConfig,
  UpstreamConfig,
} from './config.js'
import { compiled, type Expressions } from './expressions.js'
import { linkKey as permitted } from './key.js'
import { mediaRules } from './media.js'
import type { Binding, Key, Mirror, Model, Standing, Target } from './model.js'
import { pairOf, type SpokenTo } from './pairs.js'
import { parameterRules } from './parameters.js'
import { patchedAnswers, withUsageOf } from './patched-answers.js'
import { patchedDialect, patchedMapping, patchFor } from './patched-requests.js'
import { costOf, ownPrices } from './price.js'
import { linkRetry } from './retry.js'
import { signerOf } from './signer.js'
import { tokenOf } from './token.js'

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
  spokenTo: SpokenTo
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

/**
 * A target of a model, or an upstream by itself, whose model name is filled in for each request. `label` is the model's
 * name in the log.
 */
export function linkTarget(
  target: TargetConfig,
  modelName: string | undefined,
  config: ModelConfig | undefined,
  { gateway, plan, poolOf, spokenTo, meters, budgets, balance, expressions, counted }: Linking,
  label?: string,
): Target {
  const upstream = gateway.upstreams[target.upstream] as UpstreamConfig
  const provider = plan.providers[upstream.provider] as ProviderPlan
  const base = new URL((upstream.base ?? provider.base) as string)
  const bindings = new Map<string, Binding>()
  const model = target.model ?? modelName
  const facts = model === undefined ? {} : factsFor(plan.catalogue, provider.name, target.known_as ?? model)
  const known = { ...facts.traits, ...config?.traits, ...target.traits }
  const name = model === undefined ? target.upstream : `${target.upstream}/${label ?? model}`
  const linked: Target = {
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
    bindings,
    health: balance.health(`${target.upstream}/${model ?? ''}`, upstream.health),
    concurrency: counted.has(target.upstream) ? balance.concurrency(target.upstream, upstream.concurrency) : undefined,
    latency: config?.routing?.choose === 'latency' ? balance.latency(`${target.upstream}/${model ?? ''}`) : undefined,
    only: target.only === undefined ? undefined : compiled(target.only, expressions),
    isShared: upstream.isShared === true,
    ...(upstream.passHeaders && { passes: passing(upstream.passHeaders) }),
    meters: meters.of(`upstream:${target.upstream}`, `the upstream ${target.upstream}`, upstream.rateLimits),
    budgets: budgets.of({ scope: `upstream:${target.upstream}`, words: 'the upstream', isTold: false }, upstream.budgets, gateway.currency),
  }
  for (const from of Object.values(plan.dialects)) {
    const wishes = [config ?? {}, target] as const
    const served: Served = { target: linked, model, upstream, base, plan, spokenTo, pool: poolOf(base.origin), wishes, expressions }
    const binding = bindingFor(served, from)
    if (binding === undefined) continue
    const preferred = preferredTo(binding, served)
    if (preferred.length > 0) binding.preferred = preferred
    bindings.set(from.name, binding)
  }
  return linked
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

/** The bindings that the catalogue prefers to the usual one, with the features that a request must ask for. */
function preferredTo(usual: Binding, served: Served): NonNullable<Binding['preferred']> {
  const { from, target } = usual
  return (target.facts.prefer ?? []).flatMap(({ when, speaks }) => {
    const asks = when.map(name => from.asks?.[name])
    if (speaks === usual.to.name || target.provider.speaks[speaks] === undefined || asks.includes(undefined)) return []
    const binding = bindingFor(served, from, speaks)
    return binding === undefined ? [] : [{ asks: asks as ((body: Body) => boolean)[], binding }]
  })
}

/**
 * Links a model. `of` is the name that it counts as, and `labels` the name of its targets in the log if a pattern stands
 * for it.
 */
export function linkModel(name: string, config: ModelConfig, linking: Linking, of = name, labels?: readonly string[]): Model {
  const targets = config.targets.map((target, index) => linkTarget(target, name, config, linking, labels?.[index]))
  const methods = new Set(
    targets
      .filter(({ weight }) => weight > 0)
      .flatMap(({ bindings, facts }) => [...bindings.values()].flatMap(({ from }) => (isFor(from, facts) ? [from.name] : []))),
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
    ...(mirror && { mirror: linkMirror(mirror, name, config, linking) }),
    retry: linkRetry(of, retry, targets.length === 1, linking.balance),
    ...(hedgeAfter !== undefined && targets.length > 1 && { hedgeAfter }),
  }
}

function isSingle(targets: readonly Target[]): targets is readonly [Target] {
  return targets.length === 1 && (targets[0] as Target).weight > 0
}

function linkMirror({ upstream, model, share, most }: MirrorConfig, name: string, config: ModelConfig, linking: Linking): Mirror {
  const target: TargetConfig = { ...account(upstream), ...(model !== undefined && { model }) }
  const linked = linkTarget(target, name, config, linking)
  // A mirror's health says nothing about the targets that answer clients, and it takes none of their slots.
  Object.assign(linked, { health: new Health(undefined), concurrency: undefined, latency: undefined })
  return { target: linked, share, most, active: 0 }
}

/** A target, with what its bindings have in common. */
interface Served {
  target: Target
  model: string | undefined
  upstream: UpstreamConfig
  base: URL
  plan: Plan
  spokenTo: SpokenTo
  pool: Pool
  /** The operator's parameter rules for the model, and for the target. */
  wishes: readonly [ModelWishes, ModelWishes]
  expressions: Expressions
}

type ModelWishes = ParameterConfig & Pick<TargetConfig, 'headers'>

/** A mapping that exists. */
function mappingIn({ mappings }: Plan, pair: string): Mapping {
  const found = mappings[pair]
  if (found === undefined) throw new Error(`the mapping ${pair} was left out, although an upstream needs it`)
  return found
}

/** The client's own dialect if the provider speaks it, else the first with a mapping, or the one that is asked for. */
function bindingFor(served: Served, from: Dialect, asked?: string): Binding | undefined {
  const { target, model, upstream, base, plan, spokenTo, pool, wishes, expressions } = served
  const { provider } = target
  const name = spokenTo(from.name, provider, asked)
  if (name === undefined) return undefined
  const endpoint = provider.speaks[name] as Endpoint
  const usual = withUsageOf(endpoint, plan.dialects[name] as Dialect)
  const patch = patchFor(wishes, name, expressions)
  const made = name === from.name ? undefined : mappingIn(plan, pairOf(from.name, name))
  const mapping = made && patch ? patchedMapping(made, patch) : made
  const to = patch && !made ? patchedDialect(usual, patch) : usual
  const headers: Record<string, string> = { 'user-agent': 'sluice', ...provider.headers }
  for (const [key, value] of Object.entries(upstream.headers ?? {})) headers[key.toLowerCase()] = value
  const held = new Map(wishes.flatMap(wish => Object.entries(wish.headers ?? {})).map(([key, value]) => [key.toLowerCase(), value]))
  for (const [key, value] of held) {
    if (value === null) delete headers[key]
    else headers[key] = value
  }
  const { credential } = provider
  const token = upstream.secret === undefined ? undefined : tokenOf(credential, upstream.secret)
  const signer = upstream.secret === undefined ? undefined : signerOf(credential, upstream.secret)
  if (upstream.secret !== undefined && credential.header !== undefined && !token && !signer)
    headers[credential.header.toLowerCase()] = `${credential.prefix ?? ''}${upstream.secret}`
  const query: Record<string, string> =
    upstream.secret !== undefined && credential.query !== undefined ? { [credential.query]: upstream.secret } : {}
  if (!mapping && to.model.from === 'query' && model !== undefined) query[to.model.path[0] as string] = model
  const prefix = base.pathname.replace(/\/$/, '')
  const path = fullPath(prefix, endpoint.path, model, { ...endpoint.query, ...query })
  // One step only: a fallback has no fallback.
  const next = mapping && endpoint.fallback !== undefined && asked === undefined ? bindingFor(served, from, endpoint.fallback) : undefined
  const dialects = Object.keys(provider.speaks).map(spoken => plan.dialects[spoken] as Dialect)
  const fit = [...parameterRules(...wishes, endpoint, to, dialects), ...(to.fit ?? []).filter(rule => rule.where(target.known))]
  const media = mediaRules(from, target.known)
  return {
    target,
    from: mapping?.passesRest ? withoutUnnamed(from) : from,
    to,
    ...(fit.length > 0 && { fit }),
    ...(media.length > 0 && { media }),
    ...(mapping && { mapping }),
    ...(patch && { isPatched: true }),
    path,
    streamPath: fullPath(prefix, endpoint.stream?.path ?? endpoint.path, model, { ...endpoint.query, ...endpoint.stream?.query, ...query }),
    headers: Object.entries(headers).flat(),
    headerNames: new Set(Object.keys(headers)),
    ...(held.size > 0 && { heldHeaders: new Set(held.keys()) }),
    endpoint,
    tag: `sluice.${provider.name}.`,
    origin: base.origin,
    pool: patchedAnswers(pool, endpoint, to),
    isOpen: path.includes('{'),
    keepsHere: mapping !== undefined || !endpoint.keeps,
    ...(token && { token }),
    ...(signer && { signer }),
    ...(next && { next }),
  }
}

/** A dialect without the search for unnamed members, which a pass-through does not need. */
function withoutUnnamed({ unnamed, ...dialect }: Dialect): Dialect {
  return dialect
}

/** A provider's path below an upstream's base. A version that ends the base and begins the path appears once. */
export function fullPath(prefix: string, path: string, model: string | undefined, query: Readonly<Record<string, string>>): string {
  const version = /^\/v\d\w*(?=\/)/.exec(path)?.[0]
  const whole = version !== undefined && prefix.endsWith(version) ? prefix + path.slice(version.length) : prefix + path
  const text = new URLSearchParams(query).toString()
  const named = model === undefined ? whole : whole.replaceAll('{model}', encodeURIComponent(model))
  return named + (text && `?${text}`)
}
