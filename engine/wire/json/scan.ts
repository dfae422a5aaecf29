// The top level of a JSON object, found in its bytes without parsing them: for replacing a member in place, and for
// reading one as the bytes pass. The text has been parsed before (requests) or is trusted only as far as what is read
// parses by itself (answers).

import { asPattern } from '../../core/text.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

/** A member of the top-level object: offsets of its key's quote, and of its value. Ends are exclusive. */
export interface MemberSpan {
  key: string
  start: number
  keyEnd: number
  valueStart: number
  valueEnd: number
}

/** The end of a string that begins at `start`: the offset after its closing quote, or -1. */
function stringEnd(bytes: Buffer, start: number): number {
  // Most keys and many values are short; a search by the platform pays for itself in long ones.
  const near = Math.min(start + 1 + SHORT, bytes.length)
  let from = start + 1
  while (from < near && bytes[from] !== QUOTE && bytes[from] !== BACKSLASH) from++
  if (bytes[from] === QUOTE) return from + 1
  for (;;) {
    const end = bytes.indexOf(QUOTE, from)
    if (end < 0) return -1
    let slashes = 0
    for (let index = end - 1; bytes[index] === BACKSLASH; index--) slashes++
    if (slashes % 2 === 0) return end + 1
    from = end + 1
  }
}

const SHORT = 24

function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The offset after a value that begins at `start`, or -1 where it has no end. */
function valueEnd(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return stringEnd(bytes, start)
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    let index = start
    while (index < bytes.length) {
      const code = bytes[index]
      if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break
      index++
    }
    return index
  }
  let depth = 0
  let dull = 0
  for (let index = start; index < bytes.length; ) {
    const code = bytes[index] as number
    if (MATTERS[code] === 0) {
      index++
      if (++dull === DULL) {
        index = nextThatMatters(bytes, index)
        dull = 0
      }
      continue
    }
    dull = 0
    if (code === QUOTE) {
      index = stringEnd(bytes, index)
      if (index < 0) return -1
      continue
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
    else {
      depth--
      if (depth === 0) return index + 1
    }
    index++
  }
  return -1
}

/** Bytes that matter to what lies in what: 1, every other byte: 0. */
const MATTERS = new Uint8Array(256)
for (const code of [QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET]) MATTERS[code] = 1

/** After so many bytes that do not matter there are likely many more of them: the numbers of a vector. */
const DULL = 48
/** How far is looked at once. Not to the end: what is rare would be looked for again and again in all the rest. */
const WINDOW = 4096

/** The next offset whose byte matters, or one before it; a search that the platform does in larger steps than we can. */
function nextThatMatters(bytes: Buffer, from: number): number {
  for (let index = from; index < bytes.length; index += WINDOW) {
    let window = bytes.subarray(index, index + WINDOW)
    const all = window.length
    for (const code of [QUOTE, CLOSE_BRACKET, CLOSE_BRACE, OPEN_BRACKET, OPEN_BRACE]) {
      const found = window.indexOf(code)
      if (found >= 0) window = window.subarray(0, found)
    }
    if (window.length < all) return index + window.length
  }
  return bytes.length
}

/** Calls `each` for every member of the object at `from`. Gives the offset after the object, or -1 if there is none. */
export function scanMembers(bytes: Buffer, each: (member: MemberSpan) => void, from = 0): number {
  let index = from
  if (bytes[index] === 0xef && bytes[index + 1] === 0xbb && bytes[index + 2] === 0xbf) index += 3
  while (isSpace(bytes[index])) index++
  return bytes[index] === OPEN_BRACE ? restOfObject(bytes, index + 1, each) : -1
}

/** The members of an object from one of them on. */
function restOfObject(bytes: Buffer, from: number, each: (member: MemberSpan) => void): number {
  let index = from
  for (;;) {
    while (isSpace(bytes[index]) || bytes[index] === COMMA) index++
    if (bytes[index] === CLOSE_BRACE) return index + 1
    if (bytes[index] !== QUOTE) return -1
    const start = index
    const keyEnd = stringEnd(bytes, start)
    if (keyEnd < 0) return -1
    const raw = bytes.toString('latin1', start + 1, keyEnd - 1)
    index = keyEnd
    while (isSpace(bytes[index])) index++
    if (bytes[index] !== COLON) return -1
    index++
    while (isSpace(bytes[index])) index++
    const valueStart = index
    index = valueEnd(bytes, valueStart)
    if (index < 0) return -1
    // A key may be written with escapes, or in letters of several bytes; it is the same key.
    const key = /[\\\x80-\xff]/.test(raw) ? (JSON.parse(bytes.toString('utf8', start, keyEnd)) as string) : raw
    each({ key, start, keyEnd, valueStart, valueEnd: index })
  }
}

