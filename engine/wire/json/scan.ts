// Scans the top level of a JSON object in its bytes without parsing them: to replace a member in place, and to read one
// while the bytes pass. A request has been parsed before; of an answer only the members that are read are trusted, because
// they are parsed by themselves.

import { onlyOffset } from './markers.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

/** A member of the top-level object: offsets of its key's opening quote, and of its value. Ends are exclusive. */
export interface MemberSpan {
  key: string
  start: number
  keyEnd: number
  valueStart: number
  valueEnd: number
}

/** The end of a string that begins at `start`: the offset after its closing quote, or -1. */
export function stringEnd(bytes: Buffer, start: number): number {
  // Most keys and many values are short; the platform's search pays only for long ones.
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

export function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The offset after the value that begins at `start`, or -1 if it does not end. */
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

/** 1 for quotes, braces and brackets, 0 for all other bytes. */
const MATTERS = new Uint8Array(256)
for (const code of [QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET]) MATTERS[code] = 1

/** Bytes without a quote or bracket after which many more are likely, as in the numbers of a vector. */
const DULL = 48
/** Bytes for each search. A search to the end for a rare byte would be repeated over all the rest. */
const WINDOW = 4096

/**
 * The next offset of a quote or bracket, or one before it; uses the platform's search, which is faster than a
 * loop.
 */
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

/** Calls `each` for every member of the object at `from`. Returns the offset after the object, or -1 if there is none. */
export function scanMembers(bytes: Buffer, each: (member: MemberSpan) => void, from = 0): number {
  let index = from
  if (bytes[index] === 0xef && bytes[index + 1] === 0xbb && bytes[index + 2] === 0xbf) index += 3
  while (isSpace(bytes[index])) index++
  if (bytes[index] !== OPEN_BRACE) return -1
  index++
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
    // A key with escapes or multibyte characters is decoded, because it may be the same key.
    const key = /[\\\x80-\xff]/.test(raw) ? (JSON.parse(bytes.toString('utf8', start, keyEnd)) as string) : raw
    each({ key, start, keyEnd, valueStart, valueEnd: index })
  }
}

/**
 * A member of a parsed object, if its key occurs in the bytes only once: then no nested object has the key. Undefined if
 * that cannot be decided without a scan of the whole object.
 */
export function onlyMember(bytes: Buffer, key: string): MemberSpan | undefined {
  let sought = soughtKeys.get(key)
  if (sought === undefined) {
    const quoted = JSON.stringify(key)
    sought = { markers: [quoted, ESCAPED], length: Buffer.byteLength(quoted) }
    soughtKeys.set(key, sought)
  }
  const start = onlyOffset(bytes, sought.markers)
  return start < 0 ? undefined : memberAt(bytes, key, start, start + sought.length)
}

function memberAt(bytes: Buffer, key: string, start: number, keyEnd: number): MemberSpan | undefined {
  // A quote behind a backslash does not begin a string.
  if (bytes[start - 1] === BACKSLASH) return undefined
  let index = keyEnd
  while (isSpace(bytes[index])) index++
  if (bytes[index] !== COLON) return undefined
  index++
  while (isSpace(bytes[index])) index++
  const end = valueEnd(bytes, index)
  return end < 0 ? undefined : { key, start, keyEnd, valueStart: index, valueEnd: end }
}

/** An escape that could hide a letter of a key from the search. */
const ESCAPED = '\\u00'
/** Keys as they are searched for, with their lengths in bytes. It is as small as the number of dialects. */
const soughtKeys = new Map<string, { markers: readonly string[]; length: number }>()

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
  // A single value may stand in place of a list of values.
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

/** The members of an object; undefined if the bytes are not an object. */
function membersOf(bytes: Buffer): MemberSpan[] | undefined {
  const members: MemberSpan[] = []
  return scanMembers(bytes, member => members.push(member)) < 0 ? undefined : members
}

/** The bytes with the value of a member replaced by a JSON text. */
export function withValue(bytes: Buffer, { valueStart, valueEnd: end }: MemberSpan, value: string): Buffer {
  const middle = Buffer.byteLength(value)
  const edited = Buffer.allocUnsafe(bytes.length - (end - valueStart) + middle)
  bytes.copy(edited, 0, 0, valueStart)
  edited.write(value, valueStart)
  bytes.copy(edited, valueStart + middle, end)
  return edited
}

/** An edit of a member: another value (JSON text), another name, or removal. */
export interface Edit {
  value?: string
  rename?: string
  drop?: true
}

/**
 * The bytes of an object with some members edited, and every other byte unchanged. A member with a new value that does not
 * exist is added. Every occurrence of a key is edited, so that readers cannot differ on which one counts. `members` are
 * those of the bytes, if known.
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

/** The result of `editMembers` in pieces: most of them are slices of the bytes. */
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
      // The comma before the member is removed with it, or the comma behind it if it is the first.
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
