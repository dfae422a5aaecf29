// The gateway's configuration, checked and with its secrets resolved. The CLI reads and checks it.

import type { GatewayModel, GatewayTarget } from '../../schemas/config/types.js'
import type { ConcurrencyConfig } from '../balance/concurrency.js'
import type { HealthConfig } from '../balance/health.js'
import type { RetryBudgetConfig } from '../balance/retry-budget.js'
import type { BudgetConfig } from '../budgets/definition.js'
import type { RateLimits } from '../limits/registry.js'
import type { Kind, Limits } from '../plan.js'
import type { CrossOriginConfig } from './cross-origin.js'

export interface KeyConfig {
  name: string
  /** SHA-256 of the key, in hex. */
  sha256: string
  groups: readonly string[]
  /** Patterns of model names, where `*` stands for anything; undefined: every model of its groups. */
  models?: readonly string[]
  /** Milliseconds since 1970. */
  expires?: number
  enabled: boolean
  /** The number of the key in the store, if it is kept there. */
  id?: number
  team?: string
  /** Patterns of route names, where `*` stands for anything; undefined: every route. */
  routes?: readonly string[]
  /** Addresses and ranges; undefined: every address. */
  ips?: readonly string[]
  tags?: readonly string[]
  rateLimits?: RateLimits
  budgets?: readonly BudgetConfig[]
  /** The common limits of all keys of its team, if the team is kept in a store. */
  teamLimits?: RateLimits
  teamBudgets?: readonly BudgetConfig[]
}

export interface UpstreamConfig {
  provider: string
  /** Undefined: no credential is sent. */
  secret?: string
  /** The caller's own credential is sent. */
  isCallers?: boolean
  base?: string
  headers?: Readonly<Record<string, string>>
  /** Override those of the route. */
  limits?: Partial<Limits>
  /** Patterns of the provider's response headers that callers get, where `*` stands for anything. */
  passHeaders?: readonly string[]
  /** Whether callers may see everything in the account. */
  isShared?: boolean
  rateLimits?: RateLimits
  /** The factor from the catalogue's prices to those paid; undefined: 1. */
  times?: number
  budgets?: readonly BudgetConfig[]
  /** Absent: its targets are never ejected. */
  health?: HealthConfig
  /** Undefined: no bound. */
  concurrency?: ConcurrencyConfig
}

/** Times are milliseconds. */
export interface RetryConfig {
  on: readonly Kind[]
  /** Undefined: one for each target. */
  attempts?: number
  baseInterval: number
  maxInterval: number
  /** Undefined: no bound. */
  budget?: RetryBudgetConfig
}

/** How requests for a model are distributed over its targets. */
export interface RoutingConfig {
  retry?: RetryConfig
  /** Milliseconds without a first event after which a second target is called; undefined: never. */
  hedgeAfter?: number
  choose?: Choosing
  sticky?: { by: string; lasts: number }
  mirror?: MirrorConfig
}

/** Which of several targets of one priority comes first. */
export type Choosing = 'weighted' | 'latency' | 'least_busy' | 'cheapest'

/** The target that gets a copy of a share of the requests, and how many copies at once. */
export interface MirrorConfig {
  upstream: string
  model?: string
  label?: string
  /** From 0 to 1. */
  share: number
  most: number
}

/** `label` is the model's name in the log, if it is another one. */
export type TargetConfig = GatewayTarget & { label?: string }
/** Rules for the parameters of requests, by their paths in the provider's dialect. */
export type ParameterConfig = Pick<GatewayTarget, 'refuse' | 'drop' | 'defaults' | 'cap' | 'force' | 'patch'>
export type ModelConfig = Omit<GatewayModel, 'retry' | 'hedge' | 'choose' | 'sticky' | 'mirror' | 'aliases' | 'hidden' | 'list'> & {
  rateLimits?: RateLimits
  budgets?: readonly BudgetConfig[]
  routing?: RoutingConfig
  aliases?: readonly string[]
  isHidden?: boolean
  /**
   * The names that `*` stands for in lists, if the model's name has one: a list, or `account` for the models that the
   * account of the first target's upstream may use.
   */
  list?: readonly string[] | string
}

