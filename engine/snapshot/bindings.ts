// Bindings: how a target serves requests of each client's dialect. What does not depend on the model is made once for an upstream
// and a dialect, since a configuration may have thousands of models, and few upstreams.

import { LazyMap } from '../core/lazy-map.js'
import type { Body, Dialect, Endpoint, FitRule, Mapping, Plan, ProviderPlan } from '../plan.js'
import type { GatewayConfig, ParameterConfig, TargetConfig, UpstreamConfig } from './config.js'
import type { Expressions } from './expressions.js'
import { mediaRules } from './media.js'
import type { Binding, Target } from './model.js'
import { createSpokenTo, pairOf, type SpokenTo } from './pairs.js'
import { parameterRules } from './parameters.js'
import { patchedAnswers, type Sender, withUsageOf } from './patched-answers.js'
import { patchedDialect, patchedMapping, patchFor } from './patched-requests.js'
import { signerOf } from './signer.js'
import { tokenOf } from './token.js'

/** The operator's rules for parameters, and headers, of a model or a target. */
type Wish = ParameterConfig & Pick<TargetConfig, 'headers'>

/** Those of a model, and of a target. */
export type Wishes = readonly [Wish, Wish]

const NONE: Wishes = [{}, {}]
const MEMBERS: readonly (keyof Wish)[] = ['refuse', 'drop', 'defaults', 'cap', 'force', 'patch', 'headers']

/** Most models have none: their bindings have all in common. */
export function wishesOf(...wishes: Wishes): Wishes {
  return wishes.some(wish => MEMBERS.some(member => wish[member] !== undefined)) ? wishes : NONE
}

/** What the bindings of a target have in common with those of other models of the upstream. */
interface Common {
  shared: Omit<Binding, 'target' | 'path' | 'streamPath' | 'isOpen' | 'fit' | 'media' | 'next' | 'preferred'>
  pathOf(model: string | undefined): string
  streamPathOf(model: string | undefined): string
  /** The operator's rules, and those of the endpoint. */
  rules: readonly FitRule[]
  /** The client's dialect as it is, for what the model accepts of it. */
  client: Dialect
  /** Another endpoint, for requests that the mapping refuses. */
  next?: Common
}

interface Commons {
  /** By the client's dialect. */
  usual: ReadonlyMap<string, Common>
  clients: readonly Dialect[]
  /** In one of the dialects of the provider. */
  asked(from: Dialect, speaks: string): Common | undefined
}

interface Preferred {
  asks: readonly ((body: Body) => boolean)[]
  common: Common
}

interface Parts {
  gateway: GatewayConfig
  plan: Plan
  poolOf(origin: string): Sender
  expressions: Expressions
}

/** Links a target's bindings; `model` is undefined for an upstream by itself. Throws if a mapping that they need was left out. */
export type LinkBindings = (target: Target, model: string | undefined, wishes: Wishes) => Pick<Target, 'bindings' | 'clients'>

export function createLinkBindings(parts: Parts): LinkBindings {
  const spokenTo = createSpokenTo(parts.plan)
  /** By upstream, for models without wishes. */
  const known = new Map<string, Commons>()
  const commonsFor = (upstream: string, wishes: Wishes): Commons => {
    if (wishes !== NONE) return commonsOf(upstream, wishes, spokenTo, parts)
    let commons = known.get(upstream)
    if (commons === undefined) known.set(upstream, (commons = commonsOf(upstream, wishes, spokenTo, parts)))
    return commons
  }
  return (target, model, wishes) => {
    const { usual, clients, asked } = commonsFor(target.upstream, wishes)
    const bindings = new LazyMap(usual, name => {
      const common = usual.get(name) as Common
      const preferred = preferredTo(common, target, asked).map(one => ({ asks: one.asks, binding: bindingOf(one.common, target, model) }))
      return { ...bindingOf(common, target, model), ...(preferred.length > 0 && { preferred }) }
    })
    // What the catalogue prefers may need other mappings: one that was left out must fail the start, not a request.
    if (target.facts.prefer !== undefined) for (const common of usual.values()) preferredTo(common, target, asked)
    return { bindings, clients }
  }
}

