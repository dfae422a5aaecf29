// Checks that bytes which pass unparsed are JSON. Parsing would cost more than all other work on them; here WebAssembly
// scans their structure without allocating anything. If the scan is not sure, the caller has to parse.

import { load, placeOf, scanner, WINDOW } from './scanner.js'

/**
 * Whether the data of every event in a block of whole events is surely JSON, and no marker is in the block. Call it with the
 * same list of markers each time.
 */
export function areSurelyEvents(block: Buffer, markers: readonly string[]): boolean {
  const place = placeOf(markers)
  return place !== undefined && block.length <= WINDOW && scanner.events(load(block), place) === 1
}

/** Whether bytes are surely one JSON text. */
export function isSurelyJson(bytes: Buffer): boolean {
  scanner.begin()
  for (let from = 0; from < bytes.length; ) {
    const isLast = bytes.length - from <= WINDOW
    const length = load(bytes.subarray(from, from + WINDOW))
    const seen = scanner.body(length, isLast ? 1 : 0)
    // A string is longer than the window, or does not end.
    if (seen < (isLast ? length : 1)) return false
    from += seen
  }
  return scanner.isWhole() === 1
}