/** An upstream's API that passes through unchanged. */
export interface ProxyConfig {
  /** The prefix of its paths, and the prefix that replaces it below the upstream's base; neither ends with a slash. */
  path: string
  to: string
  upstream: string
  /** The dialect of the gateway's own errors. */
  dialect: string
  groups: readonly string[]
  /** Of a request: nano-units of the currency; undefined: unknown. */
  price?: number
  limits: Limits
  /** Whether it takes precedence over routes below its path. */
  replaces: boolean
}

/** When an external service is consulted. */
export type Moment = 'admit' | 'request' | 'answer'

/** The requests that something applies to, by patterns where `*` stands for anything; undefined: all. */
export interface Scope {
  keys?: readonly string[]
  models?: readonly string[]
  routes?: readonly string[]
}

/** An external service that is consulted. */
export interface CallConfig extends Scope {
  at: Moment
  url: string
  headers: Readonly<Record<string, string>>
  /** The expression of the request to the service. */
  send: string
  may: readonly ('refuse' | 'replace' | 'target' | 'facts')[]
  /** Milliseconds. */
  timeout: number
  /** Whether requests are refused if the service fails, and if their answers cannot be shown to it. */
  refusesOnFail: boolean
  refusesStreams: boolean
}

/** Texts that must not pass: exactly one of `match` (patterns) and `words`. */
export interface PatternConfig extends Scope {
  match?: readonly string[]
  words?: readonly string[]
  /** The replacement; undefined: a match is blocked. */
  mask?: string
  inRequest: boolean
  inAnswer: boolean
  /** The longest match that is found in a stream: characters. */
  window: number
}

export interface GroupConfig {
  /** Common limits of all its keys. */
  rateLimits?: RateLimits
  /** Limits of each of its keys. */
  keyLimits?: RateLimits
  /** Patterns of the models that its keys may use; undefined: the models that name the group. */
  models?: readonly string[]
  /** The factor from cost to the charge of its keys; undefined: 1. */
  times?: number
  /** Whether callers never see its name. */
  isHidden?: boolean
  /** Common budgets of all its keys. */
  budgets?: readonly BudgetConfig[]
}

/** Budgets of all callers, and how money is reserved. */
export interface BudgetsConfig {
  all?: readonly BudgetConfig[]
  /** Budgets of each key that has none of its own. */
  key?: readonly BudgetConfig[]
  teams: Readonly<Record<string, readonly BudgetConfig[]>>
  tags: Readonly<Record<string, readonly BudgetConfig[]>>
  /** Budgets of each end user that is not named. */
  endUser?: readonly BudgetConfig[]
  endUsers: Readonly<Record<string, readonly BudgetConfig[]>>
  step: number
  whole: number
  bytesPerToken: number
  partial: 'seen' | 'reserved' | 'none'
}

/** What the `x-sluice-…` headers of answers reveal about the model and provider that answered. */
export interface Exposed {
  target: boolean
  attempts: boolean
  /** The cost of a whole answer; it is not known when the head of a stream is sent. */
  cost: boolean
}

export interface GatewayConfig {
  keys: readonly KeyConfig[]
  upstreams: Readonly<Record<string, UpstreamConfig>>
  models: Readonly<Record<string, ModelConfig>>
  groups?: Readonly<Record<string, GroupConfig>>
  budgets?: BudgetsConfig
  /** Limits of each key without limits of its own. */
  keyLimits?: RateLimits
  limits?: Partial<Limits>
  /** The maximum of output tokens for models that declare none. */
  maxOutput: number
  /** The keys that seal ids, newest first; undefined: one that is made at start. */
  seal?: readonly string[]
  /** Undefined: browsers let pages of other origins read nothing. */
  crossOrigin?: CrossOriginConfig
  exposes?: Exposed
  /** The public pages by name, with the groups whose models they show. */
  pages?: Readonly<Record<string, readonly string[]>>
  /** The currency of costs. */
  currency: string
  /** Whether answers are kept in the store. */
  keeps?: boolean
  /** Whether URLs in requests may lead to private networks. */
  mayFetchPrivate?: boolean
  /** The model of requests that name none. */
  defaultModel?: string
  /** Upstream APIs that pass through unchanged, by route name. */
  proxies?: Readonly<Record<string, ProxyConfig>>
  /** External services that are consulted, by name. */
  calls?: Readonly<Record<string, CallConfig>>
  /** Patterns of texts that must not pass, by name. */
  patterns?: Readonly<Record<string, PatternConfig>>
  /** The headers in which clients name the end user, the conversation and tags. */
  labels?: { endUser?: string; session?: string; tags?: string }
}
