// Finds the key of a request: in a header, the query, or the subprotocols of a socket.

import type { KeyLocation } from '../plan.js'

/** The key in the first of some locations that has one. */
export function presentedKey(
  locations: readonly string[],
  known: Readonly<Record<string, KeyLocation>>,
  headers: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
): string | undefined {
  for (const name of locations) {
    const location = known[name]
    if (location === undefined) continue
    const text = keyIn(location, headers, query)
    if (text !== undefined && text !== '') return text
  }
  return undefined
}

function keyIn(
  location: KeyLocation,
  headers: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
): string | undefined {
  if (location.query !== undefined) return query[location.query]
  if (location.protocolPrefix !== undefined) {
    const offered = headers['sec-websocket-protocol']?.split(',').map(item => item.trim())
    const item = offered?.find(protocol => protocol.startsWith(location.protocolPrefix as string))
    return item?.slice(location.protocolPrefix.length)
  }
  const text = headers[location.header as string]
  if (text === undefined || location.prefix === undefined) return text
  return text.slice(0, location.prefix.length).toLowerCase() === location.prefix.toLowerCase()
    ? text.slice(location.prefix.length).trim()
    : undefined
}
