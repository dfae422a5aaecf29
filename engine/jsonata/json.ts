// The two functions that mappings have beside JSONata's own.

import { isTooDeep } from '../depth.js'

/** The value of a JSON text; nothing where it is none. What is nested too deeply is no value that may be gone without a word. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (isTooDeep(value, text.length)) throw new RangeError('a text of JSON is nested too deeply')
  return value
}

/** Compact JSON text, keys in the order they have. */
export function toJson(value: unknown): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value)
}
