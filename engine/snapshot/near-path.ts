// Suggests a served path for an unknown one: clients differ in how much of a path they expect in their base URL.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { NearPath, Route, Router, Snapshot } from './model.js'
import { presentedKey } from './presented-key.js'

/** Characters of a path that is compared, and how many leading segments are left out in turn. */
const LONGEST = 300
const MOST_SEGMENTS = 4

export function notFound(exchange: Exchange, snapshot: Snapshot): GatewayError {
  const nearPath = snapshot.nearPath(exchange, snapshot)
  const path = exchange.path.length > LONGEST ? `${exchange.path.slice(0, LONGEST)}…` : exchange.path
  return new GatewayError('not_found', `Unknown URL: ${path}${nearPath === undefined ? '.' : `: did you mean ${nearPath}?`}`, {
    code: 'unknown_url',
  })
}

/** Served paths begin with few words. The path is tried behind each of them, whole, and then without its own first segments. */
export function createNearPath(routes: readonly Route[], router: Router): NearPath {
  const roots = new Set<string>()
  for (const { paths, fail, proxy } of routes) {
    if (fail !== undefined || proxy !== undefined) continue
    for (const path of paths) {
      const [root] = /^\/[^/{*]+(?=\/)/.exec(path) ?? []
      if (root !== undefined) roots.add(root)
    }
  }
  return (exchange, snapshot) => {
    if (exchange.path.length > LONGEST) return undefined
    const isServed = (path: string): boolean => {
      const hasKeyIn = (locations: readonly string[]): boolean =>
        presentedKey(locations, snapshot.plan.keyLocations, exchange.headers, exchange.query) !== undefined
      const found = router({ method: exchange.method, path, query: exchange.query, headers: exchange.headers, hasKeyIn })
      return found !== undefined && found.route.fail === undefined
    }
    // A base URL that ends with a slash, or a path that does.
    let rest = exchange.path.replace(/\/+$/, '')
    for (let count = 0; count <= MOST_SEGMENTS && rest.length > 1; count++) {
      const whole = rest
      const found = [whole, ...[...roots].map(root => root + whole)].find(path => path !== exchange.path && isServed(path))
      if (found !== undefined) return found
      const next = rest.indexOf('/', 1)
      if (next < 0) return undefined
      rest = rest.slice(next)
    }
    return undefined
  }
}