/**
 * The member of an object that has it, and whose bytes have been parsed, if its key stands in them only once: then nothing
 * else in the object has such a key. Nothing where that cannot be told without looking at all of it.
 */
export function onlyMember(bytes: Buffer, key: string, ascii: string | undefined): MemberSpan | undefined {
  const quoted = quotedKey(key)
  const start = ascii === undefined ? onlyOffset(bytes, quoted) : onlyMatch(ascii, key)
  return start < 0 ? undefined : memberAt(bytes, key, start, start + quoted.length)
}

function onlyOffset(bytes: Buffer, quoted: Buffer): number {
  const start = bytes.indexOf(quoted)
  return start < 0 || bytes.indexOf(quoted, start + quoted.length) >= 0 || bytes.includes(ESCAPED) ? -1 : start
}

/** The same by one pass over a text whose characters are the bytes, which is faster. */
function onlyMatch(ascii: string, key: string): number {
  let pattern = keyPatterns.get(key)
  if (pattern === undefined) {
    pattern = new RegExp(`${asPattern(JSON.stringify(key))}|${asPattern(ESCAPED)}`, 'g')
    keyPatterns.set(key, pattern)
  }
  pattern.lastIndex = 0
  const found = pattern.exec(ascii)
  if (found === null || found[0] === ESCAPED) return -1
  const another = pattern.test(ascii)
  return another ? -1 : found.index
}

/**
 * Members of the outermost object with little behind them, in bytes that nobody has parsed: of each name the last one, which is
 * the one that counts. Nothing where one of the names stands somewhere else, or that cannot be told. One that is written with escapes
 * alone is not there.
 */
export function lateMembers(bytes: Buffer, keys: readonly string[]): MemberSpan[] | undefined {
  let start = bytes.length
  let count = 0
  for (const key of keys) {
    const at = bytes.lastIndexOf(quotedKey(key))
    if (at < 0) continue
    count++
    if (at < start) start = at
  }
  // A quote behind a backslash begins nothing.
  if (count === 0 || bytes[start - 1] === BACKSLASH) return undefined
  const found: MemberSpan[] = []
  // What follows ends one object, if the members belong to the outermost.
  let index = restOfObject(bytes, start, member => {
    if (keys.includes(member.key)) found.push(member)
  })
  if (index < 0 || found.length !== count || new Set(found.map(({ key }) => key)).size !== count) return undefined
  while (isSpace(bytes[index])) index++
  if (index !== bytes.length) return undefined
  let first = 0
  while (isSpace(bytes[first])) first++
  return bytes[first] === OPEN_BRACE ? found : undefined
}

function memberAt(bytes: Buffer, key: string, start: number, keyEnd: number): MemberSpan | undefined {
  // A quote behind a backslash begins nothing.
  if (bytes[start - 1] === BACKSLASH) return undefined
  let index = keyEnd
  while (isSpace(bytes[index])) index++
  if (bytes[index] !== COLON) return undefined
  index++
  while (isSpace(bytes[index])) index++
  const end = valueEnd(bytes, index)
  return end < 0 ? undefined : { key, start, keyEnd, valueStart: index, valueEnd: end }
}

/** How a letter of a key can be written so that a search for the key does not find it. */
const ESCAPED = '\\u00'
const quotedKeys = new Map<string, Buffer>()
const keyPatterns = new Map<string, RegExp>()

/** A key as it stands in JSON. There are as many of them as dialects. */
function quotedKey(key: string): Buffer {
  let quoted = quotedKeys.get(key)
  if (quoted === undefined) {
    quoted = Buffer.from(JSON.stringify(key))
    quotedKeys.set(key, quoted)
  }
  return quoted
}

