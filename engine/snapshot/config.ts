// The operator's file, read and with its secrets at hand. Reading and checking it is the command line's work.

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
  /** Patterns of model names, where `*` is anything; absent: every model of its groups. */
  models?: readonly string[]
  /** Milliseconds since 1970. */
  expires?: number
  enabled: boolean
  /** Where the key is kept in a store: its number there. */
  id?: number
  team?: string
  /** Patterns of names of routes, where `*` is anything; absent: every route. */
  routes?: readonly string[]
  /** Addresses and ranges of them; absent: from everywhere. */
  ips?: readonly string[]
  tags?: readonly string[]
  rateLimits?: RateLimits
  budgets?: readonly BudgetConfig[]
  /** What all keys of its team may together, where the team is kept in a store. */
  teamLimits?: RateLimits
  teamBudgets?: readonly BudgetConfig[]
}

export interface UpstreamConfig {
  provider: string
  /** Absent: none is sent. */
  secret?: string
  /** The caller's own credential is sent. */
  isCallers?: boolean
  base?: string
  headers?: Readonly<Record<string, string>>
  /** In place of the route's. */
  limits?: Partial<Limits>
  /** Patterns of names of the provider's response headers that callers are given, where `*` is anything. */
  passHeaders?: readonly string[]
  /** Whether callers may see what the account holds as a whole. */
  isShared?: boolean
  rateLimits?: RateLimits
  /** What it pays of the prices in the catalogue; absent: all of it. */
  times?: number
  budgets?: readonly BudgetConfig[]
  /** Absent: its targets are never ejected. */
  health?: HealthConfig
  /** Absent: no bound. */
  concurrency?: ConcurrencyConfig
}

/** Times are milliseconds. */
export interface RetryConfig {
  on: readonly Kind[]
  /** Absent: one for each target. */
  attempts?: number
  baseInterval: number
  maxInterval: number
  /** Absent: no bound. */
  budget?: RetryBudgetConfig
}

/** How requests for a model are given to its targets. */
export interface RoutingConfig {
  retry?: RetryConfig
  /** Milliseconds without a first event after which a second target is asked; absent: none is. */
  hedgeAfter?: number
  choose?: Choosing
  sticky?: { by: string; lasts: number }
  mirror?: MirrorConfig
}

/** Which of several targets of one priority is asked first. */
export type Choosing = 'weighted' | 'latency' | 'least_busy' | 'cheapest'

/** Where a share of the requests is sent a second time, and how many at a time. */
export interface MirrorConfig {
  upstream: string
  model?: string
  /** From 0 to 1. */
  share: number
  most: number
}

export type TargetConfig = GatewayTarget
/** What happens to the parameters of requests, by their paths in the provider's dialect. */
export type ParameterConfig = Pick<GatewayTarget, 'refuse' | 'drop' | 'defaults' | 'cap' | 'force' | 'patch'>
export type ModelConfig = Omit<GatewayModel, 'retry' | 'hedge' | 'choose' | 'sticky' | 'mirror' | 'aliases' | 'hidden' | 'list'> & {
  rateLimits?: RateLimits
  budgets?: readonly BudgetConfig[]
  routing?: RoutingConfig
  aliases?: readonly string[]
  isHidden?: boolean
  /** What `*` stands for in lists, where the name of the model has one: names, or `account`: what the account of the first target's upstream may use. */
  list?: readonly string[] | string
}

export interface GroupConfig {
  /** Of all its keys together. */
  rateLimits?: RateLimits
  /** Of each of its keys. */
  keyLimits?: RateLimits
  /** Patterns of the models that its keys may use; absent: those that name it. */
  models?: readonly string[]
  /** What a cost is multiplied by to give what its keys are charged; absent: 1. */
  times?: number
  /** Whether callers are told nothing of it. */
  isHidden?: boolean
  /** Of all its keys together. */
  budgets?: readonly BudgetConfig[]
}

/** Budgets of all, and how money is reserved. */
export interface BudgetsConfig {
  all?: readonly BudgetConfig[]
  /** Of each key that has none of its own. */
  key?: readonly BudgetConfig[]
  teams: Readonly<Record<string, readonly BudgetConfig[]>>
  tags: Readonly<Record<string, readonly BudgetConfig[]>>
  /** Of each end user that is not named. */
  endUser?: readonly BudgetConfig[]
  endUsers: Readonly<Record<string, readonly BudgetConfig[]>>
  step: number
  whole: number
  bytesPerToken: number
  partial: 'seen' | 'reserved' | 'none'
}

/** What answers tell of who gave them, in headers `x-sluice-…`. */
export interface Exposed {
  target: boolean
  attempts: boolean
  /** What a whole answer cost; the head of a stream leaves before that is known. */
  cost: boolean
}

export interface GatewayConfig {
  keys: readonly KeyConfig[]
  upstreams: Readonly<Record<string, UpstreamConfig>>
  models: Readonly<Record<string, ModelConfig>>
  groups?: Readonly<Record<string, GroupConfig>>
  budgets?: BudgetsConfig
  /** Of each key of which nothing else is said. */
  keyLimits?: RateLimits
  limits?: Partial<Limits>
  /** The output limit in tokens of models that declare none. */
  maxOutput: number
  /** The keys that seal ids, the newest first; absent: one that is made at the start. */
  seal?: readonly string[]
  /** Absent: browsers let pages of other origins read nothing. */
  crossOrigin?: CrossOriginConfig
  exposes?: Exposed
  /** The pages that anybody may read, by name: the groups whose models they show. */
  pages?: Readonly<Record<string, readonly string[]>>
  /** The currency of costs. */
  currency: string
  /** Whether answers are kept in the store. */
  keeps?: boolean
  /** Whether addresses in requests may lead to private networks. */
  mayFetchPrivate?: boolean
  /** The model of requests that name none. */
  defaultModel?: string
  /** Headers by which clients say for whom and what they ask. */
  labels?: { endUser?: string; session?: string; tags?: string }
}
