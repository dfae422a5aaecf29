// JSON from bytes.

import { textOf } from '../../core/text.js'

/** Throws the SyntaxError of `JSON.parse`. A byte order mark is passed over. */
export function parseJson(bytes: Buffer): unknown {
  return JSON.parse(textOf(hasMark(bytes) ? bytes.subarray(3) : bytes))
}

function hasMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}
