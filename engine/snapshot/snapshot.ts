// Combines the plan and the configuration: resolves everything that a request needs before the first one arrives. A reload
// makes another snapshot; exchanges under way keep the one they began with.

import { randomBytes } from 'node:crypto'
import Pool from 'undici/lib/dispatcher/pool.js'
import { Balance } from '../balance/registry.js'
import { Budgets } from '../budgets/budgets.js'
import { now } from '../core/deadlines.js'
import { Meters } from '../limits/registry.js'
import type { Sharing } from '../limits/shared.js'
import type { Dialect, Plan, RoutePlan } from '../plan.js'
import { createLinkBindings } from './bindings.js'
import { budgetRules } from './budget-rules.js'
import type { GatewayConfig } from './config.js'
import { createConnector } from './connect.js'
import { createCrossOrigin } from './cross-origin.js'
import { type Expressions, NO_EXPRESSIONS } from './expressions.js'
import { linkGuards } from './guards.js'
import { account, groupMeters, groupOf, linkKey, linkTarget, standingOf } from './link.js'
import type { Key, Model, Route, Snapshot, Standing, Target } from './model.js'
import { linkNames } from './names.js'
import { createNearPath } from './near-path.js'
import { createPage } from './page.js'
import { addProxies } from './proxies.js'
import { createRouter } from './router.js'
import { createSealer } from './sealer.js'

const KEEP_ALIVE = 30_000

/** Headers that determine a request's destination, length and type. */
const FRAMING = ['content-length', 'transfer-encoding', 'host', 'content-type']

/** Upstreams with a bound, or whose load decides the order of targets. */
function countedUpstreams({ upstreams, models }: GatewayConfig): Set<string> {
  const counted = new Set(Object.keys(upstreams).filter(name => upstreams[name]?.concurrency !== undefined))
  for (const { routing, targets } of Object.values(models))
    if (routing?.choose === 'latency' || routing?.choose === 'least_busy') for (const { upstream } of targets) counted.add(upstream)
  return counted
}

/**
 * Expects a checked configuration: an unknown name is the caller's bug.
 * @param counted the counters of limits and money, and the state of targets: shared by all snapshots of a process
 * @param expressions the compiled expressions of the configuration
 */
export function createSnapshot(plan: Plan, config: GatewayConfig, counted = countedAnew(), expressions = NO_EXPRESSIONS): Snapshot {
  const { meters, budgets, balance } = counted
  return meters.link(() => budgets.link(() => balance.link(() => linkSnapshot(plan, config, counted, expressions))))
}

/** The state and counters of a process, which survive reloads. */
export interface Counted {
  meters: Meters
  budgets: Budgets
  balance: Balance
}

/** @param sharing the shared counter of limits; undefined: this process counts alone */
export function countedAnew(sharing?: Sharing): Counted {
  return { meters: new Meters(now, sharing), budgets: new Budgets(now), balance: new Balance() }
}

/** The models that a key of some groups may use. */
function shownTo(groups: readonly string[], models: ReadonlyMap<string, Model>): Model[] {
  return [...models.values()].filter(model => groups.some(group => model.groups.has(group)))
}

/** The factor from cost to charge for callers of the first of some groups. */
function timesFor([first]: readonly string[], config: GatewayConfig): number {
  return (first === undefined ? undefined : groupOf(first, config)?.times) ?? 1
}

/** The dialect of a route's errors, with the route's own error body. */
function errorsOf({ dialect, errorDialect = dialect, error }: RoutePlan, plan: Plan): Dialect {
  const words = plan.dialects[errorDialect] as Dialect
  return error === undefined ? words : { ...words, error: { ...words.error, ...error } }
}

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze({})

/** A function that selects the query parameters that a route names. */
function viewOfQuery(names: readonly string[]): Route['queryFor'] {
  if (names.length === 0) return () => NO_QUERY
  return query => Object.fromEntries(names.flatMap(name => (query[name] === undefined ? [] : [[name, query[name]]])))
}

function kindOf(route: RoutePlan, plan: Plan): Pick<Route, 'countsTokens' | 'isApart'> {
  const { usage, stream } = plan.dialects[route.dialect] ?? {}
  const { fail, relay, page, answer, document } = route
  return {
    countsTokens: usage !== undefined || stream?.usage !== undefined,
    isApart: [fail, relay, page, answer, document].some(one => one !== undefined),
  }
}

