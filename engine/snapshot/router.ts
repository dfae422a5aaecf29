// Method and path → route. Built once from the plan: paths without parameters are looked up, the others are tried from the
// most specific to the most general.

import { asPattern } from '../core/text.js'
import type { Condition } from '../plan.js'
import type { RequestHead, Route, Router } from './model.js'

interface Pattern {
  route: Route
  match: RegExp
  names: string[]
  weight: number
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})

export function createRouter(routes: readonly Route[]): Router {
  const exact = new Map<string, Route[]>()
  const patterns: Pattern[] = []
  for (const route of routes) {
    for (const path of route.paths) {
      if (/[{*]/.test(path)) {
        patterns.push(compile(route, path))
        continue
      }
      const list = exact.get(path)
      if (list) list.push(route)
      else exact.set(path, [route])
    }
  }
  patterns.sort((left, right) => right.weight - left.weight)

  return head => {
    const found = exact.get(head.path)
    let allow: Set<string> | undefined
    let other: Route | undefined
    for (const route of found ?? []) {
      if (!allowsMethod(route, head.method)) {
        allow = withAll(allow, route.methods)
        other = nearer(other, route, head)
      } else if (holds(route.when, head)) {
        return { kind: 'route', route, params: NO_PARAMS }
      }
    }
    let reached = other === undefined ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
    for (const { route, match, names, weight } of patterns) {
      // A catch-all does not make a path known.
      if (weight < 0 && reached > 0) break
      const result = match.exec(head.path)
      if (result === null) continue
      const params = paramsOf(names, result)
      if (params === undefined) continue
      if (!allowsMethod(route, head.method)) {
        allow = withAll(allow, route.methods)
        other = nearer(other, route, head)
        reached = Math.max(reached, weight)
        continue
      }
      if (holds(route.when, head)) return { kind: 'route', route, params }
    }
    return other && { kind: 'other methods', allow: [...(allow ?? [])].sort(), route: other }
  }
}

/** Made for the first refusal: most requests find their route at once. */
function withAll(known: Set<string> | undefined, methods: readonly string[]): Set<string> {
  const all = known ?? new Set()
  for (const method of methods) all.add(method)
  return all
}

/** The route whose dialect refuses another method: the first whose condition the request meets, else the first. */
function nearer(known: Route | undefined, route: Route, head: RequestHead): Route {
  return known === undefined || (!holds(known.when, head) && holds(route.when, head)) ? route : known
}

function allowsMethod(route: Route, method: string): boolean {
  return route.methods.length === 0 || route.methods.includes(method)
}

function holds(when: Condition | undefined, head: RequestHead): boolean {
  if (when === undefined) return true
  if (when.header !== undefined && head.headers[when.header] === undefined) return false
  for (const [name, value] of Object.entries(when.query ?? {})) if (head.query[name] !== value) return false
  return when.auth === undefined || head.hasKeyIn(when.auth)
}

/**
 * `{x}` is one segment, `{+x}` may contain slashes and ends at the last occurrence of the text after it, `/*` is anything
 * below.
 */
function compile(route: Route, path: string): Pattern {
  const names: string[] = []
  const isOpen = path.endsWith('/*')
  const text = isOpen ? path.slice(0, -2) : path
  const source = text.replaceAll(/\{(\+?)([a-z_]+)\}|[^{]+/g, (part, plus: string | undefined, name: string | undefined) => {
    if (name === undefined) return asPattern(part)
    names.push(name)
    return plus ? '(.+)' : '([^/]+)'
  })
  const fixed = text.replaceAll(/\{[^}]*\}/g, '').length
  // A proxy that replaces routes precedes all patterns, because the operator said so.
  if (route.proxy) return { route, names, match: new RegExp(`^${source}(?:/.*)?$`), weight: fixed + 1_000_000 }
  return { route, names, match: new RegExp(`^${source}${isOpen ? '(?:/.*)?' : ''}$`), weight: isOpen ? fixed - 1000 : fixed }
}

/** The parameters in a path; undefined if one cannot be decoded: then the path is none of the route's. */
function paramsOf(names: readonly string[], found: RegExpExecArray): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const text = decode(found[index + 1] as string)
    if (text === undefined) return undefined
    params[name] = text
  }
  return params
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
