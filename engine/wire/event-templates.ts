// Parses similar events quickly. Most events of a provider differ only in a text or two, and in a number. The common part
// of two events becomes a template, shared by all streams of a target; an event that matches it is built from it, without
// parsing the constant part again. An event that matches no template is parsed whole, and may become a template. The value
// is the same either way; events share its constant parts, so nobody may change them.

import { asPattern } from '../core/text.js'
import type { Json, StreamFormat } from '../plan.js'
import { endOfEvent, isSentinel, parseEvents } from './sse.js'

/** Characters; a longer event holds more than one piece of an answer. */
const LONGEST = 2048
const MOST_TEMPLATES = 8
const MOST_SLOTS = 6
/** Recent events without a template that the next one is compared with. */
const MOST_RECENT = 4
/** Characters from which V8 makes a slice that keeps the whole text, perhaps many events, in memory. */
const SLICED = 13

/** Making templates uses credit that matching events earn: where all events differ, little is tried. */
const MOST_CREDIT = 32
const EARNED = { fit: 1 / 256, stream: 1 / 8 }
const SPENT = { comparison: 1 / 8, template: 1 }

type Key = string | number

interface Skeleton {
  value: object
  /** The parts that change: the number of a slot, or a part that has slots. */
  parts: { key: Key; part: Skeleton | number }[]
}

interface Template {
  /** Matches a whole event, from the beginning of a line to behind its blank line. Its groups are the slots. */
  pattern: RegExp
  /** Whether a slot takes a text; else an integer. */
  isText: boolean[]
  skeleton: Skeleton
  /**
   * For each slot, the slot texts that would complete a marker with the adjacent literals; undefined if markers may be
   * anywhere.
   */
  guards?: readonly (readonly string[])[]
}

/**
 * Receives an event's value and its text, which is undefined if the text can hold no marker. `isNormal`: the value comes
 * from a template that was normalised. `isError`: the event is an error by its lines, and its text need not be JSON.
 */
type Take = (value: unknown, text: string | undefined, isNormal: boolean, isError: boolean) => unknown

/** Reads the events of one stream. */
export interface EventReader {
  /**
   * Calls `take` for every event of a text of whole events until it returns true; also for the sentinel, without a value.
   * Returns false at an event that is not JSON, and reads no further.
   */
  read(text: string, take: Take): boolean
}

/** The templates of a target's events. */
export interface EventTemplates {
  reader(): EventReader
}

/** `normalise` brings an event into the form of its schema; a template is normalised once, when it is made. */
export function createEventTemplates(format: StreamFormat, normalise?: (event: Json) => Json): EventTemplates {
  const markers = markersOf(format)
  const templates: Template[] = []
  const recent: string[] = []
  let credit = MOST_CREDIT

  /** The template that matches the event at an offset. Templates move to the front as they match. */
  const fitting = (text: string, at: number): { template: Template; found: RegExpExecArray } | undefined => {
    for (let index = 0; index < templates.length; index++) {
      const template = templates[index] as Template
      template.pattern.lastIndex = at
      const found = template.pattern.exec(text)
      if (found === null) continue
      if (index > 0) [templates[index - 1], templates[index]] = [template, templates[index - 1] as Template]
      credit = Math.min(credit + EARNED.fit, MOST_CREDIT)
      return { template, found }
    }
    return undefined
  }
  const learn = (event: string): void => {
    if (credit < SPENT.template || event.length > LONGEST || recent.includes(event)) return
    for (let index = recent.length - 1; index >= 0; index--) {
      credit -= SPENT.comparison
      const template = templateOf(recent[index] as string, event, markers, normalise)
      if (template === undefined) continue
      credit -= SPENT.template
      if (templates.length === MOST_TEMPLATES) templates.pop()
      templates.unshift(template)
      break
    }
    if (recent.length === MOST_RECENT) recent.shift()
    recent.push(ownText(event))
  }
  return {
    reader() {
      credit = Math.min(credit + EARNED.stream, MOST_CREDIT)
      /** The texts of the last event by slot, so that equal texts are stored once. */
      const texts: string[] = []
      const filling: (string | number)[] = []
      return {
        read(text, take) {
          let at = 0
          while (at < text.length) {
            const fit = fitting(text, at)
            if (fit !== undefined) {
              const { template, found } = fit
              const start = at
              at = template.pattern.lastIndex
              fill(filling, template, found, texts)
              const told = hasNoMarker(template, found) ? undefined : text.slice(start, at)
              if (take(filled(template.skeleton, filling), told, true, false) === true) return true
              continue
            }
            const end = endOfEvent(text, at)
            const event = text.slice(at, end)
            at = end
            const outcome = whole(event, format.sentinel, take)
            if (outcome === 'broken') return false
            if (outcome === 'enough') return true
            if (outcome === 'event') learn(event)
          }
          return true
        },
      }
    },
  }
}

