// The plan and the operator's file put together: everything that a request needs to know, resolved before the first
// one comes. A reload makes another snapshot; exchanges under way keep the one they began with.

import { randomBytes } from 'node:crypto'
import { type Dispatcher, Pool } from 'undici'
import type { KeySource } from '../control/client.js'
import { type Key, linkKey } from '../control/keys.js'
import { matcher } from '../core/text.js'
import type { Dialect, Endpoint, Json, Limits, Mapping, Plan, ProviderPlan, RoutePlan } from '../plan.js'
import type { EventTemplates } from '../wire/event-templates.js'
import type { GatewayConfig, ModelConfig, TargetConfig, UpstreamConfig } from './config.js'
import { createNearPath, type NearPath } from './near-path.js'
import { createRouter, type Router } from './router.js'
import { createSealer, type Sealer } from './sealer.js'
import { type Signer, signerOf } from './signer.js'
import { type Token, tokenOf } from './token.js'

/** How a target serves requests of one dialect. */
export interface Binding {
  /** Another endpoint of the provider, for requests that the mapping of this one refuses. */
  next?: Binding
  target: Target
  /** The client's dialect and the provider's. */
  from: Dialect
  to: Dialect
  /** Absent where both are the same. */
  mapping?: Mapping
  path: string
  streamPath: string
  /** Names and values in turn, as they are sent. */
  headers: readonly string[]
  /** The same names, for finding what a forwarded header replaces. */
  headerNames: ReadonlySet<string>
  endpoint: Endpoint
  /** What a signature begins with that belongs to this provider. */
  tag: string
  origin: string
  pool: Dispatcher
  /** Whether the path has places that are filled for each request. */
  isOpen: boolean
  /** What the events of its streams have in common, from the first that is translated on: most bindings never have one. */
  templates?: EventTemplates
  /** A credential that is made of the secret anew from time to time. */
  token?: Token
  /** A credential that is made for each request. */
  signer?: Signer
}

export interface Target {
  name: string
  upstream: string
  provider: ProviderPlan
  /** The name that the upstream knows the model by. */
  model: string
  weight: number
  priority: number
  traits: Readonly<Record<string, Json>>
  secret: string | undefined
  /** Deadlines of this upstream, in place of the route's. */
  /** What the operator adds to every request of it. */
  headerValues?: readonly string[]
  limits: Partial<Limits> | undefined
  host: string
  bindings: ReadonlyMap<string, Binding>
  /** Until when it is put aside after a failure, on the clock of deadlines; 0 while it is well. */
  health: { ejectedUntil: number; failures: number }
  /** Whether callers may see what the account holds as a whole. */
  isShared: boolean
  /** Which of the provider's response headers callers are given; absent: none beside those that routes name. */
  passes?: (header: string) => boolean
}

export interface Model {
  name: string
  config: ModelConfig
  groups: ReadonlySet<string>
  targets: readonly Target[]
  /** Dialects of clients that at least one target can serve. */
  methods: ReadonlySet<string>
}

/** A route with everything that holds for it. */
export interface Route extends RoutePlan {
  limits: Limits
}

export interface Snapshot {
  plan: Plan
  router: Router
  /** Headers that no request may have twice: two readers of it could mean different things. */
  singleHeaders: ReadonlySet<string>
  /** The served path that was likely meant by one that is not. */
  nearPath: NearPath
  /** By the SHA-256 of their text. */
  keys: ReadonlyMap<string, Key>
  /** Those of them that have been presented, by their text. */
  known: Map<string, Key>
  /** Keys that are kept elsewhere than in the file, where that is so: it is the same one for every snapshot. */
  store?: KeySource
  /** Headers by which clients say for whom and what they ask. */
  labels: NonNullable<GatewayConfig['labels']>
  models: ReadonlyMap<string, Model>
  /** Upstreams by name, for what is asked of one without a model: a task that it has, a list of all it holds. */
  accounts: ReadonlyMap<string, Target>
  sealer: Sealer
  /** What sealed ids may begin with. */
  prefixes: readonly string[]
  /** Whether addresses in requests may lead to private networks. */
  mayFetchPrivate: boolean
  /** An exchange begins in this snapshot, or is over. */
  entered(): void
  left(): void
  /** No exchange begins in it any more: what it holds open is closed when the last one is over. */
  retire(): void
  /** Closes what the snapshot holds open, now. */
  close(): Promise<void>
}

