// The types of a snapshot: the plan and the configuration combined for requests.

import type { Concurrency } from '../balance/concurrency.js'
import type { Health } from '../balance/health.js'
import type { Latency } from '../balance/latency.js'
import type { Copies } from '../balance/registry.js'
import type { Sticky } from '../balance/sticky.js'
import type { Budget } from '../budgets/budgets.js'
import type { Exchange } from '../core/exchange.js'
import type { LazyMap } from '../core/lazy-map.js'
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
import type { MediaRule } from './media.js'
import type { Sender } from './patched-answers.js'
import type { Retry } from './retry.js'
import type { Sealer } from './sealer.js'
import type { Signer } from './signer.js'
import type { Token } from './token.js'

export interface Key extends KeyConfig {
  matches(model: string): boolean
  /** Undefined: every route. */
  mayAsk?(route: string): boolean
  /** Undefined: every address. */
  mayComeFrom?(address: string): boolean
  /** Its tags as one JSON text. */
  tagList?: string
  /** Its limits and budgets, if its configuration is in this snapshot; undefined for keys of a store. */
  standing?: Standing
}

/** The limits and budgets of a key in one configuration. */
export interface Standing {
  /** Its own limits, and those of its groups. */
  meters: readonly Meter[]
  /** The factor from cost to charge. */
  times: number
  /** Its own budgets, those of its groups and of its team. */
  budgets: readonly Budget[]
}

/** Budgets that belong to no key, model or upstream, and how money is reserved. */
export interface BudgetRules {
  /** Whether the file has a budget of callers, keys, teams, tags, end users or upstreams. */
  hasAny: boolean
  all: readonly Budget[]
  hasTags: boolean
  ofTags(tags: Iterable<string>): readonly Budget[]
  ofEndUser(name: string): readonly Budget[]
  hasUpstreams: boolean
  /** Output tokens that a stream reserves in advance. */
  step: number
  /** The same for a whole answer, if the request sets no maximum. */
  whole: number
  /** Bytes of a request for each token. */
  bytesPerToken: number
  /** How to charge an exchange whose usage was not reported. */
  partial: 'seen' | 'reserved' | 'none'
}

/** Keys that are not in the configuration file. */
export interface KeySource {
  /** A key that is in the cache. */
  known(text: string): Key | undefined
  /** Rejects, or throws, with `unavailable` if the source cannot be reached. */
  find(text: string, sha256: string): Promise<Key | undefined> | undefined
}

/** A key's usage of a model in a day. Money is in the configured currency. */
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

/** A kept answer, and the items that its request added to the conversation: JSON texts. */
export interface KeptAnswer {
  input: string
  answer: string
}

/** A kept answer with its id. */
export interface KeptTurn extends KeptAnswer {
  id: string
}

/** A kept answer on its way to the store; that of a conversation becomes its last. */
export interface NewAnswer extends KeptTurn {
  caller: string
  previous: string | null
  conversation: string | null
  /** The ids of its items. */
  items: readonly string[]
}

/** The questions to a store by name, with their answers. All are idempotent. */
export interface Questions {
  /**
   * The conversation up to a kept answer, first turn first; an empty list if the answer is unknown, null if it is too long. With
   * `isOverfull` it may be twice as long.
   */
  kept: { asked: { caller: string; id: string; isOverfull?: boolean }; told: KeptTurn[] | null }
  /** The kept answers with some items; `isAwaited`: they may still be on their way to the store. */
  items: { asked: { caller: string; ids: string[]; isAwaited: boolean }; told: KeptAnswer[] | null }
  /** One kept answer. */
  look: { asked: { caller: string; id: string }; told: KeptAnswer | null }
  /** Keeps an answer, unless it is too long. */
  keep: { asked: NewAnswer; told: boolean }
  /** Replaces the text of a kept answer, unless it is another one by now, or gone. */
  change: { asked: { caller: string; id: string; from: string; to: string }; told: boolean }
  remove: { asked: { caller: string; id: string }; told: boolean }
  /** The usage of a key, days in order. Times are milliseconds since 1970; `to` is exclusive. */
  days: { asked: { key: string; from: number; to: number }; told: DayOfUsage[] }
  /** The spending of some accounts; unused ones are left out. */
  spent: { asked: { accounts: string[] }; told: Spent[] }
}

/** The spending of a budget's account, in nano-units. */
export interface Spent {
  id: string
  spent: number
}

/** A store beside the configuration: keys, kept answers and usage. */
export interface Store extends KeySource {
  /** Rejects with `unavailable` if the store cannot be reached. */
  ask<Name extends keyof Questions>(name: Name, asked: Questions[Name]['asked']): Promise<Questions[Name]['told']>
}

