// Compares two JSON values, and lists every difference for people.

import type { Pointer } from '../../codegen/read/yaml.js'
import { isObject } from '../../engine/core/members.js'

export interface Difference {
  /** The path from the root. */
  pointer: Pointer
  /** Undefined: the value should be absent. */
  expected?: unknown
  /** Undefined: the value is absent. */
  actual?: unknown
}

/** Characters of a value that are printed. */
const SHOWN = 200

/** The differences of two values, in order. Undefined members count as absent. */
export function differences(expected: unknown, actual: unknown, pointer: Pointer = []): Difference[] {
  if (Object.is(expected, actual) || (expected === 0 && actual === 0)) return []
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = Math.max(expected.length, actual.length)
    return Array.from({ length }, (_, index) => index).flatMap(index => differences(expected[index], actual[index], [...pointer, index]))
  }
  if (isObject(expected) && isObject(actual)) {
    const names = new Set([...Object.keys(expected), ...Object.keys(actual)])
    return [...names].flatMap(name => differences(expected[name], actual[name], [...pointer, name]))
  }
  return [{ pointer, ...(expected !== undefined && { expected }), ...(actual !== undefined && { actual }) }]
}

/** A value in one line, cut if it is long; `nothing` for undefined. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
