// Finds the key of a request: in a header, the query, or the subprotocols of a socket.

import type { KeyLocation } from '../plan.js'

/** The key in the first of some places that has one. */
export function presentedKey(
  places: readonly string[],
  known: Readonly<Record<string, KeyLocation>>,
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

function keyIn(place: KeyLocation, headers: Readonly<Record<string, string>>, query: Readonly<Record<string, string>>): string | undefined {
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
