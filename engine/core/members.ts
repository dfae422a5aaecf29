// Members of JSON values by their paths.

import type { Body, Json, Member } from '../plan.js'
import type { Exchange } from './exchange.js'

export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

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

/** The values at a path where `[]` stands for each element of a list. */
export function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  const next = (one: unknown, name: string): unknown[] => {
    if (name === '[]') return Array.isArray(one) ? one : []
    return isObject(one) && Object.hasOwn(one, name) ? [one[name]] : []
  }
  return path.reduce<unknown[]>((found, name) => found.flatMap(one => next(one, name)), [value])
}

/** The value without the members at such a path: a copy that shares the rest, or the value itself if it has none. */
export function withoutMember(value: Json, [name, ...rest]: readonly string[]): Json {
  if (name === '[]') {
    if (!Array.isArray(value)) return value
    const items = value.map(item => withoutMember(item as Json, rest))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (!isObject(value) || name === undefined || !Object.hasOwn(value, name)) return value
  if (rest.length === 0) return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
  const inner = withoutMember(value[name] as Json, rest)
  return inner === value[name] ? value : { ...value, [name]: inner }
}