/** How a target serves requests in one dialect. */
export interface Binding {
  /** Another endpoint of the provider, for requests that this binding's mapping refuses. */
  next?: Binding
  /** Bindings that replace this one for requests that ask for all of some features. */
  preferred?: readonly { asks: readonly ((body: Body) => boolean)[]; binding: Binding }[]
  /** Rules for members that the model does not accept in the dialect's form. */
  fit?: readonly FitRule[]
  /** What the model takes of requests in the client's dialect. */
  media?: readonly MediaRule[]
  target: Target
  /** The client's dialect and the provider's. */
  from: Dialect
  to: Dialect
  /** Undefined if both are the same. */
  mapping?: Mapping
  /** The operator patches its requests. */
  isPatched?: boolean
  path: string
  streamPath: string
  /** Names and values alternate, as they are sent. */
  headers: readonly string[]
  /** The same names, to find the header that a forwarded one replaces. */
  headerNames: ReadonlySet<string>
  /** Headers that the operator sets or removes: a client's value is not forwarded. */
  heldHeaders?: ReadonlySet<string>
  endpoint: Endpoint
  /** The prefix of the provider's sealed ids. */
  tag: string
  origin: string
  pool: Sender
  /** Whether the path has placeholders that each request fills. */
  isOpen: boolean
  /** Templates of its stream events, made with the first translated stream: most bindings never have any. */
  templates?: EventTemplates
  /** Whether the gateway keeps answers for later requests to continue, because the provider does not. */
  keepsHere: boolean
  /** A short-lived credential that is made from the secret. */
  token?: Token
  /** Makes a signature for each request. */
  signer?: Signer
}

export interface Target {
  name: string
  upstream: string
  provider: ProviderPlan
  /** The upstream's name of the model. */
  model: string
  weight: number
  priority: number
  /** The maximum of tokens in request and answer together, if known. */
  context: number | undefined
  traits: Readonly<Record<string, Json>>
  /** The traits from the catalogue and the configuration, without the provider's defaults for all its models. */
  known: Readonly<Record<string, Json>>
  /** The prices of tokens; undefined if there are none. */
  cost: Cost | undefined
  /** The catalogue's facts about the model; empty for an upstream by itself. */
  facts: ModelFacts
  /** The maximum of output tokens, for providers that require one. */
  maxOutput: number
  secret: string | undefined
  /** The credential is the caller's own. */
  isCallers: boolean
  /** Values of headers that the operator adds to every request; they may be secret. */
  headerValues?: readonly string[]
  /** Deadlines of this upstream, which override the route's. */
  limits: Partial<Limits> | undefined
  host: string
  /** By the client's dialect. Most models are called in one or two, so each is made when it is first used. */
  bindings: LazyMap<Binding>
  /** The dialects of clients that it may serve. */
  clients: readonly Dialect[]
  health: Health
  /** Counts the requests under way at its upstream; undefined if nothing needs the count. */
  concurrency: Concurrency | undefined
  /** Measures the time to its first bytes; undefined if nothing needs it. */
  latency: Latency | undefined
  /** Decides whether it may serve a request; undefined: always. */
  only: Expression | undefined
  /** Whether callers may see everything in the account. */
  isShared: boolean
  /** Which of the provider's response headers callers get; undefined: only those that routes name. */
  passes?: (header: string) => boolean
  /** The limits of its upstream, for all of the upstream's models. */
  meters: readonly Meter[]
  /** The budgets of its upstream. */
  budgets: readonly Budget[]
}

/** The variables of expressions in gateway.yaml about a request. */
export interface RequestView {
  readonly key: Json
  readonly groups: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly request: Body
}

