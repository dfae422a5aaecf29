// Searches bytes for markers: texts of which one is in the bytes if something is to be noticed there.

import { addressOf, load, scanner, WINDOW } from './scanner.js'

/**
 * Whether bytes hold any of some texts. Call it with the same list each time. `Buffer.includes` takes ten times as long when
 * the first letter of a text is frequent, as a quote is.
 */
export function holdsAny(bytes: Buffer, markers: readonly string[]): boolean {
  const address = bytes.length <= WINDOW ? addressOf(markers) : undefined
  return address === undefined ? markers.some(marker => bytes.includes(marker)) : scanner.holdsAny(load(bytes), address) === 1
}

/**
 * The offset of the first of some texts, if it is in the bytes once and none of the others is; else -1, also if the bytes are
 * too long for the search. Call it with the same list each time.
 */
export function onlyOffset(bytes: Buffer, markers: readonly string[]): number {
  const address = bytes.length <= WINDOW ? addressOf(markers) : undefined
  return address === undefined ? -1 : scanner.only(load(bytes), address)
}
