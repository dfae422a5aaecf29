// Replaces values at paths in the bytes of a JSON object; all other members keep their bytes.

import { GatewayError } from '../core/errors.js'
import type { Body, Json } from '../plan.js'
import { releaseDigits } from '../wire/json/digits.js'
import { type Edit, editMembers } from '../wire/json/scan.js'

/** The part of a path that a message holds: characters. */
const LONGEST_PATH = 100

/** Paths with dots, and their new values; undefined removes the member. */
export type Replacements = readonly (readonly [path: string, value: Json])[]

/** Throws if a path leads to a place in a list that the list does not have. */
export function replaced(bytes: Buffer, body: Body, replacements: Replacements): Buffer {
  const changed: Body = { ...body }
  const names = new Set<string>()
  for (const [path, value] of replacements) {
    const [name, ...rest] = path.split('.') as [string, ...string[]]
    names.add(name)
    changed[name] = rest.length === 0 ? (value ?? undefined) : withValue(changed[name], rest, value, path)
  }
  return withMembers(bytes, changed, names)
}

/** A copy of a value with another value at the rest of a path; objects on the path are created if missing. */
function withValue(holder: Json, [name, ...rest]: readonly string[], value: Json, path: string): Json {
  if (name === undefined) return value
  if (Array.isArray(holder)) {
    const copy = [...(holder as Json[])]
    const index = /^\d+$/.test(name) ? Number(name) : Number.POSITIVE_INFINITY
    if (index > copy.length) throw new GatewayError('upstream', `replace names ${path.slice(0, LONGEST_PATH)}, which does not exist`)
    copy[index] = withValue(copy[index], rest, value, path)
    return copy
  }
  const copy: Body = typeof holder === 'object' && holder !== null ? { ...holder } : {}
  if (rest.length === 0 && value === null) delete copy[name]
  else copy[name] = withValue(copy[name], rest, value, path)
  return copy
}

/** The bytes of an object with some members taken from another object. */
export function withMembers(bytes: Buffer, body: Body, names: ReadonlySet<string>): Buffer {
  if (names.size === 0) return bytes
  const edits = new Map<string, Edit>()
  for (const name of names)
    edits.set(name, body[name] === undefined ? { drop: true } : { value: releaseDigits(JSON.stringify(body[name])) })
  const edited = editMembers(bytes, edits)
  // The bytes parsed as an object before; if the scan fails, the fault is the gateway's and not the caller's.
  if (edited === undefined) throw new Error('a parsed body could not be scanned')
  return edited
}
