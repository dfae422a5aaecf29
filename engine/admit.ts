// Who is asking, and may they? Keys are compared as SHA-256, so that neither the file nor the time a comparison takes
// tells anything of a key.

import { hash } from 'node:crypto'
import { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import type { Key } from './keys.js'
import type { KeyPlace } from './plan.js'
import type { Route, World } from './world.js'

/** The key that a request presents in the first of some places that is filled. */
export function presentedKey(
  places: readonly string[],
  known: Readonly<Record<string, KeyPlace>>,
  headers: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
): string | undefined {
  for (const name of places) {
    const place = known[name]
    if (place === undefined) continue
    const text = keyIn(place, headers, query)
    if (text !== undefined && text !== '') return text
  }
  return undefined
}

function keyIn(place: KeyPlace, headers: Readonly<Record<string, string>>, query: Readonly<Record<string, string>>): string | undefined {
  if (place.query !== undefined) return query[place.query]
  if (place.protocolPrefix !== undefined) {
    const offered = headers['sec-websocket-protocol']?.split(',').map(item => item.trim())
    const item = offered?.find(protocol => protocol.startsWith(place.protocolPrefix as string))
    return item?.slice(place.protocolPrefix.length)
  }
  const text = headers[place.header as string]
  if (text === undefined || place.prefix === undefined) return text
  return text.slice(0, place.prefix.length).toLowerCase() === place.prefix.toLowerCase()
    ? text.slice(place.prefix.length).trim()
    : undefined
}

/** The caller's key; nothing on routes that need none. A promise where the key has to be looked up elsewhere first. */
export function admit(route: Route, call: Exchange, world: World): Key | undefined | Promise<Key> {
  if (route.auth.length === 0) return undefined
  const text = presentedKey(route.auth, world.plan.places, call.headers, call.query)
  if (text === undefined) throw new GatewayError('authentication', `No API key was given. Send it in ${describe(route, world)}.`)
  const key = keyOf(text, world)
  return key instanceof Promise ? key.then(found => admitted(found, route, call)) : admitted(key, route, call)
}

/** Throws where the key is none, or may not ask this. */
function admitted(key: Key | undefined, route: Route, call: Exchange): Key {
  if (key === undefined) throw new GatewayError('authentication', 'The API key is not valid.')
  call.log.key = key.name
  call.log.caller = key
  if (!key.enabled) throw new GatewayError('permission', 'This API key has been disabled.')
  if (key.expires !== undefined && key.expires <= Date.now()) throw new GatewayError('permission', 'This API key has expired.')
  if (key.mayAsk && !key.mayAsk(route.name)) throw new GatewayError('permission', 'This API key may not use this route.')
  if (key.mayComeFrom && !key.mayComeFrom(call.address()))
    throw new GatewayError('permission', 'This API key may not be used from this address.')
  return key
}

/** A key that has been accepted once is known by its text: one lookup, whose time tells nothing of a text that is none. */
function keyOf(text: string, world: World): Key | undefined | Promise<Key | undefined> {
  const known = world.known.get(text) ?? world.store?.known(text)
  if (known !== undefined) return known
  const sha256 = hash('sha256', text, 'hex')
  const key = world.keys.get(sha256)
  if (key === undefined) return world.store?.find(text, sha256)
  world.known.set(text, key)
  return key
}

function describe(route: Route, world: World): string {
  const place = world.plan.places[route.auth[0] as string]
  if (place?.header !== undefined) return `the ${place.header} header${place.prefix ? ` as "${place.prefix}<key>"` : ''}`
  return place?.query !== undefined ? `the ${place.query} query parameter` : 'the WebSocket subprotocol list'
}