/** Calls `each` with the offsets of every value at a path, where `[]` stands for each element of a list. */
export function forEachAt(
  bytes: Buffer,
  path: readonly string[],
  each: (start: number, end: number) => void,
  from = 0,
  end = bytes.length,
): void {
  const [name, ...rest] = path
  if (name === undefined) {
    each(from, end)
    return
  }
  if (name !== '[]') {
    scanMembers(
      bytes,
      member => {
        if (member.key === name) forEachAt(bytes, rest, each, member.valueStart, member.valueEnd)
      },
      from,
    )
    return
  }
  // One thing may stand for a list of it.
  if (bytes[from] !== OPEN_BRACKET) {
    forEachAt(bytes, rest, each, from, end)
    return
  }
  let index = from + 1
  for (;;) {
    while (isSpace(bytes[index]) || bytes[index] === COMMA) index++
    if (index >= end || bytes[index] === CLOSE_BRACKET) return
    const stop = valueEnd(bytes, index)
    if (stop <= index) return
    forEachAt(bytes, rest, each, index, stop)
    index = stop
  }
}

/** The members of an object, or nothing where the bytes are none. */
function membersOf(bytes: Buffer): MemberSpan[] | undefined {
  const members: MemberSpan[] = []
  return scanMembers(bytes, member => members.push(member)) < 0 ? undefined : members
}

/** The bytes with another value, JSON text, in the place of a member's. */
export function withValue(bytes: Buffer, { valueStart, valueEnd: end }: MemberSpan, value: string): Buffer {
  const middle = Buffer.byteLength(value)
  const edited = Buffer.allocUnsafe(bytes.length - (end - valueStart) + middle)
  bytes.copy(edited, 0, 0, valueStart)
  edited.write(value, valueStart)
  bytes.copy(edited, valueStart + middle, end)
  return edited
}

/** What becomes of a member: another value (JSON text), another name, or nothing. */
export interface Edit {
  value?: string
  rename?: string
  drop?: true
}

/**
 * The bytes of an object with some members changed, and every other byte as it was. A member with a value that is not
 * there is added. Every occurrence of a key is changed, so that it does not matter which one a reader takes. `members` are
 * those of the bytes, where they are known.
 */
export function editMembers(
  bytes: Buffer,
  edits: ReadonlyMap<string, Edit>,
  members: readonly MemberSpan[] | undefined = membersOf(bytes),
): Buffer | undefined {
  if (members === undefined) return undefined
  const pieces = editedPieces(bytes, edits, members)
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
}

/** What `editMembers` gives, piece by piece: most of them are parts of the bytes. */
export function editedPieces(bytes: Buffer, edits: ReadonlyMap<string, Edit>, members: readonly MemberSpan[]): Buffer[] {
  const parts: Buffer[] = []
  const found = new Set<string>()
  let from = 0
  let count = 0
  for (const { key, start, valueStart, valueEnd: end } of members) {
    const edit = edits.get(key)
    if (edit === undefined) {
      count++
      continue
    }
    found.add(key)
    if (edit.drop) {
      // The comma before the member goes with it, or the one behind it where it is the first.
      let begin = start
      let after = end
      let back = start - 1
      while (isSpace(bytes[back])) back--
      if (bytes[back] === COMMA && back >= from) begin = back
      else {
        while (isSpace(bytes[after])) after++
        if (bytes[after] === COMMA) after++
      }
      if (begin > from) parts.push(bytes.subarray(from, begin))
      from = after
      continue
    }
    count++
    if (edit.rename !== undefined) {
      parts.push(bytes.subarray(from, start), Buffer.from(`${JSON.stringify(edit.rename)}:`))
      from = valueStart
    }
    if (edit.value !== undefined) {
      parts.push(bytes.subarray(from, valueStart), Buffer.from(edit.value))
      from = end
    }
  }
  const missing = [...edits].filter(([key, edit]) => !found.has(key) && edit.value !== undefined)
  if (missing.length > 0) {
    let close = bytes.length - 1
    while (bytes[close] !== CLOSE_BRACE) close--
    const text = missing.map(([key, edit]) => `${JSON.stringify(key)}:${edit.value}`).join(',')
    parts.push(bytes.subarray(from, close), Buffer.from(count > 0 ? `,${text}` : text))
    from = close
  }
  parts.push(bytes.subarray(from))
  return parts
}
