// The plan and the operator's file put together: everything that a request needs to know, resolved before the first
// one comes. A reload makes another snapshot; exchanges under way keep the one they began with.

import { randomBytes } from 'node:crypto'
import { Pool } from 'undici'
import { Balance } from '../balance/registry.js'
import { now } from '../core/deadlines.js'
import { Meters } from '../limits/registry.js'
import type { Plan } from '../plan.js'
import type { GatewayConfig } from './config.js'
import { createCrossOrigin } from './cross-origin.js'
import { type Expressions, NO_EXPRESSIONS } from './expressions.js'
import { account, groupMeters, linkKey, linkTarget } from './link.js'
import type { Route, Snapshot, Target } from './model.js'
import { linkNames } from './names.js'
import { createNearPath } from './near-path.js'
import { createRouter } from './router.js'
import { createSealer } from './sealer.js'

const KEEP_ALIVE = 30_000

/** What says where a request goes, where it ends, and what it is. */
const FRAMING = ['content-length', 'transfer-encoding', 'host', 'content-type']

/** Upstreams that have a bound, or are chosen by how much they have to do. */
function countedUpstreams({ upstreams, models }: GatewayConfig): Set<string> {
  const counted = new Set(Object.keys(upstreams).filter(name => upstreams[name]?.concurrency !== undefined))
  for (const { routing, targets } of Object.values(models))
    if (routing?.choose === 'latency' || routing?.choose === 'least_busy') for (const { upstream } of targets) counted.add(upstream)
  return counted
}

/**
 * Everything is checked by then: a name that leads nowhere is a fault of the caller.
 * @param meters what counts the limits: one and the same for all snapshots of a process
 * @param balance what is known of targets: one and the same, too
 * @param expressions those of the file, compiled
 */
export function createSnapshot(
  plan: Plan,
  config: GatewayConfig,
  meters = new Meters(now),
  balance = new Balance(),
  expressions = NO_EXPRESSIONS,
): Snapshot {
  return meters.link(() => balance.link(() => linkSnapshot(plan, config, meters, balance, expressions)))
}

function linkSnapshot(plan: Plan, config: GatewayConfig, meters: Meters, balance: Balance, expressions: Expressions): Snapshot {
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
  const linking = { gateway: config, plan, poolOf, meters, balance, expressions, counted: countedUpstreams(config) }
  const { models, find } = linkNames(config.models, linking)
  const accounts = new Map<string, Target>()
  for (const name of Object.keys(config.upstreams)) accounts.set(name, linkTarget(account(name), undefined, undefined, linking))
  const routes = plan.routes.map((route): Route => ({ ...route, limits: { ...route.limits, ...config.limits } }))
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
    keys: new Map(config.keys.map(key => [key.sha256, linkKey(key, linking)])),
    known: new Map(),
    groupMeters: new Map(Object.keys(config.groups ?? {}).map(group => [group, groupMeters(group, config.groups ?? {}, meters)])),
    labels: config.labels ?? {},
    models,
    find,
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
