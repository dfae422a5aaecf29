// APIs of upstreams that are handed on as they are: a route for each, which goes before those that stand below its path.

import type { Dialect, ProviderPlan } from '../plan.js'
import type { ProxyConfig, UpstreamConfig } from './config.js'
import type { Linking } from './link.js'
import type { Binding, Guards, ReverseProxy, Route, Target } from './model.js'

/** What is about a connection, about who stands between, or about the page that asks; and what only the upstream may say. */
const STAYS =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|cookie|forwarded|via|x-forwarded-.*|x-real-ip|x-request-id|sec-websocket-.*)$/

/** Adds the routes of a file's proxies to others, and takes out those that they replace. */
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
  // A member of the query is the provider's own, but where clients of its dialect send their key in it.
  const isRead = (place: string): boolean => plan.routes.some(({ dialect, auth }) => dialect === spoken && auth.includes(place))
  const auth = Object.keys(keyLocations).filter(place => {
    const { header, query, beside } = keyLocations[place] as (typeof keyLocations)[string]
    return beside ? upstream.isCallers : header !== undefined || (query !== undefined && isRead(place))
  })
  const beside = auth.filter(place => keyLocations[place]?.beside)
  return {
    name,
    methods: [],
    paths: [`${config.path}/*`],
    auth: [...beside, ...auth.filter(place => !beside.includes(place))],
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
    target: { ...account, cost: price === undefined ? undefined : () => price },
    from: own,
    // What an endpoint's answers are made of elsewhere is no matter of a relay's.
    pool: poolOf(bound.origin),
  }
  const held = heldHeaders(provider, upstream)
  const headers = pairsOf(bound.headers)
  const places = Object.values(plan.keyLocations).flatMap(({ header }) => header ?? [])
  const drops = new Set([...places, ...held])
  const member = provider.credential.query
  const sent = secret !== undefined && member !== undefined ? new URLSearchParams({ [member]: secret }).toString() : undefined
  return {
    binding,
    prefix: config.path,
    to: config.to,
    groups: new Set(config.groups),
    dropsHeader: name => drops.has(name) || STAYS.test(name),
    dropsQuery: new Set([
      ...auth.flatMap(place => plan.keyLocations[place]?.query ?? []),
      ...(sent === undefined ? [] : [member as string]),
    ]),
    fixed: headers.filter(([name]) => held.has(name)),
    usual: headers.filter(([name]) => !held.has(name)),
    query: sent,
  }
}

/** The header of the credential, and what the operator says of the upstream: no client says it otherwise. */
function heldHeaders({ credential }: ProviderPlan, { headers }: UpstreamConfig): ReadonlySet<string> {
  const names = [...Object.keys(headers ?? {}), ...(credential.header === undefined ? [] : [credential.header])]
  return new Set(names.map(name => name.toLowerCase()))
}

function pairsOf(list: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let index = 0; index < list.length; index += 2) pairs.push([(list[index] as string).toLowerCase(), list[index + 1] as string])
  return pairs
}
