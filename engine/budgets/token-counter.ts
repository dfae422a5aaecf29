// Estimates the tokens of a stream that reports its usage only at its end, from the lengths of its events. An event is an
// envelope, equal for all events with the same beginning, and a text; two events show how long the envelope is.

import { stringEnd } from '../wire/json/scan.js'

interface Kind {
  /** Bytes of an event without its text; known when two events have been compared. Until then, the bytes of the shortest. */
  envelope: number
  /** The event before the next one, until two have been compared: most kinds have only one. */
  waiting: Buffer | undefined
  /** The event before the waiting one, if they were not alike. */
  unlike: Buffer | undefined
}

/** Bytes of text for each token. Most providers send one token in each event, so an event counts at least one. */
const BYTES_PER_TOKEN = 4
const LINE_END = 10
const RETURN = 13
/** Shorter events are keep-alives and end markers: bytes. */
const SHORTEST = 36
/** Events with the same bytes here have the same envelope. Each second one tells kinds apart as well as all do. */
const BEGINNING = { from: 8, to: 32, step: 2 }
const MOST_KINDS = 32

export class TokenCounter {
  private readonly kinds = new Map<number, Kind>()
  private events = 0
  private bytes = 0

  /** Counts a block of whole events and returns the tokens of the stream so far. */
  count(block: Buffer): number {
    let start = 0
    while (start < block.length) {
      const stop = endOfEvent(block, start)
      if (stop - start > SHORTEST) {
        this.events++
        this.bytes += this.textIn(block, start, stop)
      }
      start = stop
      while (start < block.length && (block[start] === LINE_END || block[start] === RETURN)) start++
    }
    return this.tokens
  }

  /** The tokens of the stream so far, with the text of kinds that are still waiting. */
  total(): number {
    for (const kind of this.kinds.values()) {
      const { unlike, waiting } = kind
      if (unlike !== undefined && waiting !== undefined)
        this.bytes += textWaiting(kind, waiting.length - differenceByParsing(unlike, waiting))
    }
    return this.tokens
  }

  private get tokens(): number {
    return Math.max(this.events, Math.ceil(this.bytes / BYTES_PER_TOKEN))
  }

  /** Bytes of text in an event; with the first comparison of a kind, those of the events before it as well. */
  private textIn(block: Buffer, start: number, stop: number): number {
    const length = stop - start
    const beginning = hashOf(block, start)
    const kind = this.kinds.get(beginning)
    if (kind === undefined) {
      if (this.kinds.size < MOST_KINDS)
        this.kinds.set(beginning, { envelope: length, waiting: Buffer.from(block.subarray(start, stop)), unlike: undefined })
      return 0
    }
    if (length < kind.envelope) kind.envelope = length
    const { waiting, unlike } = kind
    if (waiting === undefined) return length - kind.envelope
    const event = block.subarray(start, stop)
    const text = differenceByBytes(waiting, event) ?? (unlike && differenceByParsing(waiting, event))
    if (text === undefined) {
      // The first event of an answer has more members, as a rule; the next two show the envelope without being parsed.
      kind.unlike = waiting
      kind.waiting = Buffer.from(event)
      return 0
    }
    return textWaiting(kind, length - text) + length - kind.envelope
  }
}

/** Ends the waiting of a kind whose envelope is known now, and returns the bytes of text in the events that waited. */
function textWaiting(kind: Kind, envelope: number): number {
  const { unlike, waiting } = kind
  kind.envelope = Math.min(kind.envelope, envelope)
  kind.waiting = undefined
  kind.unlike = undefined
  return [unlike, waiting].reduce((sum, event) => (event === undefined ? sum : sum + event.length - kind.envelope), 0)
}

/** Where an event ends: before the blank line after it. */
function endOfEvent(block: Buffer, start: number): number {
  for (let at = block.indexOf(LINE_END, start); at >= 0; at = block.indexOf(LINE_END, at + 1)) {
    const next = block[at + 1]
    if (next === undefined || next === LINE_END || (next === RETURN && block[at + 2] === LINE_END)) return at
  }
  return block.length
}

/**
 * The bytes of the one text in which an event differs from another, found without parsing them; undefined if they may differ
 * in more than that.
 */
function differenceByBytes(before: Buffer, event: Buffer): number | undefined {
  const shorter = Math.min(before.length, event.length)
  let same = 0
  while (same < shorter && before[same] === event[same]) same++
  if (same === shorter && before.length === event.length) return 0
  let behind = 0
  while (behind < shorter - same && before[before.length - 1 - behind] === event[event.length - 1 - behind]) behind++
  let open = same - 1
  while (open > 0 && before[open] !== QUOTE) open--
  // A quote that closes a text has a letter before it, as a rule.
  if (open <= 0 || !OPENERS.includes(before[open - 1] as number)) return undefined
  const end = stringEnd(event, open)
  const isOneText = stringEnd(before, open) > before.length - behind && end > event.length - behind
  return isOneText ? end - open - 2 : undefined
}

/** The bytes of all texts of an event that differ from those of another, by their places. */
function differenceByParsing(before: Buffer, event: Buffer): number {
  const texts = textsOf(before)
  return textsOf(event).reduce((sum, one, index) => (one === texts[index] ? sum : sum + Buffer.byteLength(one)), 0)
}

/** The texts in an event, in order; none if it is not JSON. */
function textsOf(event: Buffer): string[] {
  const texts: string[] = []
  const walk = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null) for (const key in value) walk((value as Record<string, unknown>)[key])
  }
  try {
    walk(JSON.parse(event.toString('utf8', event.indexOf(BRACE))))
  } catch {
    // The event is not one JSON object on one line: only its length counts.
  }
  return texts
}

const BRACE = '{'
const QUOTE = 0x22
/** What may be before a text in JSON: a colon, a comma, a bracket or a blank. */
const OPENERS = [0x3a, 0x2c, 0x5b, 0x20]

function hashOf(block: Buffer, start: number): number {
  let hash = 0
  for (let index = start + BEGINNING.from; index < start + BEGINNING.to; index += BEGINNING.step)
    hash = (hash * 31 + (block[index] as number)) | 0
  return hash
}
