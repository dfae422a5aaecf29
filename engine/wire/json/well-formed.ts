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
  events(length: number): number
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

/** Whether the data of every event in a block of whole events is surely JSON. */
export function areSurelyEvents(block: Buffer): boolean {
  return block.length <= WINDOW && scanner.events(load(block)) === 1
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
