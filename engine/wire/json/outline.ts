// The outline of a long body: the body with its long strings omitted. Passing a body on needs only its schema check and a
// few top-level members; parsing the prompt itself would be four fifths of the work, for nothing. The placeholder of a long
// string satisfies a schema only if the string does, so if an outline is accepted, so is its body; if it is not, the whole
// body is checked.

import { isAscii } from 'node:buffer'
import { omittedAsJson } from '../../core/text.js'
import { CODE } from './outline-code.js'
import { type MemberSpan, scanMembers } from './scan.js'

export interface Outline {
  /** The remaining JSON text; strings and keys begin as in the whole body. */
  bytes: Buffer
  body: unknown
  /** The positions of the members in the bytes of the whole body. */
  members: readonly MemberSpan[]
}

/** Bytes; a shorter body is parsed whole. */
export const LONG = 64 * 1024
/** Bytes; the length of a string from which it is omitted. */
const LONG_STRING = 256
/** Bytes of its beginning that stay, if they need no escapes: the beginning often shows what a text is. */
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

/** Declared here because Node's types leave it to the DOM library. */
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object
  Instance: new (module: object) => { exports: unknown }
}

const scanner = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(CODE, 'base64'))).exports as Scanner
const view = new Uint8Array(scanner.memory.buffer, 0, WINDOW)
const spans = new Uint32Array(scanner.memory.buffer, WINDOW)

/** Undefined if the bytes are not JSON, or if the whole has to be parsed to decide. */
export function outlineOf(bytes: Buffer, long = LONG_STRING): Outline | undefined {
  const cuts = longStrings(bytes, long)
  if (cuts === undefined) return undefined
  const encoding = isAscii(bytes) ? 'latin1' : 'utf8'
  let text = ''
  let from = 0
  // Where each cut ends in the outline, and how far the text behind it is shifted in the whole.
  const ends: number[] = []
  const shifts: number[] = []
  let length = 0
  for (let index = 0; index < cuts.length; index += 2) {
    const start = cuts[index] as number
    const end = cuts[index + 1] as number
    // The text between the quotes. Plain characters need no escapes.
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
  // Bytes that are not valid UTF-8 were replaced, so no offset is right.
  if (short.length !== length + bytes.length - from) return undefined
  const members: MemberSpan[] = []
  let cut = 0
  const inWhole = (at: number): number => {
    while (cut < ends.length && (ends[cut] as number) <= at) cut++
    return cut === 0 ? at : at + (shifts[cut - 1] as number)
  }
  scanMembers(short, ({ key, start, keyEnd, valueStart, valueEnd }) =>
    // The members come in order, so each search starts at the last position.
    members.push({ key, start: inWhole(start), keyEnd: inWhole(keyEnd), valueStart: inWhole(valueStart), valueEnd: inWhole(valueEnd) }),
  )
  return { bytes: short, body, members }
}

/** The alternating beginnings and ends of long strings, with their quotes; undefined if a string does not end. */
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

/** The beginning of a string, as far as its characters need no escapes. */
function headOf(bytes: Buffer, start: number): string {
  let end = start
  while (end < start + HEAD && isPlain(bytes[end] as number)) end++
  return bytes.toString('latin1', start, end)
}

function isPlain(code: number): boolean {
  return code >= 0x20 && code <= 0x7e && code !== QUOTE && code !== BACKSLASH
}