const KEEP_ALIVE = 30_000

/** What says where a request goes, where it ends, and what it is. */
const FRAMING = ['content-length', 'transfer-encoding', 'host', 'content-type']

/** What holds where neither the operator nor a route says otherwise: bytes, and milliseconds. */
const LIMITS: Limits = {
  body: 32 * 1024 * 1024,
  upload: 30_000,
  connect: 5_000,
  headers: 600_000,
  first_event: 600_000,
  idle: 60_000,
  total: 1_800_000,
}

/** Everything is checked by then: a name that leads nowhere is a fault of the caller. */
export function createSnapshot(plan: Plan, config: GatewayConfig): Snapshot {
  const pools = new Map<string, Pool>()
  const poolOf = (origin: string): Pool => {
    let pool = pools.get(origin)
    if (pool === undefined) {
      // The engine arms its own deadlines, for every phase of every call.
      pool = new Pool(origin, {
        connections: null,
        pipelining: 1,
        keepAliveTimeout: KEEP_ALIVE,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: 60_000 },
        allowH2: false,
      })
      pools.set(origin, pool)
    }
    return pool
  }
  const models = new Map<string, Model>()
  for (const name of Object.keys(config.models).sort())
    models.set(name, linkModel(name, config.models[name] as ModelConfig, config, plan, poolOf))
  const accounts = new Map<string, Target>()
  for (const name of Object.keys(config.upstreams)) accounts.set(name, linkTarget({ upstream: name }, undefined, {}, config, plan, poolOf))
  const routes = plan.routes.map((route): Route => ({ ...route, limits: { ...LIMITS, ...route.limits, ...config.limits } }))
  const router = createRouter(routes)
  let users = 0
  let isRetired = false
  // What still runs in it has lost its exchange.
  const destroy = async (): Promise<void> => {
    await Promise.all([...pools.values()].map(pool => pool.destroy()))
  }
  return {
    plan,
    router,
    nearPath: createNearPath(routes, router),
    singleHeaders: new Set([...FRAMING, ...Object.values(plan.keyLocations).flatMap(place => place.header ?? [])]),
    keys: new Map(config.keys.map(key => [key.sha256, linkKey(key)])),
    known: new Map(),
    labels: config.labels ?? {},
    models,
    accounts,
    sealer: createSealer(config.seal ?? [randomBytes(32).toString('hex')]),
    prefixes: [...new Set(plan.routes.map(route => route.sealedIds?.prefix ?? ''))],
    mayFetchPrivate: config.mayFetchPrivate === true,
    entered() {
      users++
    },
    left() {
      users--
      if (isRetired && users === 0) void destroy()
    },
    retire() {
      isRetired = true
      if (users === 0) void destroy()
    },
    close: destroy,
  }
}

/** What belongs to one connection, or to the answer as it was written for it, is never another's. */
const OF_CONNECTION =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-(?:length|encoding|type|range)|set-cookie2?|date|x-request-id)$/

function passing(patterns: readonly string[]): (header: string) => boolean {
  const matches = matcher(patterns)
  return header => matches(header) && !OF_CONNECTION.test(header)
}

