// Estimates the tokens of a stream that reports its usage only at its end, from the lengths of its events. An event is an
// envelope, equal for all events with the same beginning, and a text; two events show how long the envelope is.

interface Kind {
  /** Bytes of an event without its text; known when two events have been compared. Until then, the bytes of the shortest. */
  envelope: number
  /** The event before the next one, until two have been compared: most kinds have only one. */
  waiting: Buffer | undefined
  /** The event before the waiting one, if they were not alike. */
  unlike: Buffer | undefined
  /** The bytes and the number of events whose text is not counted yet. */
  bytes: number
  events: number
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

  /** The tokens of a stream that has ended, with the text of kinds that are still waiting. */
  end(): number {
    for (const kind of this.kinds.values()) {
      const { unlike, waiting } = kind
      if (unlike !== undefined && waiting !== undefined) this.bytes += resolved(kind, waiting.length - differingTexts(unlike, waiting))
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
      if (this.kinds.size < MOST_KINDS) {
        const waiting = Buffer.from(block.subarray(start, stop))
        this.kinds.set(beginning, { envelope: length, waiting, unlike: undefined, bytes: length, events: 1 })
      }
      return 0
    }
    if (length < kind.envelope) kind.envelope = length
    const { waiting } = kind
    if (waiting === undefined) return length - kind.envelope
    kind.bytes += length
    kind.events++
    const text = differingText(waiting, block, start, stop)
    if (text !== undefined) return resolved(kind, length - text)
    const event = Buffer.from(block.subarray(start, stop))
    if (kind.unlike !== undefined) return resolved(kind, length - differingTexts(waiting, event))
    // The first event of an answer has more members, as a rule; the next two show the envelope without being parsed.
    kind.unlike = waiting
    kind.waiting = event
    return 0
  }
}

/** Ends the waiting of a kind, and returns the bytes of text in its events. */
function resolved(kind: Kind, envelope: number): number {
  kind.envelope = Math.min(kind.envelope, envelope)
  kind.waiting = undefined
  kind.unlike = undefined
  return kind.bytes - kind.events * kind.envelope
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
function differingText(before: Buffer, block: Buffer, start: number, stop: number): number | undefined {
  const shorter = Math.min(before.length, stop - start)
  let same = 0
  while (same < shorter && before[same] === block[start + same]) same++
  if (same === shorter && before.length === stop - start) return 0
  let behind = 0
  while (behind < shorter - same && before[before.length - 1 - behind] === block[stop - 1 - behind]) behind++
  let open = same - 1
  while (open > 0 && before[open] !== QUOTE) open--
  // A quote that closes a text has a letter before it.
  if (open <= 0 || !OPENERS.includes(before[open - 1] as number)) return undefined
  const close = before.indexOf(QUOTE, open + 1)
  const other = block.indexOf(QUOTE, start + open + 1)
  const isOneText = close >= before.length - behind && other >= stop - behind
  if (!isOneText || before[close - 1] === ESCAPE || block[other - 1] === ESCAPE) return undefined
  return other - start - open - 1
}

/** The bytes of all texts of an event that differ from those of another, by their places. */
function differingTexts(before: Buffer, event: Buffer): number {
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
const ESCAPE = 0x5c
/** What may be before a text in JSON: a colon, a comma, a bracket or a blank. */
const OPENERS = [0x3a, 0x2c, 0x5b, 0x20]

function hashOf(block: Buffer, start: number): number {
  let hash = 0
  for (let index = start + BEGINNING.from; index < start + BEGINNING.to; index += BEGINNING.step)
    hash = (hash * 31 + (block[index] as number)) | 0
  return hash
}
