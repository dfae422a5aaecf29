// The operator's file, read and with its secrets at hand. Reading and checking it is the command line's work.

import type { GatewayModel, GatewayTarget } from '../../schemas/config/types.js'
import type { BudgetConfig } from '../budgets/definition.js'
import type { RateLimits } from '../limits/registry.js'
import type { Limits } from '../plan.js'
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
}

export type TargetConfig = GatewayTarget
/** What happens to the parameters of requests, by their paths in the provider's dialect. */
export type ParameterConfig = Pick<GatewayTarget, 'refuse' | 'drop' | 'defaults' | 'cap' | 'force'>
export type ModelConfig = GatewayModel & { rateLimits?: RateLimits; budgets?: readonly BudgetConfig[] }

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
  /** Headers by which clients say for whom and what they ask. */
  labels?: { endUser?: string; session?: string; tags?: string }
}
