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

/**
 * The path is tried whole, and then without its own first segments. Served paths begin with few words, and all of that is
 * tried again behind each of them: there a name with slashes may take in any path.
 */
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
    const rests = restsOf(exchange.path)
    const behindRoots = rests.flatMap(rest => [...roots].map(root => root + rest))
    return [...rests, ...behindRoots].find(path => path !== exchange.path && isServed(path))
  }
}

/** A path without a slash at its end, and without its first segments. */
function restsOf(path: string): string[] {
  const rests: string[] = []
  let rest = path.replace(/\/+$/, '')
  while (rests.length <= MOST_SEGMENTS && rest.length > 1) {
    rests.push(rest)
    const next = rest.indexOf('/', 1)
    if (next < 0) break
    rest = rest.slice(next)
  }
  return rests
}
