// The top level of a JSON object, found in its bytes without parsing them: for replacing a member in place, and for
// reading one as the bytes pass. The text has been parsed before (requests) or is trusted only as far as what is read
// parses by itself (answers).

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
  valueStart: number
  valueEnd: number
}

/** The end of a string that begins at `start`: the offset after its closing quote, or -1. */
function stringEnd(bytes: Buffer, start: number): number {
  let from = start + 1
  for (;;) {
    const end = bytes.indexOf(QUOTE, from)
    if (end < 0) return -1
    let slashes = 0
    for (let index = end - 1; bytes[index] === BACKSLASH; index--) slashes++
    if (slashes % 2 === 0) return end + 1
    from = end + 1
  }
}

function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The offset after a value that begins at `start`. */
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
  for (let index = start; index < bytes.length; ) {
    const code = bytes[index]
    if (code === QUOTE) {
      index = stringEnd(bytes, index)
      if (index < 0) return -1
      continue
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth--
      if (depth === 0) return index + 1
    }
    index++
  }
  return -1
}

/** Calls `each` for every member of the object at `from`; false if there is none. */
export function scanMembers(bytes: Buffer, each: (member: MemberSpan) => void, from = 0): boolean {
  let index = from
  if (bytes[index] === 0xef && bytes[index + 1] === 0xbb && bytes[index + 2] === 0xbf) index += 3
  while (isSpace(bytes[index])) index++
  if (bytes[index] !== OPEN_BRACE) return false
  index++
  for (;;) {
    while (isSpace(bytes[index]) || bytes[index] === COMMA) index++
    if (bytes[index] === CLOSE_BRACE) return true
    if (bytes[index] !== QUOTE) return false
    const start = index
    const keyEnd = stringEnd(bytes, start)
    if (keyEnd < 0) return false
    const raw = bytes.toString('latin1', start + 1, keyEnd - 1)
    index = keyEnd
    while (isSpace(bytes[index])) index++
    if (bytes[index] !== COLON) return false
    index++
    while (isSpace(bytes[index])) index++
    const valueStart = index
    index = valueEnd(bytes, valueStart)
    if (index < 0) return false
    // A key may be written with escapes, or in letters of several bytes; it is the same key.
    const key = /[\\\x80-\xff]/.test(raw) ? (JSON.parse(bytes.toString('utf8', start, keyEnd)) as string) : raw
    each({ key, start, valueStart, valueEnd: index })
  }
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
  if (bytes[from] !== OPEN_BRACKET) return
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

/** What becomes of a member: another value (JSON text), another name, or nothing. */
export interface Edit {
  value?: string
  rename?: string
  drop?: true
}

/**
 * The bytes of an object with some members changed, and every other byte as it was. A member with a value that is not
 * there is added. Every occurrence of a key is changed, so that it does not matter which one a reader takes.
 */
export function editMembers(bytes: Buffer, edits: ReadonlyMap<string, Edit>): Buffer | undefined {
  const parts: Buffer[] = []
  const found = new Set<string>()
  let from = 0
  let count = 0
  let open = -1
  const ok = scanMembers(bytes, ({ key, start, valueStart, valueEnd: end }) => {
    if (open < 0) open = start
    const edit = edits.get(key)
    if (edit === undefined) {
      count++
      return
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
      return
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
  })
  if (!ok) return undefined
  const missing = [...edits].filter(([key, edit]) => !found.has(key) && edit.value !== undefined)
  if (missing.length > 0) {
    let close = bytes.length - 1
    while (bytes[close] !== CLOSE_BRACE) close--
    const text = missing.map(([key, edit]) => `${JSON.stringify(key)}:${edit.value}`).join(',')
    parts.push(bytes.subarray(from, close), Buffer.from(count > 0 ? `,${text}` : text))
    from = close
  }
  parts.push(bytes.subarray(from))
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}
