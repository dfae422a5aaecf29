// The framings of event streams: they split a provider's events, and write a client's. Each framing is an entry of the
// table; nothing else knows one by name.

import { Gathered } from '../core/gathered.js'
import type { FramingName } from '../plan.js'
import { type Blocks, createBlocks } from './sse.js'

/** Writes a stream of events. */
export interface Frames {
  /** An event of a kind, with JSON data. */
  event(kind: string, json: string): string
  /** The text behind the last event of a complete stream, and of a failed one. */
  end(): string
  failed(): string
}

export interface Framing {
  /** The content type of a client's stream. */
  type: string
  /** Whether an answer of this content type is such a stream. */
  isStream(type: string): boolean
  /**
   * Splits a provider's bytes into blocks of whole server-sent events. Holds at most one incomplete event, up to a limit in
   * bytes.
   */
  blocks(limit: number): Blocks
  /** Whether bytes in this framing can pass unchanged. */
  passes: boolean
  /** Whether all events together are one value. */
  isList: boolean
  /** `eventLine` and `sentinel` are those of the client's dialect. */
  frames(format: { eventLine?: string; sentinel?: string }, lineEnd: string): Frames
  /** The keep-alive during silence, if the client's dialect has one. */
  sign(keepAlive: string, lineEnd: string): string
}

const DATA = 'data: '

const sse: Framing = {
  type: 'text/event-stream; charset=utf-8',
  isStream: type => type === 'text/event-stream',
  blocks: createBlocks,
  passes: true,
  isList: false,
  frames({ eventLine, sentinel }, lineEnd) {
    const blankLine = lineEnd + lineEnd
    // The prefix of each kind of event, made once.
    const beginnings = new Map<string, string>()
    const beginningOf = (kind: string): string => {
      let beginning = beginnings.get(kind)
      if (beginning === undefined) {
        beginning = `event: ${kind}${lineEnd}${DATA}`
        beginnings.set(kind, beginning)
      }
      return beginning
    }
    let wrote = false
    return {
      event(kind, json) {
        wrote = true
        return (eventLine === undefined ? DATA : beginningOf(kind)) + json + blankLine
      },
      // Bytes that passed hold the sentinel already.
      end: () => (wrote && sentinel !== undefined ? `${DATA}${sentinel}\n\n` : ''),
      failed: () => '',
    }
  },
  sign: (keepAlive, lineEnd) => keepAlive.replaceAll('\n', lineEnd),
}

const jsonArray: Framing = {
  type: 'application/json',
  isStream: type => type === 'application/json',
  blocks: createBlocks,
  passes: false,
  isList: true,
  frames() {
    let isFirst = true
    return {
      event(_kind, json) {
        const before = isFirst ? '[' : ',\r\n'
        isFirst = false
        return before + json
      },
      end: () => (isFirst ? '[]' : ']'),
      failed: () => ']',
    }
  },
  sign: () => '\n',
}

/** One JSON value per line. */
const ndjson: Framing = {
  type: 'application/x-ndjson',
  isStream: type => type === 'application/x-ndjson',
  blocks: limit => eventsOfLines(limit),
  passes: false,
  isList: false,
  // Outside of strings, a line break in JSON may become a blank; inside strings it is always escaped.
  frames: () => ({ event: (_kind, json) => `${json.replaceAll(/[\r\n]+/g, ' ')}\n`, end: () => '', failed: () => '' }),
  // An empty line between two values means nothing.
  sign: () => '\n',
}

export const framings: Readonly<Record<FramingName, Framing>> = { sse, json_array: jsonArray, ndjson }

const LF = 0x0a

/** Lines in, server-sent events out. */
function eventsOfLines(limit: number): Blocks {
  const pending = new Gathered()
  const take = (last: Buffer): Buffer => (pending.length > 0 ? Buffer.concat([pending.take(), last]) : last)
  return {
    push(chunk) {
      const end = chunk.lastIndexOf(LF) + 1
      const rest = chunk.subarray(end)
      const lines = end > 0 ? take(chunk.subarray(0, end)) : undefined
      if (rest.length > 0) {
        if (pending.length + rest.length > limit) throw new RangeError('an event is longer than the limit')
        pending.push(Buffer.from(rest))
      }
      return lines && asEvents(lines)
    },
    rest: () => (pending.length === 0 ? undefined : asEvents(pending.take())?.subarray(0, -2)),
  }
}

/** Undefined if all lines are empty. Works on bytes, so no character is decoded. */
function asEvents(lines: Buffer): Buffer | undefined {
  const events = lines
    .toString('latin1')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => `${DATA}${line}\n\n`)
    .join('')
  return events === '' ? undefined : Buffer.from(events, 'latin1')
}
