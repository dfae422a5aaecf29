// The guards of routes: the services and patterns that check their requests and answers. A route without any has no guards.

import { matcher } from '../core/text.js'
import { finderOf, wordFinder } from '../wire/patterns.js'
import type { CallConfig, PatternConfig, Scope } from './config.js'
import { compiled } from './expressions.js'
import type { Linking } from './link.js'
import type { Guards, LinkedCall, LinkedPattern, LinkedScope } from './model.js'

/** A function from the name of a route to its guards. */
export function linkGuards(linking: Linking): (route: string) => Guards | undefined {
  const { gateway, plan } = linking
  const calls = Object.entries(gateway.calls ?? {}).map(([name, config]) => ({
    on: onRoute(config),
    call: linkCall(name, config, linking),
  }))
  const patterns = Object.entries(gateway.patterns ?? {}).flatMap(([name, config]) =>
    linkPattern(name, config).map(pattern => ({ on: onRoute(config), pattern })),
  )
  const keyHeaders = new Set(Object.values(plan.keyLocations).flatMap(({ header }) => header ?? []))
  return route => {
    const mine = calls.filter(({ on }) => on(route)).map(({ call }) => call)
    const own = patterns.filter(({ on }) => on(route)).map(({ pattern }) => pattern)
    return mine.length === 0 && own.length === 0 ? undefined : { calls: mine, patterns: own, keyHeaders }
  }
}

function onRoute({ routes }: Scope): (route: string) => boolean {
  return matcher(routes)
}

function scopeOf({ keys, models }: Scope): LinkedScope {
  return { forKey: matcher(keys), forModel: matcher(models) }
}

/** One for each text of `match`. */
function linkPattern(name: string, config: PatternConfig): LinkedPattern[] {
  const { match = [], words = [], mask, inRequest, inAnswer, window } = config
  const finders = words.length > 0 ? [wordFinder(words)] : match.map(finderOf)
  const scope = scopeOf(config)
  return finders.map(finder => ({
    name,
    finder,
    isBlocking: mask === undefined,
    mask: mask ?? '',
    inRequest,
    inAnswer,
    window,
    ...scope,
  }))
}

function linkCall(name: string, config: CallConfig, { poolOf, expressions }: Linking): LinkedCall {
  const url = new URL(config.url)
  const { at, may, timeout, refusesOnFail, refusesStreams } = config
  return {
    name,
    at,
    pool: poolOf(url.origin),
    origin: url.origin,
    path: url.pathname + url.search,
    headers: [
      'user-agent',
      'sluice',
      ...Object.entries(config.headers).flat(),
      'content-type',
      'application/json',
      'accept',
      'application/json',
    ],
    send: compiled(config.send, expressions),
    may: new Set(may),
    timeout,
    refusesOnFail,
    refusesStreams,
    ...scopeOf(config),
  }
}
