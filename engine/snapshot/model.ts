// What a request needs to know, as types: the plan and the operator's file put together.

import type { Concurrency } from '../balance/concurrency.js'
import type { Health } from '../balance/health.js'
import type { Latency } from '../balance/latency.js'
import type { Sticky } from '../balance/sticky.js'
import type { Budget } from '../budgets/budgets.js'
import type { Exchange } from '../core/exchange.js'
import type { Meter } from '../limits/meter.js'
import type {
  Body,
  Cost,
  Dialect,
  Endpoint,
  FitRule,
  Json,
  KeepRule,
  Limits,
  Mapping,
  ModelFacts,
  Plan,
  ProviderPlan,
  RoutePlan,
} from '../plan.js'
import type { EventTemplates } from '../wire/event-templates.js'
import type { Finder } from '../wire/patterns.js'
import type { Choosing, Exposed, GatewayConfig, KeyConfig, ModelConfig, Moment } from './config.js'
import type { CrossOrigin } from './cross-origin.js'
import type { Sender } from './patched-answers.js'
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
  /** What holds for it in the configuration that it stands in; absent where it is kept elsewhere. */
  standing?: Standing
}

/** What holds for a key in one configuration. */
export interface Standing {
  /** What it is limited by: its own limits, and those of its groups. */
  meters: readonly Meter[]
  /** What a cost is multiplied by to give what it is charged. */
  times: number
  /** Its own budgets, those of its groups and of its team. */
  budgets: readonly Budget[]
}

/** Budgets that are neither a key's, a model's nor an upstream's, and how money is reserved. */
export interface BudgetRules {
  all: readonly Budget[]
  hasTags: boolean
  ofTags(tags: Iterable<string>): readonly Budget[]
  ofEndUser(name: string): readonly Budget[]
  hasUpstreams: boolean
  /** Tokens of output that a stream holds in advance. */
  step: number
  /** The same of an answer that comes as a whole, where the request does not say how many it may have. */
  whole: number
  /** Bytes of a request for a token. */
  bytesPerToken: number
  /** What an exchange costs of whose usage nobody told. */
  partial: 'seen' | 'reserved' | 'none'
}

/** Keys that are kept elsewhere than in the file. */
export interface KeySource {
  /** One that was looked up before. */
  known(text: string): Key | undefined
  /** Rejects, or throws, with `unavailable` where nobody can tell. */
  find(text: string, sha256: string): Promise<Key | undefined> | undefined
}

/** What a key has used of a model in a day. Money is in the currency of the configuration. */
export interface DayOfUsage {
  /** As in 2026-11-22. */
  day: string
  /** When it began: seconds since 1970. */
  time: number
  model: string | null
  requests: number
  input: number
  output: number
  cost: number
  charge: number
}

/** An answer that is kept, and what its request added to the conversation: texts of JSON. */
export interface KeptAnswer {
  input: string
  answer: string
}

/** What a store is asked, by name: the question and what it tells. Each may be asked again without harm. */
export interface Questions {
  /** What was asked and answered up to a kept answer, the first turn first; none where it is not there, null where it is too much. */
  kept: { asked: { caller: string; id: string }; told: KeptAnswer[] | null }
  /** The kept answers that hold some items; `isAwaited`: they may be on their way. */
  items: { asked: { caller: string; ids: string[]; isAwaited: boolean }; told: KeptAnswer[] | null }
  /** One kept answer. */
  look: { asked: { caller: string; id: string }; told: KeptAnswer | null }
  /** Keeps an answer; one that is too long is not. */
  keep: { asked: KeptAnswer & { caller: string; id: string; previous: string | null; items: string[] }; told: boolean }
  remove: { asked: { caller: string; id: string }; told: boolean }
  /** The usage of a key, days in order. Times are milliseconds since 1970; `to` is not in it. */
  days: { asked: { key: string; from: number; to: number }; told: DayOfUsage[] }
  /** What some accounts have come to; those that nobody has used are left out. */
  spent: { asked: { accounts: string[] }; told: Spent[] }
}

/** What an account of a budget has come to, in nano-units. */
export interface Spent {
  id: string
  spent: number
}

/** A store beside the configuration: keys, and what is kept and counted. */
export interface Store extends KeySource {
  /** Rejects with `unavailable` where nobody can tell. */
  ask<Name extends keyof Questions>(name: Name, asked: Questions[Name]['asked']): Promise<Questions[Name]['told']>
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
  /** The operator patches its requests. */
  isPatched?: boolean
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
  pool: Sender
  /** Whether the path has places that are filled for each request. */
  isOpen: boolean
  /** What the events of its streams have in common, from the first that is translated on: most bindings never have one. */
  templates?: EventTemplates
  /** Whether answers that a request goes on from later are kept here, and not by the provider. */
  keepsHere: boolean
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
  /** The credential is the caller's own. */
  isCallers: boolean
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
  /** The budgets of its upstream. */
  budgets: readonly Budget[]
}

/** What expressions of gateway.yaml see of a request. */
export interface RequestView {
  readonly key: Json
  readonly groups: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly request: Body
}

