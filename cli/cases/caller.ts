// Who calls in an exchange or a scenario: keys whose texts are known, in the place where the route reads them.

import { createHash } from 'node:crypto'
import type { GatewayConfig } from '../../engine/snapshot/config.js'
import type { Snapshot } from '../../engine/snapshot/model.js'

/** The configuration with keys that `textOf` knows, which are good from any address. */
export function withKnownKeys(gateway: GatewayConfig): GatewayConfig {
  const keys = gateway.keys.map(({ ips, ...key }) => ({ ...key, sha256: createHash('sha256').update(textOf(key.name)).digest('hex') }))
  return { ...gateway, keys }
}

/** The text of a key while cases are run. */
function textOf(key: string): string {
  return `the key ${encodeURIComponent(key)} of a case`
}

export interface Called {
  method: string
  /** From the root, with its query. */
  path: string
  headers: Readonly<Record<string, string>>
  /** The name of a key. Default the first that is enabled. */
  key?: string
  /** The name of a key location, or `none`. Default the first one that the route reads. */
  keyLocation?: string
}

/** A request with the key in its location. */
export function withKey(called: Called, snapshot: Snapshot): { path: string; headers: Record<string, string> } {
  const { path: whole, headers } = called
  const [path = '/', query = ''] = whole.split(/\?(.*)/s)
  const names = [...snapshot.keys.values()]
  const text = textOf(called.key ?? names.find(({ enabled }) => enabled)?.name ?? names[0]?.name ?? '')
  const locations = snapshot.plan.keyLocations
  const location = locations[called.keyLocation ?? usualLocation(called, path, query, snapshot) ?? '']
  if (location?.header !== undefined) return { path: whole, headers: { ...headers, [location.header]: `${location.prefix ?? ''}${text}` } }
  if (location?.query === undefined) return { path: whole, headers: { ...headers } }
  return { path: `${whole}${query === '' ? '?' : '&'}${location.query}=${encodeURIComponent(text)}`, headers: { ...headers } }
}

/** The first key location of the plan that the route of a request reads. A path may be served by several routes, each for another location. */
function usualLocation({ method, headers }: Called, path: string, query: string, { router, plan }: Snapshot): string | undefined {
  const head = { method, path, query: Object.fromEntries(new URLSearchParams(query)), headers }
  const usable = Object.keys(plan.keyLocations).filter(name => {
    const { header, query: member, beside } = plan.keyLocations[name] ?? {}
    return (header ?? member) !== undefined && !beside
  })
  const reads = (name: string): boolean =>
    router({ ...head, hasKeyIn: locations => locations.includes(name) })?.route.auth.includes(name) ?? true
  return usable.find(reads)
}
