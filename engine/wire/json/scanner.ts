// The scanner of well-formed.wat and its memory. It reads bytes there without allocating anything.

import { CODE } from './well-formed-code.js'

/** The most bytes of a text in the scanner's memory. */
export const WINDOW = 1024 * 1024
/** Zero bytes behind a text, which end a string that was cut off. */
const MARGIN = 64
/** Where the scanner writes the places of members, behind the text, and of how many: two numbers for each. */
export const SPANS = WINDOW + MARGIN
export const MOST_SPANS = 32

interface Scanner {
  memory: { buffer: ArrayBuffer }
  begin(names: number, places: number): void
  isWhole(): number
  body(length: number, isLast: number, base: number): number
  events(length: number, markers: number): number
  holdsAny(length: number, markers: number): number
  only(length: number, markers: number): number
}

/** Declared here because Node's types leave it to the DOM library. */
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

export const scanner = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(CODE, 'base64'))).exports as Scanner
const memory = Buffer.from(scanner.memory.buffer)
const view = new Uint8Array(scanner.memory.buffer, 0, WINDOW + MARGIN)

/** Copies a text of at most WINDOW bytes into the scanner's memory. Returns its length. */
export function load(bytes: Uint8Array): number {
  const { length } = bytes
  view.set(bytes)
  view.fill(0, length, length + MARGIN)
  return length
}

/** The place of a member's value, as the scanner has noted it: offsets; a start of -1 if there is no such member. */
export function spanAt(index: number): { start: number; end: number } {
  return { start: memory.readInt32LE(SPANS + index * 8), end: memory.readInt32LE(SPANS + index * 8 + 4) }
}

/** Where lists of markers are in the scanner's memory, behind the text; undefined: there was no room. */
const addresses = new WeakMap<readonly string[], number | undefined>()
/** The same by content: a reload brings the same lists again. */
const addressesOfTexts = new Map<string, number>()
let free = SPANS + MOST_SPANS * 8

/** Where the scanner has a list of markers; undefined if there is no room for it. */
export function addressOf(markers: readonly string[]): number | undefined {
  if (!addresses.has(markers)) addresses.set(markers, written(markers))
  return addresses.get(markers)
}

/** Each marker is written behind its length; a length of 0 ends the list. */
function written(markers: readonly string[]): number | undefined {
  const key = JSON.stringify(markers)
  const known = addressesOfTexts.get(key)
  if (known !== undefined) return known
  const start = free
  const end = markers.reduce((at, marker) => at + 4 + Buffer.byteLength(marker), start) + 4
  if (end > memory.length) return undefined
  let at = start
  for (const marker of markers) {
    at = memory.writeInt32LE(Buffer.byteLength(marker), at)
    at += memory.write(marker, at)
  }
  memory.writeInt32LE(0, at)
  free = end
  addressesOfTexts.set(key, start)
  return start
}
