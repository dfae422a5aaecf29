// Checks that bytes which pass unparsed are JSON. Parsing would cost more than all other work on them; here WebAssembly
// scans their structure without allocating anything. If the scan is not sure, the caller has to parse.

import { isSpace } from './scan.js'
import { addressOf, load, MOST_SPANS, SPANS, scanner, spanAt, WINDOW } from './scanner.js'

/**
 * How many bytes of a block of whole events are events whose data is surely JSON, that hold no marker and that are no errors by
 * their lines: those before the first event that has to be parsed. Call it with the same list of markers each time.
 */
export function sureEvents(block: Buffer, markers: readonly string[]): number {
  const address = addressOf(markers)
  return address !== undefined && block.length <= WINDOW ? scanner.events(load(block), address) : 0
}

/**
 * The values of the first `parsed` of some members of an object, and `true` for each other one that is there; nothing else of it
 * is parsed. Undefined if the bytes are not surely JSON of an object, or if such a member may be there twice. Call it with the
 * same list of names each time.
 */
export function surelyMembers(bytes: Buffer, names: readonly string[], parsed = names.length): Record<string, unknown> | undefined {
  if (!isObject(bytes) || !isSurelyJson(bytes, quoted(names))) return undefined
  const found: Record<string, unknown> = {}
  for (let index = 0; index < names.length; index++) {
    const { start, end } = spanAt(index)
    if (start >= 0) found[names[index] as string] = index >= parsed || JSON.parse(bytes.toString('utf8', start, end))
  }
  return found
}

/** Whether bytes are surely one JSON text. Notes the places of the members with some names, written as in JSON. */
export function isSurelyJson(bytes: Buffer, names: readonly string[] = NONE): boolean {
  const list = names.length > MOST_SPANS ? undefined : addressOf(names)
  if (list === undefined) return false
  scanner.begin(list, SPANS)
  for (let from = 0; from < bytes.length; ) {
    const isLast = bytes.length - from <= WINDOW
    const length = load(isLast && from === 0 ? bytes : bytes.subarray(from, from + WINDOW))
    const seen = scanner.body(length, isLast ? 1 : 0, from)
    // A string is longer than the window, or does not end.
    if (seen < (isLast ? length : 1)) return false
    from += seen
  }
  return scanner.isWhole() === 1
}

const NONE: readonly string[] = []
const OPEN_BRACE = 0x7b

function isObject(bytes: Buffer): boolean {
  let first = 0
  while (isSpace(bytes[first])) first++
  return bytes[first] === OPEN_BRACE
}

const quotedNames = new WeakMap<readonly string[], readonly string[]>()

function quoted(names: readonly string[]): readonly string[] {
  let list = quotedNames.get(names)
  if (list === undefined) {
    list = names.map(name => JSON.stringify(name))
    quotedNames.set(names, list)
  }
  return list
}
