// JSON from bytes. A long body is read in pieces: the text of the whole would be memory fresh from the system each time,
// which costs as much as parsing it does. What the pieces give is what the whole would give; where they cannot be told
// apart without doubt, the whole is parsed.

import { setKey } from './jsonata/objects.js'
import { isSpace, type MemberSpan, scanMembers, valueEnd } from './scan.js'
import { textOf } from './text.js'

export interface Parsed {
  value: unknown
  /** Where the members of the object are, if they have been looked for. */
  members: readonly MemberSpan[] | undefined
}

/** From this length on a text is no longer kept where short-lived things are. */
export const LONG = 100_000
/** `piece` is the length of one, at least: each has its price. */
const SIZES = { long: LONG, piece: 16_384 }
/** An object of more members is not long because of one of them. */
const MOST_MEMBERS = 256

const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** Throws the SyntaxError of `JSON.parse`. A byte order mark is passed over. */
export function parseJson(bytes: Buffer, sizes = SIZES): Parsed {
  if (bytes.length >= sizes.long) {
    try {
      const parsed = inPieces(bytes, sizes)
      if (parsed) return parsed
    } catch {
      // The whole knows better what is wrong, and where.
    }
  }
  return { value: JSON.parse(textOf(hasMark(bytes) ? bytes.subarray(3) : bytes)), members: undefined }
}

function hasMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

function inPieces(bytes: Buffer, sizes: typeof SIZES): Parsed | undefined {
  const value: Record<string, unknown> = {}
  const members: MemberSpan[] = []
  let isPlain = true
  let from = -1
  const after = scanMembers(bytes, member => {
    // The scan is not strict about commas, and not about what a key may hold.
    if (!isPlain || members.length === MOST_MEMBERS || (from >= 0 && commas(bytes, from, member.start) !== 1)) {
      isPlain = false
      return
    }
    if (from < 0 && bytes.lastIndexOf(COMMA, member.start) >= 0) isPlain = false
    from = member.valueEnd
    JSON.parse(bytes.toString('utf8', member.start, member.keyEnd))
    members.push(member)
    setKey(value, member.key, parseValue(bytes, member.valueStart, member.valueEnd, sizes))
  })
  if (!isPlain || after < 0 || from < 0 || commas(bytes, from, after) !== 0) return undefined
  for (let index = after; index < bytes.length; index++) if (!isSpace(bytes[index])) return undefined
  return { value, members }
}

/** How many commas there are where nothing but commas and blanks is. */
function commas(bytes: Buffer, from: number, to: number): number {
  let count = 0
  for (let index = from; index < to; index++) if (bytes[index] === COMMA) count++
  return count
}

function parseValue(bytes: Buffer, start: number, end: number, { long, piece }: typeof SIZES): unknown {
  if (end - start < long || bytes[start] !== OPEN_BRACKET) return JSON.parse(textOf(bytes.subarray(start, end)))
  const list: unknown[] = []
  let index = start + 1
  for (;;) {
    const first = index
    while (index < end && index - first < piece) {
      while (isSpace(bytes[index])) index++
      const stop = valueEnd(bytes, index)
      if (stop <= index) throw new SyntaxError('no value')
      index = stop
      while (isSpace(bytes[index])) index++
      if (bytes[index] !== COMMA) break
      index++
    }
    const isLast = bytes[index] === CLOSE_BRACKET
    // After a comma there has to be something: here the comma is the last byte of the piece.
    if (!isLast && bytes[index - 1] !== COMMA) throw new SyntaxError('no end')
    const items = JSON.parse(`[${textOf(bytes.subarray(first, isLast ? index : index - 1))}]`) as unknown[]
    if (items.length === 0) throw new SyntaxError('no value')
    for (let place = 0; place < items.length; place++) list.push(items[place])
    if (isLast) {
      if (index + 1 !== end) throw new SyntaxError('no end')
      return list
    }
  }
}
