// What a request needs to know, as types: the plan and the operator's file put together.

import type { Dispatcher } from 'undici'
import type { Concurrency } from '../balance/concurrency.js'
import type { Health } from '../balance/health.js'
import type { Latency } from '../balance/latency.js'
import type { Sticky } from '../balance/sticky.js'
import type { Exchange } from '../core/exchange.js'
import type { Meter } from '../limits/meter.js'
import type { Body, Cost, Dialect, Endpoint, FitRule, Json, Limits, Mapping, ModelFacts, Plan, ProviderPlan, RoutePlan } from '../plan.js'
import type { EventTemplates } from '../wire/event-templates.js'
import type { Choosing, Exposed, GatewayConfig, KeyConfig, ModelConfig } from './config.js'
import type { CrossOrigin } from './cross-origin.js'
import type { Retry } from './retry.js'
import type { Sealer } from './sealer.js'
import type { Signer } from './signer.js'
import type { Token } from './token.js'

export interface Key extends KeyConfig {
  matches(model: string): boolean
  /** Absent: every route. */
  mayAsk?(route: string): boolean
  /** Absent: from every address. */
  mayComeFrom?(address: string): boolean
  /** Its tags as one text of JSON. */
  tagList?: string
  /** What it is limited by: its own limits, and those of its groups. */
  meters?: readonly Meter[]
}

/** Keys that are kept elsewhere than in the file. */
export interface KeySource {
  /** One that was looked up before. */
  known(text: string): Key | undefined
  /** Rejects, or throws, with `unavailable` where nobody can tell. */
  find(text: string, sha256: string): Promise<Key | undefined> | undefined
}

/** How a target serves requests of one dialect. */
export interface Binding {
  /** Another endpoint of the provider, for requests that the mapping of this one refuses. */
  next?: Binding
  /** Bindings that stand before this one for requests that ask for all of some things. */
  preferred?: readonly { asks: readonly ((body: Body) => boolean)[]; binding: Binding }[]
  /** Members of requests that the model does not take as its dialect has them. */
  fit?: readonly FitRule[]
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
  /** Names of headers that the operator sets, or takes out: what a client sends there is not forwarded. */
  heldHeaders?: ReadonlySet<string>
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
  /** The tokens that request and answer may have together, where that is known. */
  context: number | undefined
  traits: Readonly<Record<string, Json>>
  /** Those of them that the catalogue and the operator say, and not the provider of all its models. */
  known: Readonly<Record<string, Json>>
  /** What tokens cost here; absent where there are no prices. */
  cost: Cost | undefined
  /** What the catalogue knows of the model; nothing of an upstream by itself. */
  facts: ModelFacts
  /** The most tokens of an answer, for providers that must be told. */
  maxOutput: number
  secret: string | undefined
  /** Values of the headers that the operator adds to every request: they may be secrets. */
  headerValues?: readonly string[]
  /** Deadlines of this upstream, in place of the route's. */
  limits: Partial<Limits> | undefined
  host: string
  bindings: ReadonlyMap<string, Binding>
  health: Health
  /** The requests that are under way at its upstream; absent: nobody counts them. */
  concurrency: Concurrency | undefined
  /** How long it takes to begin; absent: nobody asks. */
  latency: Latency | undefined
  /** Whether it may serve a request; absent: every one. */
  only: Expression | undefined
  /** Whether callers may see what the account holds as a whole. */
  isShared: boolean
  /** Which of the provider's response headers callers are given; absent: none beside those that routes name. */
  passes?: (header: string) => boolean
  /** The limits of its upstream, whichever of its models is asked for. */
  meters?: readonly Meter[]
}

/** What expressions of gateway.yaml see of a request. */
export interface RequestView {
  readonly key: Json
  readonly groups: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly request: Body
}

/** A compiled expression of gateway.yaml. Throws where the expression fails. */
export type Expression = (view: RequestView) => Json

/** A second target of some requests, whose answers nobody waits for. */
export interface Mirror {
  target: Target
  /** From 0 to 1. */
  share: number
  /** How many may be under way, and how many are. */
  most: number
  active: number
}

export interface Model {
  name: string
  config: ModelConfig
  groups: ReadonlySet<string>
  targets: readonly Target[]
  /** What the operator declares, and where the operator says nothing what the catalogue knows of the model that is asked first. */
  facts: ModelFacts
  /** The most tokens that an answer may have: as the operator says, or as one of the targets can give. */
  maxOutput?: number
  /** Dialects of clients that at least one target can serve. */
  methods: ReadonlySet<string>
  meters?: readonly Meter[]
  /** Nothing but priorities, weights and health say who is asked first. */
  isPlain: boolean
  choose: Choosing
  sticky?: { by: Expression; store: Sticky }
  mirror?: Mirror
  /** No list of models names it. */
  isHidden: boolean
  /** The name with a `*` that it was found by; absent: its own. */
  pattern?: string
  retry: Retry
  /** Milliseconds without a first event after which a second target is asked; absent: none is. */
  hedgeAfter?: number
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
  /** What each group is limited by, where it is. */
  groupMeters: ReadonlyMap<string, readonly Meter[]>
  /** Where there is one: the same for every snapshot. */
  store?: KeySource
  /** Headers by which clients say for whom and what they ask. */
  labels: NonNullable<GatewayConfig['labels']>
  models: ReadonlyMap<string, Model>
  /** A model by another name: an alias, or one that a pattern stands for. */
  find(name: string): Model | undefined
  /** The model of requests that name none. */
  defaultModel: string | undefined
  /** Is told of each request that was sent a second time, when that is over; `total` is milliseconds. */
  onMirrored?(exchange: Exchange, total: number): void
  /** Upstreams by name, for what is asked of one without a model: a task that it has, a list of all it holds. */
  accounts: ReadonlyMap<string, Target>
  sealer: Sealer
  /** What sealed ids may begin with. */
  prefixes: readonly string[]
  /** Whether addresses in requests may lead to private networks. */
  mayFetchPrivate: boolean
  /** Absent: browsers let pages of other origins read nothing. */
  crossOrigin?: CrossOrigin
  /** What answers tell of who gave them; absent: nothing. */
  exposes: Exposed | undefined
  /** An exchange begins in this snapshot, or is over. */
  entered(): void
  left(): void
  /** No exchange begins in it any more: what it holds open is closed when the last one is over. */
  retire(): void
  /** Closes what the snapshot holds open, now. */
  close(): Promise<void>
}

export interface Found {
  kind: 'route'
  route: Route
  params: Readonly<Record<string, string>>
}

/** A path that is known, but not with this method. */
export interface OtherMethods {
  kind: 'other methods'
  allow: string[]
  route: Route
}

export interface RequestHead {
  method: string
  path: string
  query: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  /** Whether a key stands in one of these places. */
  hasKeyIn(places: readonly string[]): boolean
}

export type Router = (head: RequestHead) => Found | OtherMethods | undefined

/** A served path near one that is not; nothing where there is none. */
export type NearPath = (exchange: Exchange, snapshot: Snapshot) => string | undefined