function linkSnapshot(plan: Plan, config: GatewayConfig, { meters, budgets, balance }: Counted, expressions: Expressions): Snapshot {
  const pools = new Map<string, Pool>()
  const connect = createConnector()
  const poolOf = (origin: string): Pool => {
    let pool = pools.get(origin)
    if (pool === undefined) {
      // The engine arms its own deadlines for every phase of every call.
      pool = new Pool(origin, {
        connections: null,
        pipelining: 1,
        keepAliveTimeout: KEEP_ALIVE,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect,
        allowH2: false,
      })
      pools.set(origin, pool)
    }
    return pool
  }
  const linking = {
    gateway: config,
    plan,
    poolOf,
    linkBindings: createLinkBindings({ gateway: config, plan, poolOf, expressions }),
    meters,
    budgets,
    balance,
    expressions,
    counted: countedUpstreams(config),
  }
  const { models, find } = linkNames(config.models, linking)
  const accounts = new Map<string, Target>()
  for (const name of Object.keys(config.upstreams)) accounts.set(name, linkTarget(account(name), undefined, undefined, linking))
  const isCallers = Object.values(config.upstreams).some(upstream => upstream.isCallers)
  const beside = isCallers ? Object.keys(plan.keyLocations).filter(name => plan.keyLocations[name]?.beside) : []
  const guardsOf = linkGuards(linking)
  const routes = plan.routes.flatMap((route): Route[] => {
    const groups = route.page && config.pages?.[route.page.name]
    if (route.page && groups === undefined) return []
    const made = groups && createPage(route, shownTo(groups, models), timesFor(groups, config))
    const isOpen = route.auth.length === 0
    const auth = isOpen ? route.auth : [...beside, ...route.auth]
    const keep = config.keeps && (route.model ?? route.conversation) !== undefined ? plan.dialects[route.dialect]?.keep : undefined
    const limits = { ...route.limits, ...config.limits }
    const errors = errorsOf(route, plan)
    const queryFor = viewOfQuery(route.forwardQuery)
    const { countsTokens, isApart } = kindOf(route, plan)
    const guards = isOpen ? undefined : guardsOf(route.name)
    return [
      {
        ...route,
        auth,
        beside: isOpen ? 0 : beside.length,
        keep,
        limits,
        errors,
        queryFor,
        countsTokens,
        isApart,
        ...(guards && { guards }),
        ...(made && { made }),
      },
    ]
  })
  addProxies(routes, accounts, guardsOf, linking)
  const router = createRouter(routes)
  // A group without a key in the file still has limits, for keys of the store.
  for (const [name, group] of Object.entries(config.groups ?? {})) groupMeters(name, group, meters)
  const standings = new WeakMap<Key, Standing>()
  const rules = budgetRules(config, budgets)
  let users = 0
  let isRetired = false
  // Calls that still run have lost their exchange.
  const destroy = async (): Promise<void> => {
    await Promise.all([...pools.values()].map(pool => pool.destroy()))
  }
  return {
    plan,
    router,
    nearPath: createNearPath(routes, router),
    singleHeaders: new Set([...FRAMING, ...Object.values(plan.keyLocations).flatMap(place => place.header ?? [])]),
    keys: new Map(config.keys.map(key => [key.sha256, linkKey(key, linking)])),
    keyNames: new Set(config.keys.map(({ name }) => name)),
    known: new Map(),
    standingOf(key) {
      let standing = key.standing ?? standings.get(key)
      if (standing === undefined) standings.set(key, (standing = standingOf(key, linking)))
      return standing
    },
    hasLimits: () => meters.hasAny,
    hasBudgets: () => rules.hasAny || budgets.hasAny,
    budgets: rules,
    currency: config.currency,
    isHidden: group => groupOf(group, config)?.isHidden === true,
    labels: config.labels ?? {},
    models,
    find,
    errors: plan.dialects[(plan.routes[0] as RoutePlan).errorDialect ?? (plan.routes[0] as RoutePlan).dialect] as Dialect,
    defaultModel: config.defaultModel,
    accounts,
    sealer: createSealer(config.seal ?? [randomBytes(32).toString('hex')]),
    prefixes: [...new Set(plan.routes.map(route => route.sealedIds?.prefix ?? ''))],
    mayFetchPrivate: config.mayFetchPrivate === true,
    ...(config.crossOrigin && { crossOrigin: createCrossOrigin(config.crossOrigin) }),
    exposes: config.exposes,
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