/** What they see of an exchange on whose way a service is asked. */
export interface ExchangeView extends RequestView {
  readonly route: string
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Absent until the body was read. */
  readonly model?: string
  readonly answer?: Json
}

/** For whose requests something is done on the way. */
export interface LinkedScope {
  forKey(name: string): boolean
  forModel(name: string): boolean
}

/** A service that is asked on the way. */
export interface LinkedCall extends LinkedScope {
  name: string
  at: Moment
  pool: Sender
  origin: string
  path: string
  /** Names and values in turn. */
  headers: readonly string[]
  send: Expression
  may: ReadonlySet<string>
  /** Milliseconds. */
  timeout: number
  refusesOnFail: boolean
  refusesStreams: boolean
}

/** What must not pass. */
export interface LinkedPattern extends LinkedScope {
  name: string
  finder: Finder
  isBlocking: boolean
  mask: string
  inRequest: boolean
  inAnswer: boolean
  window: number
}

/** What is done on the way of a route's requests. */
export interface Guards {
  calls: readonly LinkedCall[]
  patterns: readonly LinkedPattern[]
  /** Headers that carry keys. */
  keyHeaders: ReadonlySet<string>
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
  budgets: readonly Budget[]
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

/** A page as readers of one address get it. */
export interface Copy {
  etag: string
  body: Buffer
  /** The same, compressed: by the first reader who takes that. */
  zipped(): Promise<Buffer>
}

export interface Page {
  headers: Readonly<Record<string, string>>
  /** The page for readers of an address, which nothing in HTML, JSON or a shell can take for anything else. */
  at(address: string): Copy
}

/** An API of an upstream that is handed on as it is. */
export interface ReverseProxy {
  /** What is asked, but for the path. */
  binding: Binding
  /** What the paths of its requests begin with. */
  prefix: string
  /** What stands in its place at the upstream. */
  to: string
  /** The groups whose keys may use it. */
  groups: ReadonlySet<string>
  /** Headers of clients that stay here: places of keys, and what belongs to a connection. */
  dropsHeader(name: string): boolean
  /** The same of members of the query. */
  dropsQuery: ReadonlySet<string>
  /** Headers of the upstream's requests that a client may not say, and those that hold where it says nothing: names and values. */
  fixed: readonly (readonly [string, string])[]
  usual: readonly (readonly [string, string])[]
  /** The member of the query that holds the upstream's secret, as it is sent. */
  query: string | undefined
}

/** A route with everything that holds for it. */
export interface Route extends RoutePlan {
  /** It asks for no model: what becomes of its requests is told apart. */
  isApart: boolean
  /** Absent: nothing is done on the way. */
  guards?: Guards
  /** Whether its answers tell tokens. */
  countsTokens: boolean
  proxy?: ReverseProxy
  limits: Limits
  /** Of a page: what is answered. */
  made?: Page
  /** How many of the places in `auth` stand beside the caller's own credential; the others hold that one where these hold the key. */
  beside: number
  /** How its answers are kept; absent: they are not. */
  keep: KeepRule | undefined
  /** The dialect in whose words it refuses: one that exists, or one with words of the route's own. */
  errors: Dialect
  /** What mappings see of the query of a request. */
  queryFor(query: Readonly<Record<string, string>>): Readonly<Record<string, string>>
}

/** A document about the gateway: its media type, and its bytes. */
export type Documents = Readonly<Record<string, () => Promise<{ type: string; body: Buffer }>>>

export interface Snapshot {
  plan: Plan
  router: Router
  /** By the names that routes have for them; absent: none is told. */
  documents?: Documents
  /** Headers that no request may have twice: two readers of it could mean different things. */
  singleHeaders: ReadonlySet<string>
  /** The served path that was likely meant by one that is not. */
  nearPath: NearPath
  /** By the SHA-256 of their text. */
  keys: ReadonlyMap<string, Key>
  /** Those of them that have been presented, by their text. */
  known: Map<string, Key>
  /** What holds for a key, whether it stands in the file or not. */
  standingOf(key: Key): Standing
  /** Absent: none but those of keys and models. */
  budgets: BudgetRules | undefined
  /** What prices, costs and budgets are in. */
  currency: string
  /** Whether callers are told nothing of a group. */
  isHidden(group: string): boolean
  /** Where there is one: the same for every snapshot. */
  store?: Store
  /** Where signed tokens are keys: the same for every snapshot. */
  tokens?: KeySource
  /** Headers by which clients say for whom and what they ask. */
  labels: NonNullable<GatewayConfig['labels']>
  models: ReadonlyMap<string, Model>
  /** A model by another name: an alias, or one that a pattern stands for. */
  find(name: string): Model | undefined
  /** The dialect in whose words requests for what is no route are refused. */
  errors: Dialect
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
  /** The query as it came. */
  queryText?: string
  /** Whether a key stands in one of these places. */
  hasKeyIn(places: readonly string[]): boolean
}

export type Router = (head: RequestHead) => Found | OtherMethods | undefined

/** A served path near one that is not; nothing where there is none. */
export type NearPath = (exchange: Exchange, snapshot: Snapshot) => string | undefined