function bindingOf(common: Common, target: Target, model: string | undefined): Binding {
  const { shared, rules, client, next } = common
  const path = common.pathOf(model)
  const own = shared.to.fit?.filter(rule => rule.where(target.known)) ?? []
  const fit = own.length === 0 ? rules : [...rules, ...own]
  const media = mediaRules(client, target.known)
  return {
    ...shared,
    target,
    path,
    streamPath: common.streamPathOf(model),
    isOpen: path.includes('{'),
    ...(fit.length > 0 && { fit }),
    ...(media.length > 0 && { media }),
    ...(next && { next: bindingOf(next, target, model) }),
  }
}

/** What the catalogue prefers to the usual, with the features that a request must ask for. */
function preferredTo({ client, shared }: Common, { facts, provider }: Target, commonFor: Commons['asked']): Preferred[] {
  return (facts.prefer ?? []).flatMap(({ when, speaks }) => {
    const asks = when.map(name => client.asks?.[name])
    if (speaks === shared.to.name || provider.speaks[speaks] === undefined || asks.includes(undefined)) return []
    const common = commonFor(client, speaks)
    return common === undefined ? [] : [{ asks: asks as ((body: Body) => boolean)[], common }]
  })
}

function commonsOf(upstreamName: string, wishes: Wishes, spokenTo: SpokenTo, parts: Parts): Commons {
  const { gateway, plan } = parts
  const upstream = gateway.upstreams[upstreamName] as UpstreamConfig
  const provider = plan.providers[upstream.provider] as ProviderPlan
  const made = new Map<string, Common>()
  /** In the client's own dialect if the provider speaks it, else the first with a mapping, or the one that is asked for. */
  const commonFor = (from: Dialect, asked?: string): Common | undefined => {
    const name = spokenTo(from.name, provider, asked)
    if (name === undefined) return undefined
    const pair = pairOf(from.name, name)
    let common = made.get(pair)
    if (common === undefined) made.set(pair, (common = commonOf(upstream, provider, wishes, from, name, parts)))
    return common
  }
  const usual = new Map<string, Common>()
  for (const from of Object.values(plan.dialects)) {
    const common = commonFor(from)
    if (common === undefined) continue
    const { mapping, endpoint } = common.shared
    // One step only: a fallback has no fallback.
    const next = mapping && endpoint.fallback !== undefined ? commonFor(from, endpoint.fallback) : undefined
    usual.set(from.name, next ? { ...common, next } : common)
  }
  return { usual, clients: [...usual.values()].map(({ client }) => client), asked: commonFor }
}

/** What bindings to an upstream in its dialect `name` have in common for clients of the dialect `from`. */
function commonOf(
  upstream: UpstreamConfig,
  provider: ProviderPlan,
  wishes: Wishes,
  from: Dialect,
  name: string,
  { plan, poolOf, expressions }: Parts,
): Common {
  const base = new URL((upstream.base ?? provider.base) as string)
  const endpoint = provider.speaks[name] as Endpoint
  const usual = withUsageOf(endpoint, plan.dialects[name] as Dialect)
  const patch = patchFor(wishes, name, expressions)
  const made = name === from.name ? undefined : mappingIn(plan, pairOf(from.name, name))
  const mapping = made && patch ? patchedMapping(made, patch) : made
  const to = patch && !made ? patchedDialect(usual, patch) : usual
  const dialects = Object.keys(provider.speaks).map(spoken => plan.dialects[spoken] as Dialect)
  const secretQuery: Record<string, string> =
    upstream.secret !== undefined && provider.credential.query !== undefined ? { [provider.credential.query]: upstream.secret } : {}
  const member = !mapping && to.model.from === 'query' ? to.model.path[0] : undefined
  const prefix = base.pathname.replace(/\/$/, '')
  return {
    shared: {
      from: mapping?.passesRest ? withoutUnnamed(from) : from,
      to,
      ...(mapping && { mapping }),
      ...(patch && { isPatched: true }),
      ...credentialOf(upstream, provider, wishes),
      endpoint,
      tag: `sluice.${provider.name}.`,
      origin: base.origin,
      pool: patchedAnswers(poolOf(base.origin), endpoint, to),
      keepsHere: mapping !== undefined || !endpoint.keeps,
    },
    pathOf: pathsOf(prefix, endpoint.path, { ...endpoint.query, ...secretQuery }, member),
    streamPathOf: pathsOf(
      prefix,
      endpoint.stream?.path ?? endpoint.path,
      { ...endpoint.query, ...endpoint.stream?.query, ...secretQuery },
      member,
    ),
    rules: parameterRules(...wishes, endpoint, to, dialects),
    client: from,
  }
}