/** Parses one event: whether there was one, whether it was JSON, and whether `take` wants no more. */
function whole(event: string, sentinel: string | undefined, take: Take): 'event' | 'none' | 'enough' | 'broken' {
  let outcome: 'event' | 'none' | 'enough' | 'broken' = 'none'
  parseEvents(event, (data, isError) => {
    let value: unknown
    if (!isError && !isSentinel(data, sentinel)) {
      try {
        value = JSON.parse(data)
      } catch {
        outcome = 'broken'
        return true
      }
    }
    outcome = take(value, data, false, isError) === true ? 'enough' : 'event'
    return outcome === 'enough'
  })
  return outcome
}

/** A copy of a text that keeps no larger text in memory. */
function ownText(text: string): string {
  return Buffer.from(text).toString()
}

/** Whether a matched event can hold no marker. */
function hasNoMarker({ guards, isText }: Template, found: RegExpExecArray): boolean {
  if (guards === undefined) return false
  for (let slot = 0; slot < isText.length; slot++) {
    const texts = guards[slot] as readonly string[]
    for (let index = 0; index < texts.length; index++) if (found[slot + 1] === texts[index]) return false
  }
  return true
}

/** The matched slots as values; `texts` has those of the event before. */
function fill(filling: (string | number)[], { isText }: Template, found: RegExpExecArray, texts: string[]): void {
  for (let slot = 0; slot < isText.length; slot++) {
    const text = found[slot + 1] as string
    if (!isText[slot]) {
      filling[slot] = Number(text)
      continue
    }
    const isEscaped = text.includes('\\')
    if (text.length < SLICED && !isEscaped) filling[slot] = text
    else {
      // A text that all events share, such as an id, is parsed once.
      if (isEscaped || texts[slot] !== text) texts[slot] = JSON.parse(`"${text}"`)
      filling[slot] = texts[slot] as string
    }
  }
}

function filled({ value, parts }: Skeleton, filling: readonly (string | number)[]): object {
  if (Array.isArray(value)) {
    const list: unknown[] = value.slice()
    for (let index = 0; index < parts.length; index++) {
      const { key, part } = parts[index] as Skeleton['parts'][number]
      list[key as number] = typeof part === 'number' ? filling[part] : filled(part, filling)
    }
    return list
  }
  const copy: Record<string, unknown> = { ...value }
  for (let index = 0; index < parts.length; index++) {
    const { key, part } = parts[index] as Skeleton['parts'][number]
    copy[key as string] = typeof part === 'number' ? filling[part] : filled(part, filling)
  }
  return copy
}

// Making a template -------------------------------------------------------------------------------------------------

/** The inside of a string, and an integer that a number holds exactly. Texts with other escapes go to the full parser. */
const TEXT = '([^"\\\\\\x00-\\x1f]*(?:\\\\(?:["\\\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\\\\x00-\\x1f]*){0,64})'
const INTEGER = '(0|[1-9]\\d{0,14})'
const IS_INTEGER = new RegExp(`^${INTEGER}$`)

/** The common template of two events, if they differ only in a few strings and integers. */
function templateOf(
  one: string,
  other: string,
  markers: readonly string[],
  normalise: ((event: Json) => Json) | undefined,
): Template | undefined {
  /** The literals before, between and behind the slots. */
  const literals: string[] = []
  const isText: boolean[] = []
  let left = 0
  let right = 0
  // Where the current literal begins in the other text.
  let literal = 0
  while (left < one.length && right < other.length) {
    const [leftEnd, rightEnd] = [endOfToken(one, left), endOfToken(other, right)]
    const token = other.slice(right, rightEnd)
    if (one.slice(left, leftEnd) !== token) {
      const isString = token.startsWith('"') && one[left] === '"'
      // A key must not vary, and only an integer may be a number slot.
      const isSlot = isString
        ? !isKey(other, rightEnd)
        : IS_INTEGER.test(token) && IS_INTEGER.test(one.slice(left, leftEnd)) && isWholeNumber(other, right, rightEnd)
      if (!isSlot || isText.length === MOST_SLOTS) return undefined
      const quote = isString ? 1 : 0
      literals.push(other.slice(literal, right + quote))
      isText.push(isString)
      literal = rightEnd - quote
    }
    left = leftEnd
    right = rightEnd
  }
  if (isText.length === 0 || left !== one.length || right !== other.length) return undefined
  literals.push(other.slice(literal))
  const skeleton = skeletonBetween(literals, isText, normalise)
  if (skeleton === undefined) return undefined
  const slots = isText.map(is => (is ? TEXT : INTEGER))
  const pattern = literals.map(asPattern).reduce((source, literal, slot) => source + (slots[slot - 1] as string) + literal)
  const guards = guardsOf(literals, isText, markers)
  return { pattern: new RegExp(pattern, 'y'), isText, skeleton, ...(guards && { guards }) }
}

