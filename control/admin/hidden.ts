// What a role does not see of the answers that it gets: roles.yaml names the members.

import { Problem } from '../problem.js'

/** A value without the members of these names, at any depth; `a.b` is the member `b` only below `a`. */
export function without(value: unknown, hidden: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map(one => without(one, hidden))
  if (typeof value !== 'object' || value === null) return value
  const shown = Object.entries(value).filter(([name]) => !hidden.includes(name))
  return Object.fromEntries(shown.map(([name, one]) => [name, without(one, [...hidden, ...below(name, hidden)])]))
}

const below = (name: string, hidden: readonly string[]): string[] =>
  hidden.filter(path => path.startsWith(`${name}.`)).map(path => path.slice(name.length + 1))

/** Throws if a query filters or groups by what its role does not see: the answer would tell it. */
export function checkQuery(role: string, hidden: readonly string[], query: Readonly<Record<string, unknown>>): void {
  const asked = [...Object.keys(query), ...(typeof query.by === 'string' ? query.by.split(',') : [])]
  const name = asked.find(one => hidden.includes(one))
  if (name !== undefined) throw new Problem(403, 'role', `The role ${role} does not see ${name}.`, name)
}
