// Members that a dialect's answers always have, in what a mapping made: what the provider did not say is said to be nothing.

import type { Completion, Json } from './plan.js'

/** A value with what is missing at the places that the rules name. What was made is left as it is, and copied where it changes. */
export function completed(value: Json, rules: readonly Completion[]): Json {
  let whole = value
  for (const rule of rules) whole = at(whole, rule, 0)
  return whole
}

function at(value: Json, rule: Completion, depth: number): Json {
  if (typeof value !== 'object' || value === null) return value
  const name = rule.path[depth]
  if (name === '[]') return Array.isArray(value) ? value.map(item => at(item, rule, depth + 1)) : value
  if (Array.isArray(value)) return value
  const known = value as Record<string, Json>
  if (name !== undefined) return known[name] === undefined ? value : { ...known, [name]: at(known[name], rule, depth + 1) }
  for (const [member, wanted] of Object.entries(rule.when ?? {})) if (known[member] !== wanted) return value
  // What was made stands first: some readers look for what an object is at its beginning.
  return { ...known, ...Object.fromEntries(Object.entries(rule.members).filter(([member]) => known[member] === undefined)) }
}

/** The text of an event, completed; most kinds of events have no rules. */
export function completedEvent(kind: string, text: string, rules: Readonly<Record<string, readonly Completion[]>>): string {
  const found = Object.hasOwn(rules, kind) ? rules[kind] : undefined
  return found === undefined ? text : JSON.stringify(completed(JSON.parse(text), found))
}
