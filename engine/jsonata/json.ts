// The two functions that mappings have beside JSONata's own. What they read and write is the application's: digits stay.

import { keepDigits, releaseDigits } from '../digits.js'

/** The value of a JSON text; nothing where it is none. */
export function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') return undefined
  try {
    return JSON.parse(keepDigits(text))
  } catch {
    return undefined
  }
}

/** Compact JSON text, keys in the order they have. */
export function toJson(value: unknown): string | undefined {
  return value === undefined ? undefined : releaseDigits(JSON.stringify(value))
}
