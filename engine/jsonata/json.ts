// The functions that mappings have beside JSONata's own. What they read and write is the application's: digits stay.

import { isTooDeep } from '../wire/json/depth.js'
import { keepDigits, releaseDigits } from '../wire/json/digits.js'

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

/** Nothing yet but white space; a whole object, list or text; more than that, which is no JSON. */
const NOTHING = 0
const WHOLE = 1
const TOO_MUCH = 2
/** Within a value: from here on the depth, with room for the two flags. */
const WITHIN = 4
const IN_TEXT = 1
const ESCAPED = 2

/**
 * How far a JSON value has come that comes in pieces: 0 before it begins, 1 where it is whole, any other number between. A
 * number or a word is never known to be whole. Takes what it gave for the pieces before, 0 at first.
 */
export function jsonScan(before: unknown, text: unknown): number {
  let scan = typeof before === 'number' ? before : NOTHING
  if (typeof text !== 'string') return scan
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (scan >= WITHIN && (scan & (IN_TEXT | ESCAPED)) !== 0) {
      if ((scan & ESCAPED) !== 0) scan -= ESCAPED
      else if (code === 0x5c) scan += ESCAPED
      else if (code === 0x22) scan = ended(scan - IN_TEXT)
      continue
    }
    if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) continue
    if (scan === WHOLE || scan === TOO_MUCH) return TOO_MUCH
    if (scan === NOTHING) scan = WITHIN
    if (code === 0x22) scan |= IN_TEXT
    else if (code === 0x7b || code === 0x5b) scan += WITHIN
    else if (code === 0x7d || code === 0x5d) scan = ended(scan - WITHIN)
  }
  return scan
}

function ended(scan: number): number {
  return scan === WITHIN ? WHOLE : scan < WITHIN ? TOO_MUCH : scan
}
