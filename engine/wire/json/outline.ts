// The outline of a long body: the body with its long strings left out. Who only passes a body on wants to know of it what
// its schema says and a few members at the top; the prompt itself is four fifths of the work, and nobody reads it. What
// stands for a long string satisfies a schema only where the string would, so an outline that is accepted is a body
// that is; one that is not says nothing, and the whole is looked at.

import { isAscii } from 'node:buffer'
import { omittedAsJson } from '../../core/text.js'
import { CODE } from './outline-code.js'
import { type MemberSpan, scanMembers } from './scan.js'

export interface Outline {
  /** The JSON text that is left, with strings and keys as they begin in the whole. */
  bytes: Buffer
  body: unknown
  /** Where the members are in the bytes of the whole. */
  members: readonly MemberSpan[]
}

/** Bodies that are shorter are parsed as they are: bytes. */
export const LONG = 64 * 1024
/** So long is a string that is left out, in bytes. */
const LONG_STRING = 256
/** So much of its beginning stays, as far as that is plain: what a text is can often be seen from it. */
const HEAD = 16

const WINDOW = 64 * 1024
const QUOTE = 0x22
const BACKSLASH = 0x5c

interface Scanner {
  memory: { buffer: ArrayBuffer }
  begin(): void
  found(): number
  isInside(): number
  scan(length: number, isLast: number, base: number, long: number): number
}

/** The types of Node leave it to those of browsers. */
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

const scanner = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(CODE, 'base64'))).exports as Scanner
const view = new Uint8Array(scanner.memory.buffer, 0, WINDOW)
const spans = new Uint32Array(scanner.memory.buffer, WINDOW)

/** Nothing where the bytes are not JSON, or a look at the whole has to tell. */
export function outlineOf(bytes: Buffer, long = LONG_STRING): Outline | undefined {
  const cuts = longStrings(bytes, long)
  if (cuts === undefined) return undefined
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8'
  let text = ''
  let from = 0
  // Where in the outline each cut ends, and by how much what is behind it stands further on in the whole.
  const ends: number[] = []
  const shifts: number[] = []
  let length = 0
  for (let index = 0; index < cuts.length; index += 2) {
    const start = cuts[index] as number
    const end = cuts[index + 1] as number
    // Between its quotes: what is plain needs no escapes.
    const mark = omittedAsJson(headOf(bytes, start + 1), end - start - 2)
    text += bytes.toString(encoding, from, start) + mark
    length += start - from + mark.length
    ends.push(length)
    shifts.push(end - length)
    from = end
  }
  text += bytes.toString(encoding, from)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return undefined
  }
  const short = Buffer.from(text, encoding)
  // Bytes that are no letters have become others, and nothing is where it was.
  if (short.length !== length + bytes.length - from) return undefined
  const members: MemberSpan[] = []
  let cut = 0
  const inWhole = (at: number): number => {
    while (cut < ends.length && (ends[cut] as number) <= at) cut++
    return cut === 0 ? at : at + (shifts[cut - 1] as number)
  }
  scanMembers(short, ({ key, start, keyEnd, valueStart, valueEnd }) =>
    // In their order: each place is looked for from the last one on.
    members.push({ key, start: inWhole(start), keyEnd: inWhole(keyEnd), valueStart: inWhole(valueStart), valueEnd: inWhole(valueEnd) }),
  )
  return { bytes: short, body, members }
}

/** Beginnings and ends of long strings in turn, with their quotes; nothing where a string is none. */
function longStrings(bytes: Buffer, long: number): number[] | undefined {
  const found: number[] = []
  scanner.begin()
  for (let from = 0; from < bytes.length; ) {
    const window = bytes.subarray(from, from + WINDOW)
    view.set(window)
    const got = scanner.scan(window.length, from + window.length === bytes.length ? 1 : 0, from, long)
    if (got < 0) return undefined
    const count = scanner.found() * 2
    for (let index = 0; index < count; index++) found.push(spans[index] as number)
    from += got
  }
  return scanner.isInside() ? undefined : found
}

/** The beginning of a string, as far as its letters stand for themselves. */
function headOf(bytes: Buffer, start: number): string {
  let end = start
  while (end < start + HEAD && isPlain(bytes[end] as number)) end++
  return bytes.toString('latin1', start, end)
}

function isPlain(code: number): boolean {
  return code >= 0x20 && code <= 0x7e && code !== QUOTE && code !== BACKSLASH
}
