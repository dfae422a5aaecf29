// Identifies the caller and checks permission. Keys are compared as SHA-256, so that neither the configuration file nor the
// time of a comparison reveals anything about a key.

import { hash } from 'node:crypto'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Key, Route, Snapshot } from '../snapshot/model.js'
import { presentedKey } from '../snapshot/presented-key.js'

/** The caller's key; undefined on routes without keys. A promise if the key has to be looked up elsewhere. */
export function admit(route: Route, exchange: Exchange, snapshot: Snapshot): Key | undefined | Promise<Key> {
  if (route.auth.length === 0) return undefined
  const text = presentedKey(route.auth, snapshot.plan.keyLocations, exchange.headers, exchange.query)
  if (text === undefined) throw new GatewayError('authentication', `No API key was given. Send it in ${describe(route, snapshot)}.`)
  const key = keyOf(text, snapshot)
  return key instanceof Promise ? key.then(found => admitted(found, route, exchange, snapshot)) : admitted(key, route, exchange, snapshot)
}

/** Throws if the key is unknown, or is not permitted. */
function admitted(key: Key | undefined, route: Route, exchange: Exchange, snapshot: Snapshot): Key {
  if (key === undefined) throw new GatewayError('authentication', 'The API key is not valid.')
  exchange.log.key = key.name
  exchange.log.caller = key
  // Budgets and kept answers belong to a name: another key with it would get those of the key in the file.
  if (key.id !== undefined && snapshot.keyNames.has(key.name))
    throw new GatewayError('permission', `Another API key has the name '${key.name}' in the configuration, so this one may not be used.`)
  checkPermission(key, route)
  if (key.mayComeFrom && !key.mayComeFrom(exchange.address()))
    throw new GatewayError('permission', 'This API key may not be used from this address.')
  const { times } = snapshot.standingOf(key)
  if (times !== 1) exchange.log.times = times
  return key
}

/** Throws if a key may not be used on a route, from wherever. */
export function checkPermission(key: Key, route: Route): void {
  if (!key.enabled) throw new GatewayError('permission', 'This API key has been disabled.')
  if (key.expires !== undefined && key.expires <= Date.now()) throw new GatewayError('permission', 'This API key has expired.')
  if (key.mayAsk && !key.mayAsk(route.name)) throw new GatewayError('permission', 'This API key may not use this route.')
}

/** An accepted key is found by its text: one Map lookup, whose time reveals nothing about a wrong text. */
function keyOf(text: string, snapshot: Snapshot): Key | undefined | Promise<Key | undefined> {
  const known = snapshot.known.get(text) ?? snapshot.store?.known(text) ?? snapshot.tokens?.known(text)
  if (known !== undefined) return known
  const sha256 = hash('sha256', text, 'hex')
  const key = snapshot.keys.get(sha256)
  if (key === undefined) return snapshot.tokens?.find(text, sha256) ?? snapshot.store?.find(text, sha256)
  snapshot.known.set(text, key)
  return key
}

function describe(route: Route, snapshot: Snapshot): string {
  const location = snapshot.plan.keyLocations[route.auth[0] as string]
  if (location?.header !== undefined) return `the ${location.header} header${location.prefix ? ` as "${location.prefix}<key>"` : ''}`
  return location?.query !== undefined ? `the ${location.query} query parameter` : 'the WebSocket subprotocol list'
}
