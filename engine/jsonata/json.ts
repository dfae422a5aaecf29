// The functions of mappings beside JSONata's own. They handle the application's JSON, so digits are kept.

import { isTooDeep } from '../wire/json/depth.js'
import { keepDigits, releaseDigits } from '../wire/json/digits.js'

/**
 * The value of a JSON text; undefined if it is not JSON. Throws if it is nested too deep, because a silent undefined would
 * lose it.
 */
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

/** The states of a scan: nothing yet but white space; a whole object, list or text; more than that, which is not JSON. */
const NOTHING = 0
const WHOLE = 1
const TOO_MUCH = 2
/** Inside a value: from here on the depth, with room for two flags. */
const WITHIN = 4
const IN_TEXT = 1
const ESCAPED = 2

/**
 * Scans a JSON value that arrives in pieces. Returns 0 before it begins, 1 when it is whole, any other number between. The
 * end of a number or a word is never known. `before` is the result for the earlier pieces, 0 at first.
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