/** A target of a model, or an upstream by itself, where the model's name is filled in for each request. */
function linkTarget(
  target: TargetConfig,
  name: string | undefined,
  traits: Readonly<Record<string, Json>>,
  gateway: GatewayConfig,
  plan: Plan,
  poolOf: (origin: string) => Pool,
): Target {
  const upstream = gateway.upstreams[target.upstream] as UpstreamConfig
  const provider = plan.providers[upstream.provider] as ProviderPlan
  const base = new URL((upstream.base ?? provider.base) as string)
  const bindings = new Map<string, Binding>()
  const model = target.model ?? name
  const linked: Target = {
    name: model === undefined ? target.upstream : `${target.upstream}/${model}`,
    upstream: target.upstream,
    provider,
    model: model ?? '',
    weight: target.weight ?? 1,
    priority: target.priority ?? 1,
    traits: Object.freeze({ ...provider.traits, ...traits, ...target.traits }),
    secret: upstream.secret,
    ...(upstream.headers && { headerValues: Object.values(upstream.headers) }),
    limits: upstream.limits,
    host: base.host,
    bindings,
    health: { ejectedUntil: 0, failures: 0 },
    isShared: upstream.isShared === true,
    ...(upstream.passHeaders && { passes: passing(upstream.passHeaders) }),
  }
  for (const from of Object.values(plan.dialects)) {
    const binding = bindingFor(linked, model, from, upstream, base, plan, poolOf)
    if (binding) bindings.set(from.name, binding)
  }
  return linked
}

function linkModel(name: string, config: ModelConfig, gateway: GatewayConfig, plan: Plan, poolOf: (origin: string) => Pool): Model {
  const targets = config.targets.map(target => linkTarget(target, name, config.traits ?? {}, gateway, plan, poolOf))
  const methods = new Set(targets.filter(target => target.weight > 0).flatMap(target => [...target.bindings.keys()]))
  return { name, config, groups: new Set(config.groups ?? ['default']), targets, methods }
}

/** The provider's own dialect if it speaks it, else the first that there is a mapping to, or the one that is asked for. */
function bindingFor(
  target: Target,
  model: string | undefined,
  from: Dialect,
  upstream: UpstreamConfig,
  base: URL,
  plan: Plan,
  poolOf: (origin: string) => Pool,
  asked?: string,
): Binding | undefined {
  const { provider } = target
  const spoken = asked === undefined ? Object.keys(provider.speaks) : [asked]
  const name = spoken.includes(from.name) ? from.name : spoken.find(dialect => plan.mappings[`${from.name}-to-${dialect}`])
  if (name === undefined) return undefined
  const to = plan.dialects[name] as Dialect
  const endpoint = provider.speaks[name] as Endpoint
  const mapping = name === from.name ? undefined : plan.mappings[`${from.name}-to-${name}`]
  const headers: Record<string, string> = { 'user-agent': 'sluice', ...provider.headers }
  for (const [key, value] of Object.entries(upstream.headers ?? {})) headers[key.toLowerCase()] = value
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
  // One step alone: a fallback has no fallback.
  const next =
    mapping && endpoint.fallback !== undefined && asked === undefined
      ? bindingFor(target, model, from, upstream, base, plan, poolOf, endpoint.fallback)
      : undefined
  return {
    target,
    from,
    to,
    ...(mapping && { mapping }),
    path,
    streamPath: fullPath(prefix, endpoint.stream?.path ?? endpoint.path, model, { ...endpoint.query, ...endpoint.stream?.query, ...query }),
    headers: Object.entries(headers).flat(),
    headerNames: new Set(Object.keys(headers)),
    endpoint,
    tag: `sluice.${provider.name}.`,
    origin: base.origin,
    pool: poolOf(base.origin),
    isOpen: path.includes('{'),
    ...(token && { token }),
    ...(signer && { signer }),
    ...(next && { next }),
  }
}

/** A provider's path below an upstream's base. A base that ends with the version that the path begins with says it once. */
function fullPath(prefix: string, path: string, model: string | undefined, query: Readonly<Record<string, string>>): string {
  const version = /^\/v\d\w*(?=\/)/.exec(path)?.[0]
  const whole = version !== undefined && prefix.endsWith(version) ? prefix + path.slice(version.length) : prefix + path
  const text = new URLSearchParams(query).toString()
  const named = model === undefined ? whole : whole.replaceAll('{model}', encodeURIComponent(model))
  return named + (text && `?${text}`)
}
