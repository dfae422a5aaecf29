// Members of JSON values by their paths.

import type { Body, Json, Member } from '../plan.js'
import type { Exchange } from './exchange.js'

/** The value at a path; undefined if the path leads through something that is not an object. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  let found = value
  for (const name of path) found = typeof found === 'object' && found !== null ? (found as Body)[name] : undefined
  return found
}

/** The value of a request's member: in its body, its path or its query. */
export function valueAt(member: Member, body: Body, exchange: Exchange | undefined): unknown {
  return memberAt(member.from === 'path' ? exchange?.params : member.from === 'query' ? exchange?.query : body, member.path)
}

/** Sets the value at a path. Copies the objects on the path, because others may hold them, too. */
export function setMember(body: Body, path: readonly string[], value: Json): void {
  let holder = body
  for (const name of path.slice(0, -1)) {
    const next = holder[name]
    holder[name] = typeof next === 'object' && next !== null ? { ...next } : {}
    holder = holder[name] as Body
  }
  holder[path.at(-1) as string] = value
}
