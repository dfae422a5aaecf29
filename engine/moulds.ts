// Parsing events that are alike. Of the events of a stream most differ in a text or two, and in a number. What two of them
// in a row have in common is kept as a mould; an event that fits it is cast from it: parts that never change are not
// parsed again. Whatever does not fit is parsed as a whole. The value is the same either way; its unchanging parts are
// shared between events, so nobody may change them.

/** Longer events have more in them than one piece of an answer. */
const LONGEST = 2048
/** How often a stream's events are compared before they are taken to be unlike. */
const MOST_TRIES = 12
const MOST_MOULDS = 3
const MOST_HOLES = 4
/** From this length on a part of a text holds on to the whole, which may be many events. */
const SLICED = 13

type Key = string | number

interface Cast {
  value: object
  /** What is put in anew: the number of a hole, or a part that has holes. */
  parts: { key: Key; part: Cast | number }[]
}

interface Mould {
  /** What stands before, between and behind the holes. */
  walls: string[]
  /** Whether a hole takes a text; else an integer. */
  isText: boolean[]
  cast: Cast
  filling: (string | number)[]
}

/** A parser for the events of one stream: what `JSON.parse` gives, and the SyntaxError that it throws. */
export function createEventParser(): (text: string) => unknown {
  const moulds: Mould[] = []
  let tries = 0
  let last: string | undefined
  return text => {
    for (let index = 0; index < moulds.length; index++) {
      const mould = moulds[index] as Mould
      if (fits(mould, text)) return filled(mould.cast, mould.filling)
    }
    const value: unknown = JSON.parse(text)
    if (tries === MOST_TRIES || text.length > LONGEST) return value
    const mould = last === undefined ? undefined : mouldOf(last, text)
    last = ownText(text)
    tries++
    if (mould) {
      if (moulds.length === MOST_MOULDS) moulds.pop()
      moulds.unshift(mould)
    }
    return value
  }
}

/** A text that holds on to no other. */
function ownText(text: string): string {
  return Buffer.from(text).toString()
}

/** Whether a text has all of the walls, and what is between them; that is left in the filling. */
function fits({ walls, isText, filling }: Mould, text: string): boolean {
  let at = (walls[0] as string).length
  if (text.slice(0, at) !== walls[0]) return false
  for (let hole = 0; hole < isText.length; hole++) {
    const end = isText[hole] ? endOfText(text, at) : endOfDigits(text, at)
    const wall = walls[hole + 1] as string
    if (end < 0 || text.slice(end, end + wall.length) !== wall) return false
    if (isText[hole]) filling[hole] = textBetween(text, at, end)
    else {
      const digits = text.slice(at, end)
      if (!isInteger(digits)) return false
      filling[hole] = Number(digits)
    }
    at = end + wall.length
  }
  return at === text.length
}

/** The quote that ends a string, or -1. */
function endOfText(text: string, from: number): number {
  let end = text.indexOf('"', from)
  while (end > from && text.charCodeAt(end - 1) === 0x5c) {
    let first = end - 1
    while (first > from && text.charCodeAt(first - 1) === 0x5c) first--
    if ((end - first) % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return end
}

function endOfDigits(text: string, from: number): number {
  let end = from
  for (;;) {
    const code = text.charCodeAt(end)
    if (!(code >= 0x30 && code <= 0x39)) return end
    end++
  }
}

/** Digits as JSON writes an integer, and as many as a number can hold. */
function isInteger(digits: string): boolean {
  return INTEGER.test(digits)
}

const INTEGER = /^(?:0|[1-9]\d{0,14})$/

function textBetween(text: string, from: number, end: number): string {
  let isPlain = end - from < SLICED
  for (let index = from; isPlain && index < end; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || code === 0x5c) isPlain = false
  }
  return isPlain ? text.slice(from, end) : JSON.parse(text.slice(from - 1, end + 1))
}

function filled({ value, parts }: Cast, filling: readonly (string | number)[]): object {
  if (Array.isArray(value)) {
    const list: unknown[] = value.slice()
    for (let index = 0; index < parts.length; index++) {
      const { key, part } = parts[index] as Cast['parts'][number]
      list[key as number] = typeof part === 'number' ? filling[part] : filled(part, filling)
    }
    return list
  }
  const copy: Record<string, unknown> = { ...value }
  for (let index = 0; index < parts.length; index++) {
    const { key, part } = parts[index] as Cast['parts'][number]
    copy[key as string] = typeof part === 'number' ? filling[part] : filled(part, filling)
  }
  return copy
}

// Making a mould -------------------------------------------------------------------------------------------------

/** What two texts of JSON have in common, if they differ in nothing but a few strings and integers. */
function mouldOf(one: string, other: string): Mould | undefined {
  const walls: string[] = []
  const isText: boolean[] = []
  let left = 0
  let right = 0
  // Where the wall that is being built begins in the other text.
  let wall = 0
  while (left < one.length && right < other.length) {
    const [leftEnd, rightEnd] = [endOfToken(one, left), endOfToken(other, right)]
    const token = other.slice(right, rightEnd)
    if (one.slice(left, leftEnd) !== token) {
      const isString = token.startsWith('"') && one[left] === '"'
      // A key names another thing, and not every number is an integer.
      const isHole = isString ? !isKey(other, rightEnd) : isInteger(token) && isInteger(one.slice(left, leftEnd))
      if (!isHole || isText.length === MOST_HOLES) return undefined
      const quote = isString ? 1 : 0
      walls.push(other.slice(wall, right + quote))
      isText.push(isString)
      wall = rightEnd - quote
    }
    left = leftEnd
    right = rightEnd
  }
  if (isText.length === 0 || left !== one.length || right !== other.length) return undefined
  walls.push(other.slice(wall))
  // Where the holes are in the value, marks in their places tell.
  const marks = isText.map((is, hole) => (is ? `\u0001${hole}\u0001` : 700_000_000_000_007 + hole))
  const marked = walls.reduce((text, wall, hole) => {
    const mark = marks[hole - 1] as Key
    return text + (typeof mark === 'string' ? JSON.stringify(mark).slice(1, -1) : mark) + wall
  })
  const found: number[] = []
  const cast = castOf(JSON.parse(marked), marks, found)
  const isWhole = typeof cast === 'object' && found.length === marks.length && new Set(found).size === marks.length
  return isWhole ? { walls: walls.map(ownText), isText, cast, filling: marks.map(() => '') } : undefined
}

/** The end of a string, of digits, or of a character that is neither. */
function endOfToken(text: string, start: number): number {
  if (text.charCodeAt(start) === 0x22) return endOfText(text, start + 1) + 1 || text.length
  const end = endOfDigits(text, start)
  return end > start ? end : start + 1
}

/** Whether the string that ends there is the key of what follows. */
function isKey(text: string, end: number): boolean {
  return /^\s*:/.test(text.slice(end, end + 8))
}

/** The parts of a value that have marks in them, or the number of the mark that it is. */
function castOf(value: unknown, marks: readonly Key[], found: number[]): Cast | number | undefined {
  if (typeof value !== 'object' || value === null) {
    const hole = marks.indexOf(value as Key)
    if (hole < 0) return undefined
    found.push(hole)
    return hole
  }
  const parts: Cast['parts'] = []
  for (const [name, member] of Object.entries(value)) {
    const part = castOf(member, marks, found)
    // What is written to this name would be the prototype.
    if (part !== undefined && name === '__proto__') found.push(-1)
    if (part !== undefined) parts.push({ key: Array.isArray(value) ? Number(name) : name, part })
  }
  return parts.length > 0 ? { value, parts } : undefined
}
