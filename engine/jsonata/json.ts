// The two functions that mappings have beside JSONata's own. What they read and write is the application's: digits stay.

import { isTooDeep } from '../depth.js'
import { keepDigits, releaseDigits } from '../digits.js'

/** The value of a JSON text; nothing where it is none. What is nested too deeply is no value that may be gone without a word. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  let value: unknown
  try {
    value = JSON.parse(keepDigits(text))
  } catch {
    return undefined
  }
  if (isTooDeep(value, text.length)) throw new RangeError('a text of JSON is nested too deeply')
  return value
}

/** Compact JSON text, keys in the order they have. */
export function toJson(value: unknown): string | undefined {
  return value === undefined ? undefined : releaseDigits(JSON.stringify(value))
}