/** The variables of an expression for a consulted service. */
export interface ExchangeView extends RequestView {
  readonly route: string
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Undefined until the body was read. */
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
  /** Names and values alternate. */
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

/** The checks of a route's requests and answers. */
export interface Guards {
  calls: readonly LinkedCall[]
  patterns: readonly LinkedPattern[]
  /** Headers that carry keys. */
  keyHeaders: ReadonlySet<string>
}

/** A compiled expression of gateway.yaml. Throws if the expression fails. */
export type Expression = (view: RequestView) => Json

/** A second target that gets copies of some requests, whose answers are discarded. */
export interface Mirror {
  target: Target
  /** From 0 to 1. */
  share: number
  /** The maximum of copies under way. */
  most: number
  copies: Copies
}

export interface Model {
  name: string
  config: ModelConfig
  groups: ReadonlySet<string>
  targets: readonly Target[]
  /** The operator's facts, completed by the catalogue's facts about the first target's model. */
  facts: ModelFacts
  /** The maximum of output tokens: the operator's, or the greatest of its targets. */
  maxOutput?: number
  /** The client dialects that at least one target can serve. */
  methods: ReadonlySet<string>
  meters?: readonly Meter[]
  budgets: readonly Budget[]
  /** Only priorities, weights and health decide the order of targets. */
  isPlain: boolean
  /** Its only target, if no rule decides whether that serves a request. */
  single?: readonly [Target]
  choose: Choosing
  sticky?: { by: Expression; store: Sticky }
  mirror?: Mirror
  /** Lists of models leave it out. */
  isHidden: boolean
  /** The wildcard name that it was found by; undefined: its own name. */
  pattern?: string
  retry: Retry
  /** Milliseconds without a first event after which a second target is called; undefined: never. */
  hedgeAfter?: number
}

/** A page for the readers of one address. */
export interface Copy {
  etag: string
  body: Buffer
  /** The same, compressed when the first reader accepts that. */
  zipped(): Promise<Buffer>
}

export interface Page {
  headers: Readonly<Record<string, string>>
  /** The page for readers of an address, which must hold no character with a meaning in HTML, JSON or a shell. */
  at(address: string): Copy
}

/** An upstream's API that passes through unchanged. */
export interface ReverseProxy {
  /** The upstream request, without the path. */
  binding: Binding
  /** The prefix of its paths. */
  prefix: string
  /** The prefix that replaces it at the upstream. */
  to: string
  /** The groups whose keys may use it. */
  groups: ReadonlySet<string>
  /** Whether a client's header is not forwarded: it may hold a key, or belongs to a connection. */
  dropsHeader(name: string): boolean
  /** The same for query parameters. */
  dropsQuery: ReadonlySet<string>
  /** Headers of the upstream request that a client cannot set, and defaults for those that it may: names and values. */
  fixed: readonly (readonly [string, string])[]
  usual: readonly (readonly [string, string])[]
  /** The query parameter with the upstream's secret, as it is sent. */
  query: string | undefined
}

/** A route with everything linked that its requests need. */
export interface Route extends RoutePlan {
  /** It has no model; `apart` in gateway.ts serves its requests. */
  isApart: boolean
  /** Undefined: no checks. */
  guards?: Guards
  /** Whether its answers report tokens. */
  countsTokens: boolean
  proxy?: ReverseProxy
  limits: Limits
  /** The answer, if the route is a page. */
  made?: Page
  /**
   * The number of locations in `auth` that come beside the caller's own credential; the other locations hold the credential if
   * one of these holds the key.
   */
  beside: number
  /** How its answers are kept; undefined: they are not. */
  keep: KeepRule | undefined
  /** The dialect of its errors: an existing one, or one with the route's own error body. */
  errors: Dialect
  /** The query parameters that mappings see. */
  queryFor(query: Readonly<Record<string, string>>): Readonly<Record<string, string>>
}

/** The documents about the gateway: media type and bytes. */
export type Documents = Readonly<Record<string, () => Promise<{ type: string; body: Buffer }>>>

export interface Snapshot {
  plan: Plan
  router: Router
  /** By the names that routes use; undefined: there are none. */
  documents?: Documents
  /** Headers that no request may repeat: two readers could take different values. */
  singleHeaders: ReadonlySet<string>
  /** Finds the served path that a client likely meant. */
  nearPath: NearPath
  /** By the SHA-256 of their text. */
  keys: ReadonlyMap<string, Key>
  /** The names of these keys. */
  keyNames: ReadonlySet<string>
  /** The keys that have been presented, by their text. */
  known: Map<string, Key>
  /** The limits and budgets of a key, in the file or not. */
  standingOf(key: Key): Standing
  /** Whether any exchange may have a limit, or a budget. */
  hasLimits(): boolean
  hasBudgets(): boolean
  budgets: BudgetRules
  /** The currency of prices, costs and budgets. */
  currency: string
  /** Whether callers never see a group's name. */
  isHidden(group: string): boolean
  /** The store, if there is one: the same for every snapshot. */
  store?: Store
  /** The source of signed tokens, if they are keys: the same for every snapshot. */
  tokens?: KeySource
  /** The headers in which clients name the end user, the conversation and tags. */
  labels: NonNullable<GatewayConfig['labels']>
  models: ReadonlyMap<string, Model>
  /** A model by its name, an alias, or a name that a pattern matches. */
  find(name: string): Model | undefined
  /** The dialect of errors for unknown paths. */
  errors: Dialect
  /** The model of requests that name none. */
  defaultModel: string | undefined
  /** Receives each mirrored exchange when it has ended; `total` is milliseconds. */
  onMirrored?(exchange: Exchange, total: number): void
  /** Upstreams by name, for requests without a model: about a task, or about a whole account. */
  accounts: ReadonlyMap<string, Target>
  sealer: Sealer
  /** The possible prefixes of sealed ids. */
  prefixes: readonly string[]
  /** Whether URLs in requests may lead to private networks. */
  mayFetchPrivate: boolean
  /** Undefined: browsers let pages of other origins read nothing. */
  crossOrigin?: CrossOrigin
  /** What answers reveal about the model and provider that answered; undefined: nothing. */
  exposes: Exposed | undefined
  /** Count the exchanges that use this snapshot: when one begins, and when it ends. */
  entered(): void
  left(): void
  /** No new exchange begins in it: it closes its connections when the last one has ended. */
  retire(): void
  /** Closes its connections now. */
  close(): Promise<void>
}

export interface Found {
  kind: 'route'
  route: Route
  params: Readonly<Record<string, string>>
}

/** A path that exists, but not with this method. */
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
  /** The query as it was sent. */
  queryText?: string
  /** Whether a key is in one of these locations. */
  hasKeyIn(locations: readonly string[]): boolean
}

export type Router = (head: RequestHead) => Found | OtherMethods | undefined

/** A served path similar to an unknown one; undefined if there is none. */
export type NearPath = (exchange: Exchange, snapshot: Snapshot) => string | undefined
