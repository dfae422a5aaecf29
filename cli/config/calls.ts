// Reads `call` of gateway.yaml, the external services, and checks what the grammar cannot.

import type { Pointer } from '../../codegen/read/yaml.js'
import { duration } from '../../engine/core/durations.js'
import { matcher } from '../../engine/core/text.js'
import type { CallConfig } from '../../engine/snapshot/config.js'
import type { GatewayCall, GatewayData } from '../../schemas/config/types.js'
import type { Find } from './find.js'
import type { ReadSecret } from './secret.js'

/** The actions that are impossible at each moment. */
const CANNOT: Readonly<Record<GatewayCall['at'], readonly string[]>> = { admit: ['replace', 'target'], request: [], answer: ['target'] }

/** The calls of a configuration. `routes` are the names of all routes. */
export function callsOf(file: GatewayData, routes: readonly string[], secret: ReadSecret, find: Find): Record<string, CallConfig> {
  const calls: Record<string, CallConfig> = Object.create(null)
  for (const [name, call] of Object.entries(file.call)) {
    const here: Pointer = ['call', name]
    const url = secret(call.url, [...here, 'url'])
    // The value may contain a secret, so it is not quoted.
    if (url !== undefined && !isAddress(url))
      find([...here, 'url'], 'call/url', 'the value is not an address', 'write one such as http://127.0.0.1:9000/filter')
    call.may.forEach((what, index) => {
      if (CANNOT[call.at].includes(what))
        find(
          [...here, 'may', index],
          'call/may',
          `at ${call.at} it is not possible to ${what === 'target' ? 'choose a target' : 'replace anything'}`,
          `remove ${what}, or use ${call.at === 'admit' ? '`at: request`' : 'another moment'}`,
        )
    })
    if (call.at === 'admit' && call.models)
      find([...here, 'models'], 'call/may', 'at admit the model is not known yet', 'remove models, or use `at: request`')
    checkRoutes(call.routes, routes, here, find)
    calls[name] = {
      at: call.at,
      url: url !== undefined && isAddress(url) ? url : 'http://127.0.0.1',
      headers: Object.fromEntries(
        Object.entries(call.headers).map(([header, value]) => [header, secret(value, [...here, 'headers', header]) ?? '']),
      ),
      send: call.send,
      may: call.may,
      timeout: duration(call.timeout) as number,
      refusesOnFail: call.on_fail === 'refuse',
      refusesStreams: call.streams === 'refuse',
      ...(call.keys && { keys: call.keys }),
      ...(call.models && { models: call.models }),
      ...(call.routes && { routes: call.routes }),
    }
  }
  return calls
}

/** Reports patterns of routes that match none. */
export function checkRoutes(patterns: readonly string[] | undefined, routes: readonly string[], here: Pointer, find: Find): void {
  patterns?.forEach((pattern, index) => {
    if (!routes.some(matcher([pattern])))
      find([...here, 'routes', index], 'names/route', `no route is called ${pattern}`, '`sluice routes` lists the names of routes')
  })
}

function isAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text)
}
