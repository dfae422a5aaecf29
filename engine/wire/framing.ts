// How the events of a stream are framed: taken apart as a provider sends them, put together as a client reads them. A framing
// is an entry of the table; nothing else knows one by its name.

import type { FramingName } from '../plan.js'
import { type Blocks, createBlocks } from './sse.js'

/** What is written of a stream of events. */
export interface Frames {
  /** An event of a kind, as JSON. */
  event(kind: string, json: string): string
  /** What stands behind the last event of a stream that is whole, and of one that failed. */
  end(): string
  failed(): string
}

export interface Framing {
  /** The content type of a client's stream. */
  type: string
  /** The type by which an answer is known to be such a stream. */
  isStream(type: string): boolean
  /** Blocks of whole server-sent events, of a provider's bytes. Holds one event at most, up to a limit of bytes. */
  blocks(limit: number): Blocks
  /** Whether bytes of this framing can be handed on as they came. */
  passes: boolean
  /** Whether all events together are one value. */
  isList: boolean
  /** `eventLine` and `sentinel` are those of the client's dialect. */
  frames(format: { eventLine?: string; sentinel?: string }, lineEnd: string): Frames
  /** What is sent while a stream is silent, of what the client's dialect sends then. */
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
    // Kinds of events are few, and each stands before many.
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
      // Bytes that passed hold their own end.
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

/** One JSON value a line. */
const ndjson: Framing = {
  type: 'application/x-ndjson',
  isStream: type => type === 'application/x-ndjson',
  blocks: limit => eventsOfLines(limit),
  passes: false,
  isList: false,
  // A line end inside of JSON stands between its values, where a blank does as well.
  frames: () => ({ event: (_kind, json) => `${json.replaceAll(/[\r\n]+/g, ' ')}\n`, end: () => '', failed: () => '' }),
  // Between two lines an empty one means nothing.
  sign: () => '\n',
}

export const framings: Readonly<Record<FramingName, Framing>> = { sse, json_array: jsonArray, ndjson }

const LF = 0x0a

/** Lines in, server-sent events out. */
function eventsOfLines(limit: number): Blocks {
  let pending: Buffer[] = []
  let length = 0
  const take = (last: Buffer): Buffer => {
    const bytes = length > 0 ? Buffer.concat([...pending, last]) : last
    pending = []
    length = 0
    return bytes
  }
  return {
    push(chunk) {
      const end = chunk.lastIndexOf(LF) + 1
      const rest = chunk.subarray(end)
      const lines = end > 0 ? take(chunk.subarray(0, end)) : undefined
      if (rest.length > 0) {
        length += rest.length
        if (length > limit) throw new RangeError('an event is longer than the limit')
        pending.push(Buffer.from(rest))
      }
      return lines && asEvents(lines)
    },
    rest: () => (length === 0 ? undefined : asEvents(take(Buffer.alloc(0)))?.subarray(0, -2)),
  }
}

/** Nothing where all lines are empty. Bytes stay as they are: no character is looked at. */
function asEvents(lines: Buffer): Buffer | undefined {
  const events = lines
    .toString('latin1')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => `${DATA}${line}\n\n`)
    .join('')
  return events === '' ? undefined : Buffer.from(events, 'latin1')
}
