// Checks that bytes which pass unparsed are JSON. Parsing would cost more than all other work on them; here WebAssembly
// scans their structure without allocating anything. If the scan is not sure, the caller has to parse.

import { CODE } from './well-formed-code.js'

const WINDOW = 1024 * 1024
/** Zero bytes behind a text, which end a string that was cut off. */
const MARGIN = 64

interface Scanner {
  memory: { buffer: ArrayBuffer }
  begin(): void
  isWhole(): number
  body(length: number, isLast: number): number
  events(length: number, markers: number): number
}

/** Declared here because Node's types leave it to the DOM library. */
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

const scanner = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(CODE, 'base64'))).exports as Scanner
const view = new Uint8Array(scanner.memory.buffer, 0, WINDOW + MARGIN)

function load(bytes: Uint8Array): number {
  const { length } = bytes
  view.set(bytes)
  view.fill(0, length, length + MARGIN)
  return length
}

/** The lists of markers in the scanner's memory, behind the text: their offsets by content. A reload brings the same lists again. */
const lists = new Map<string, number>()
const memory = Buffer.from(scanner.memory.buffer)
let free = WINDOW + MARGIN

/** Markers that the scanner looks for: their offset in its memory; undefined if they do not fit there. */
export function markersFor(markers: readonly string[]): number | undefined {
  const key = JSON.stringify(markers)
  const known = lists.get(key)
  if (known !== undefined) return known
  const texts = markers.map(marker => Buffer.from(marker))
  const offset = free
  const end = texts.reduce((at, { length }) => at + 4 + length, offset) + 4
  if (end > memory.length) return undefined
  let at = offset
  for (const text of texts) {
    at = memory.writeInt32LE(text.length, at)
    at += text.copy(memory, at)
  }
  memory.writeInt32LE(0, at)
  lists.set(key, offset)
  free = end
  return offset
}

/**
 * Whether the data of every event in a block of whole events is surely JSON, and no marker is in the block. `markers` come
 * from `markersFor`.
 */
export function areSurelyEvents(block: Buffer, markers: number | undefined): boolean {
  return markers !== undefined && block.length <= WINDOW && scanner.events(load(block), markers) === 1
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
