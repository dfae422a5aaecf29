// Two JSON values compared: every place where they differ, for a person to read.

import type { Pointer } from '../../codegen/read/yaml.js'

export interface Difference {
  /** From the root of the values. */
  pointer: Pointer
  /** Absent: nothing should be there. */
  expected?: unknown
  /** Absent: nothing is there. */
  actual?: unknown
}

/** Characters of a value that are shown. */
const SHOWN = 200

/** The places where two values differ, in their order; none where they are equal. Members that are undefined are absent. */
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

/** A value in one line, cut where it is long; `nothing` for what is absent. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