/** A mapping that exists. */
function mappingIn({ mappings }: Plan, pair: string): Mapping {
  const found = mappings[pair]
  if (found === undefined) throw new Error(`the mapping ${pair} was left out, although an upstream needs it`)
  return found
}

/** The headers of each request, and what makes the credential in them. */
function credentialOf(
  { secret, headers: own }: UpstreamConfig,
  { credential, headers: usual }: ProviderPlan,
  wishes: Wishes,
): Pick<Binding, 'headers' | 'headerNames' | 'heldHeaders' | 'token' | 'signer'> {
  const headers: Record<string, string> = { 'user-agent': 'sluice', ...usual }
  for (const [key, value] of Object.entries(own ?? {})) headers[key.toLowerCase()] = value
  const held = new Map(wishes.flatMap(wish => Object.entries(wish.headers ?? {})).map(([key, value]) => [key.toLowerCase(), value]))
  for (const [key, value] of held) {
    if (value === null) delete headers[key]
    else headers[key] = value
  }
  const token = secret === undefined ? undefined : tokenOf(credential, secret)
  const signer = secret === undefined ? undefined : signerOf(credential, secret)
  if (secret !== undefined && credential.header !== undefined && !token && !signer)
    headers[credential.header.toLowerCase()] = `${credential.prefix ?? ''}${secret}`
  return {
    headers: Object.entries(headers).flat(),
    headerNames: new Set(Object.keys(headers)),
    ...(held.size > 0 && { heldHeaders: new Set(held.keys()) }),
    ...(token && { token }),
    ...(signer && { signer }),
  }
}

/** A dialect without the search for unnamed members, which a pass-through does not need. */
function withoutUnnamed({ unnamed, ...dialect }: Dialect): Dialect {
  return dialect
}

/** The paths of an endpoint by model; `member` is the query parameter that names the model, if one does. */
function pathsOf(
  prefix: string,
  path: string,
  query: Readonly<Record<string, string>>,
  member: string | undefined,
): (model: string | undefined) => string {
  if (member !== undefined) return model => fullPath(prefix, path, model, model === undefined ? query : { ...query, [member]: model })
  const open = fullPath(prefix, path, undefined, {})
  const text = queryText(query)
  return model => (model === undefined ? open : withModel(open, model)) + text
}

/** A provider's path below an upstream's base. A version that ends the base and begins the path appears once. */
export function fullPath(prefix: string, path: string, model: string | undefined, query: Readonly<Record<string, string>>): string {
  const version = /^\/v\d\w*(?=\/)/.exec(path)?.[0]
  const whole = version !== undefined && prefix.endsWith(version) ? prefix + path.slice(version.length) : prefix + path
  return (model === undefined ? whole : withModel(whole, model)) + queryText(query)
}

const withModel = (path: string, model: string): string => path.replaceAll('{model}', encodeURIComponent(model))

function queryText(query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString()
  return text && `?${text}`
}
