// A path that nothing is served on, and the one that was likely meant: clients differ in how much of a path they want in
// their base URL.

import { presentedKey } from '../stages/admit.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Router } from './router.js'
import type { Route, World } from './snapshot.js'

/** A served path near one that is not; nothing where there is none. */
export type Near = (call: Exchange, world: World) => string | undefined

/** What a path may be long to be looked at closely, in letters; of it so many leading segments are tried without. */
const LONGEST = 300
const MOST_SEGMENTS = 4

export function nowhere(call: Exchange, world: World): GatewayError {
  const near = world.near(call, world)
  const path = call.path.length > LONGEST ? `${call.path.slice(0, LONGEST)}…` : call.path
  return new GatewayError('not_found', `There is no ${path} here${near === undefined ? '.' : `: did you mean ${near}?`}`, {
    code: 'unknown_url',
  })
}

/** Served paths begin with few words. A path is tried behind each of them, whole, then without what it begins with itself. */
export function createNear(routes: readonly Route[], router: Router): Near {
  const roots = new Set<string>()
  for (const { paths, fail } of routes) {
    if (fail !== undefined) continue
    for (const path of paths) {
      const [root] = /^\/[^/{*]+(?=\/)/.exec(path) ?? []
      if (root !== undefined) roots.add(root)
    }
  }
  return (call, world) => {
    if (call.path.length > LONGEST) return undefined
    const isServed = (path: string): boolean => {
      const hasKeyIn = (places: readonly string[]): boolean =>
        presentedKey(places, world.plan.places, call.headers, call.query) !== undefined
      const found = router({ method: call.method, path, query: call.query, headers: call.headers, hasKeyIn })
      return found !== undefined && found.route.fail === undefined
    }
    let rest = call.path
    for (let count = 0; count <= MOST_SEGMENTS && rest.length > 1; count++) {
      const whole = rest
      const found = [whole, ...[...roots].map(root => root + whole)].find(path => path !== call.path && isServed(path))
      if (found !== undefined) return found
      const next = rest.indexOf('/', 1)
      if (next < 0) return undefined
      rest = rest.slice(next)
    }
    return undefined
  }
}
