// Reads `relay` of gateway.yaml, the upstream APIs that pass through unchanged, and finds the routes that they hide.

import { useOneOf } from '../../codegen/read/suggest.js'
import type { Pointer } from '../../codegen/read/yaml.js'
import { NANO } from '../../engine/core/usage.js'
import type { Limits, PlanFacts, RoutePlan } from '../../engine/plan.js'
import { fullPath } from '../../engine/snapshot/bindings.js'
import type { ProxyConfig, UpstreamConfig } from '../../engine/snapshot/config.js'
import type { GatewayData } from '../../schemas/config/types.js'
import type { Find } from './find.js'
import { limitsOf } from './limits.js'

/** The name of a relay's route. */
export const routeNameOf = (relay: string): string => `relay.${relay}`

/** The relays of a configuration, by route name. */
export function relaysOf(
  file: GatewayData,
  upstreams: Readonly<Record<string, UpstreamConfig>>,
  plan: PlanFacts,
  find: Find,
): Record<string, ProxyConfig> {
  const proxies: Record<string, ProxyConfig> = Object.create(null)
  const owners = new Map<string, string>()
  for (const [name, relay] of Object.entries(file.relay)) {
    const here: Pointer = ['relay', name]
    const path = relay.path.slice(0, -'/*'.length)
    const other = owners.get(path)
    if (other !== undefined) find([...here, 'path'], 'relay/path', `${other} and ${name} have the same path`, 'give each its own path')
    owners.set(path, name)
    const upstream = upstreams[relay.upstream]
    if (!Object.hasOwn(file.upstreams, relay.upstream))
      find(
        [...here, 'upstream'],
        'names/upstream',
        `there is no upstream ${relay.upstream}`,
        useOneOf(Object.keys(file.upstreams), relay.upstream),
      )
    if (relay.error !== undefined && !Object.hasOwn(plan.dialects, relay.error))
      find([...here, 'error'], 'names/dialect', `there is no dialect ${relay.error}`, useOneOf(Object.keys(plan.dialects), relay.error))
    const shadowed = relay.replaces ? [] : servedBelow(path, plan.routes)
    if (shadowed.length > 0)
      find([...here, 'path'], 'relay/shadows', `${relay.path} hides ${listed(shadowed)}`, 'choose another path, or add replaces: true')
    const provider = upstream && plan.providers[upstream.provider]
    if (upstream === undefined || provider === undefined) continue
    const base = upstream.base ?? provider.base
    const prefix = base !== undefined && URL.canParse(base) ? new URL(base).pathname.replace(/\/$/, '') : ''
    proxies[routeNameOf(name)] = {
      path,
      to: fullPath(prefix, relay.to === '/' ? '' : relay.to, undefined, {}),
      upstream: relay.upstream,
      dialect: relay.error ?? (Object.keys(provider.speaks)[0] as string),
      groups: relay.groups,
      ...(relay.price !== undefined && { price: Math.round(relay.price * NANO) }),
      limits: limitsOf(relay.limits) as Limits,
      replaces: relay.replaces,
    }
  }
  return proxies
}

/** Paths at or below a prefix that are served, and not only refused. */
function servedBelow(prefix: string, routes: readonly RoutePlan[]): string[] {
  const served = routes.filter(({ fail }) => fail === undefined).flatMap(({ paths }) => paths)
  return [...new Set(served.filter(path => meets(prefix.split('/'), path.split('/'))))]
}

/** Whether one request may match both: a path whose segments may have parameters, and anything below a prefix. */
function meets(prefix: readonly string[], path: readonly string[]): boolean {
  for (const [index, segment] of prefix.entries()) {
    const other = path[index]
    if (other === undefined) return false
    if (other === '*' || other.includes('{+')) return true
    if (!new RegExp(`^${patternOf(other)}$`).test(segment)) return false
  }
  return true
}

function patternOf(segment: string): string {
  return segment
    .split(/\{[^}]*\}/)
    .map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.+')
}

function listed(paths: readonly string[]): string {
  return paths.length > 4 ? `${paths.slice(0, 4).join(', ')} and ${paths.length - 4} more` : paths.join(', ')
}
