// What is done on the way of a route's requests: which services are asked. A route on whose way nothing is done has none.

import { matcher } from '../core/text.js'
import type { CallConfig, Scope } from './config.js'
import { compiled } from './expressions.js'
import type { Linking } from './link.js'
import type { Guards, LinkedCall } from './model.js'

/** Gives the guards of a route by its name. */
export function linkGuards(linking: Linking): (route: string) => Guards | undefined {
  const { gateway, plan } = linking
  const calls = Object.entries(gateway.calls ?? {}).map(([name, config]) => ({
    on: onRoute(config),
    call: linkCall(name, config, linking),
  }))
  const keyHeaders = new Set(Object.values(plan.keyLocations).flatMap(({ header }) => header ?? []))
  return route => {
    const mine = calls.filter(({ on }) => on(route)).map(({ call }) => call)
    return mine.length === 0 ? undefined : { calls: mine, keyHeaders }
  }
}

function onRoute({ routes }: Scope): (route: string) => boolean {
  return matcher(routes)
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
    forKey: matcher(config.keys),
    forModel: matcher(config.models),
  }
}
