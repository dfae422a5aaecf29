// Makes routes of the upstream APIs that pass through unchanged.

import type { Dialect, ProviderPlan } from '../plan.js'
import type { ProxyConfig, UpstreamConfig } from './config.js'
import type { Linking } from './link.js'
import type { Binding, Guards, ReverseProxy, Route, Target } from './model.js'
import { costOfEach } from './price.js'

/** Headers of a connection, an intermediary or the calling page, and headers that only the upstream may set. */
const STAYS =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|cookie|forwarded|via|x-forwarded-.*|x-real-ip|x-request-id|sec-websocket-.*)$/

/** Adds the routes of a configuration's proxies, and removes the routes that they replace. */
export function addProxies(
  routes: Route[],
  accounts: ReadonlyMap<string, Target>,
  guardsOf: (route: string) => Guards | undefined,
  linking: Linking,
): void {
  for (const [name, config] of Object.entries(linking.gateway.proxies ?? {})) {
    const stays = (path: string): boolean => path !== config.path && !path.startsWith(`${config.path}/`)
    const kept = routes.flatMap(route => {
      if (route.proxy !== undefined || route.paths.every(stays)) return [route]
      const paths = route.paths.filter(stays)
      return paths.length === 0 ? [] : [{ ...route, paths }]
    })
    const guards = guardsOf(name)
    const route = routeOf(name, config, accounts.get(config.upstream) as Target, linking)
    routes.splice(0, routes.length, ...kept, { ...route, ...(guards && { guards }) })
  }
}

function routeOf(name: string, config: ProxyConfig, account: Target, linking: Linking): Route {
  const { plan, gateway } = linking
  const { keyLocations } = plan
  const upstream = gateway.upstreams[config.upstream] as UpstreamConfig
  const { provider } = account
  const spoken = Object.keys(provider.speaks)[0] as string
  // Clients of the dialect may send their key in this query parameter; otherwise it is the provider's own.
  const isRead = (location: string): boolean => plan.routes.some(({ dialect, auth }) => dialect === spoken && auth.includes(location))
  const auth = Object.keys(keyLocations).filter(location => {
    const { header, query, beside } = keyLocations[location] as (typeof keyLocations)[string]
    return beside ? upstream.isCallers : header !== undefined || (query !== undefined && isRead(location))
  })
  const beside = auth.filter(location => keyLocations[location]?.beside)
  return {
    name,
    methods: [],
    paths: [`${config.path}/*`],
    auth: [...beside, ...auth.filter(location => !beside.includes(location))],
    beside: beside.length,
    dialect: config.dialect,
    errors: plan.dialects[config.dialect] as Dialect,
    queryFor: () => ({}),
    bodies: [],
    limits: { ...config.limits, ...gateway.limits },
    forward: [],
    forwardQuery: [],
    mirror: [],
    isShared: false,
    keep: undefined,
    isApart: true,
    countsTokens: false,
    proxy: proxyOf(config, upstream, account, auth, linking),
  }
}

function proxyOf(
  config: ProxyConfig,
  upstream: UpstreamConfig,
  account: Target,
  auth: readonly string[],
  { plan, poolOf }: Linking,
): ReverseProxy {
  const { provider, secret } = account
  const { price } = config
  const bound = account.bindings.get(Object.keys(provider.speaks)[0] as string) as Binding
  const own = plan.dialects[config.dialect] as Dialect
  const binding: Binding = {
    ...bound,
    target: { ...account, cost: price === undefined ? undefined : costOfEach(price) },
    from: own,
    // Patches of an endpoint's answers do not apply to bytes that pass through.
    pool: poolOf(bound.origin),
  }
  const held = heldHeaders(provider, upstream)
  const headers = pairsOf(bound.headers)
  const keyHeaders = Object.values(plan.keyLocations).flatMap(({ header }) => header ?? [])
  const drops = new Set([...keyHeaders, ...held])
  const member = provider.credential.query
  const sent = secret !== undefined && member !== undefined ? new URLSearchParams({ [member]: secret }).toString() : undefined
  return {
    binding,
    prefix: config.path,
    to: config.to,
    groups: new Set(config.groups),
    dropsHeader: name => drops.has(name) || STAYS.test(name),
    dropsQuery: new Set([
      ...auth.flatMap(location => plan.keyLocations[location]?.query ?? []),
      ...(sent === undefined ? [] : [member as string]),
    ]),
    fixed: headers.filter(([name]) => held.has(name)),
    usual: headers.filter(([name]) => !held.has(name)),
    query: sent,
  }
}

/** The credential's header, and the headers that the operator sets: no client can override them. */
function heldHeaders({ credential }: ProviderPlan, { headers }: UpstreamConfig): ReadonlySet<string> {
  const names = [...Object.keys(headers ?? {}), ...(credential.header === undefined ? [] : [credential.header])]
  return new Set(names.map(name => name.toLowerCase()))
}

function pairsOf(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let index = 0; index < list.length; index += 2) pairs.push([(list[index] as string).toLowerCase(), list[index + 1] as string])
  return pairs
}
