// Estimates the tokens of a stream that reports its usage only at its end, from the lengths of its events. An event is an
// envelope, equal for all events with the same beginning, and a text; two events show how long the envelope is.

interface Kind {
  /** Bytes of an event without its text; known when two events have been seen. Until then, the bytes of the first. */
  envelope: number
  /** The bytes of the first event until the second one comes: most kinds have only one. */
  first: Buffer | undefined
}

/** Bytes of text for each token. Most providers send one token in each event, so an event counts at least one. */
const BYTES_PER_TOKEN = 4
const LINE_END = 10
const RETURN = 13
/** Shorter events are keep-alives and end markers: bytes. */
const SHORTEST = 36
/** Events with the same first bytes have the same envelope. */
const BEGINNING = 32
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
    return Math.max(this.events, Math.ceil(this.bytes / BYTES_PER_TOKEN))
  }

  /** Bytes of text in an event; with the second event of a kind, those of the first as well. */
  private textIn(block: Buffer, start: number, stop: number): number {
    const length = stop - start
    const beginning = hashOf(block, start)
    const kind = this.kinds.get(beginning)
    if (kind === undefined) {
      if (this.kinds.size < MOST_KINDS) this.kinds.set(beginning, { envelope: length, first: Buffer.from(block.subarray(start, stop)) })
      return 0
    }
    let missed = 0
    if (kind.first !== undefined) {
      const { first } = kind
      const before = textsOf(first, 0, first.length)
      const other = textsOf(block, start, stop)
      const text = other.reduce((sum, one, index) => (one === before[index] ? sum : sum + Buffer.byteLength(one)), 0)
      kind.envelope = Math.min(first.length, length - text)
      kind.first = undefined
      missed = first.length - kind.envelope
    }
    if (length < kind.envelope) kind.envelope = length
    return missed + length - kind.envelope
  }
}

/** Where an event ends: before the blank line after it. */
function endOfEvent(block: Buffer, start: number): number {
  for (let at = block.indexOf(LINE_END, start); at >= 0; at = block.indexOf(LINE_END, at + 1)) {
    const next = block[at + 1]
    if (next === undefined || next === LINE_END || (next === RETURN && block[at + 2] === LINE_END)) return at
  }
  return block.length
}

/** The texts in an event, in order; none if it is not JSON. */
function textsOf(block: Buffer, start: number, stop: number): string[] {
  const texts: string[] = []
  const walk = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null) for (const key in value) walk((value as Record<string, unknown>)[key])
  }
  try {
    walk(JSON.parse(block.toString('utf8', block.indexOf(BRACE, start), stop)))
  } catch {
    // The event is not one JSON object on one line: only its length counts.
  }
  return texts
}

const BRACE = '{'

function hashOf(block: Buffer, start: number): number {
  let hash = 0
  for (let index = start; index < start + BEGINNING; index++) hash = (hash * 31 + (block[index] as number)) | 0
  return hash
}