/** The value between the literals, with marks in place of the slots. */
function skeletonBetween(
  literals: readonly string[],
  isText: readonly boolean[],
  normalise: ((event: Json) => Json) | undefined,
): Skeleton | undefined {
  const marks = isText.map((is, slot) => (is ? `\u0001${slot}\u0001` : 700_000_000_000_007 + slot))
  const marked = literals.reduce((text, literal, slot) => {
    const mark = marks[slot - 1] as Key
    return text + (typeof mark === 'string' ? JSON.stringify(mark).slice(1, -1) : mark) + literal
  })
  let data = ''
  parseEvents(marked, text => {
    data = text
  })
  // A line that numbers the events is not part of the value.
  const inData = marks.filter(mark => typeof mark === 'string' || data.includes(String(mark)))
  const found: number[] = []
  let value: unknown
  try {
    value = JSON.parse(data)
    // If the normaliser changes a slot, the mark disappears, and no template is made.
    if (normalise && typeof value === 'object' && value !== null) value = normalise(value)
  } catch {
    // The quotes did not enclose a string.
    return undefined
  }
  const skeleton = skeletonOf(value, marks, found)
  const isWhole = typeof skeleton === 'object' && found.length === inData.length && new Set(found).size === inData.length
  return isWhole ? skeleton : undefined
}

/** The texts that an event is searched for; an event with one may be more than a piece of the answer. */
export function markersOf({ end, fail, finish, usage }: StreamFormat): string[] {
  return [...new Set([end, fail, finish, usage].flatMap(watched => watched?.markers ?? []))]
}

/** For each slot, the texts that complete a marker with its literals; undefined if a marker can arise in another way. */
function guardsOf(literals: readonly string[], isText: readonly boolean[], markers: readonly string[]): string[][] | undefined {
  if (literals.some(literal => markers.some(marker => literal.includes(marker)))) return undefined
  const guards: string[][] = []
  for (let slot = 0; slot < isText.length; slot++) {
    const found = markers.map(marker =>
      guardsBetween(literals[slot] as string, literals[slot + 1] as string, isText[slot] as boolean, marker),
    )
    if (found.includes(undefined)) return undefined
    guards.push([...new Set(found.flatMap(texts => texts ?? []))])
  }
  return guards
}

function guardsBetween(before: string, after: string, isText: boolean, marker: string): string[] | undefined {
  const texts: string[] = []
  for (let length = 0; length < marker.length; length++) {
    if (!before.endsWith(marker.slice(0, length))) continue
    const rest = marker.slice(length)
    // A digit slot ends before a non-digit, and every quote in a text slot has a backslash before it.
    if (!isText) {
      if (/^\d/.test(rest)) return undefined
      continue
    }
    if (length === 0 && rest.startsWith('"')) continue
    const end = rest.indexOf('"')
    const behind = rest.slice(end)
    if (length === 0 || end < 0 || marker.includes('\\') || behind.startsWith(after)) return undefined
    if (after.startsWith(behind)) texts.push(rest.slice(0, end))
  }
  return texts
}

/** The end of a string, of digits, or of another character. */
function endOfToken(text: string, start: number): number {
  if (text.charCodeAt(start) === 0x22) return endOfText(text, start + 1) + 1 || text.length
  const end = endOfDigits(text, start)
  return end > start ? end : start + 1
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

/** Whether the string that ends at an offset is a key. */
function isKey(text: string, end: number): boolean {
  return /^\s*:/.test(text.slice(end, end + 8))
}

/** Whether digits are a whole number, and not a part of one with a point or exponent. */
function isWholeNumber(text: string, start: number, end: number): boolean {
  return !/[-+.eE]/.test(text.charAt(start - 1) + text.charAt(end))
}

/** The parts of a value that contain marks, or the number of a mark itself. */
function skeletonOf(value: unknown, marks: readonly Key[], found: number[]): Skeleton | number | undefined {
  if (typeof value !== 'object' || value === null) {
    const slot = marks.indexOf(value as Key)
    if (slot < 0) return undefined
    found.push(slot)
    return slot
  }
  const parts: Skeleton['parts'] = []
  for (const [name, member] of Object.entries(value)) {
    const part = skeletonOf(member, marks, found)
    // Assigning to this name would set the prototype.
    if (part !== undefined && name === '__proto__') found.push(-1)
    if (part !== undefined) parts.push({ key: Array.isArray(value) ? Number(name) : name, part })
  }
  return parts.length > 0 ? { value, parts } : undefined
}
