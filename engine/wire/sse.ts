// Server-sent events: splits them, however the network cut them, and writes them. Parsing works on bytes until events are
// complete; only whole events become text, so that no character is ever cut.

import { Gathered } from '../core/gathered.js'

const LF = 0x0a
const CR = 0x0d

/** Takes an upstream's bytes and returns blocks of whole events. Holds at most one incomplete event, up to a limit. */
export interface Blocks {
  /** The bytes up to the last complete event, if there is one. Throws RangeError over the limit. */
  push(chunk: Buffer): Buffer | undefined
  /** The rest at the end of the stream: an event without its blank line, or undefined. */
  rest(): Buffer | undefined
}

export function createBlocks(limit: number): Blocks {
  const pending = new Gathered()
  return {
    push(chunk) {
      // The blank line that ends an event may lie across two chunks, so the seam is searched, too.
      const before = pending.length > 0 ? lastBytes(pending.pieces) : undefined
      let end = lastBlankLine(chunk, before)
      // The LF after a last CR may still follow; the next block must not begin with it.
      if (end === chunk.length && isHalfOfLineEnd(chunk, before)) end = lastBlankLine(chunk.subarray(0, -1), before)
      if (end < 0) {
        if (pending.length + chunk.length > limit) throw new RangeError('an event is longer than the limit')
        pending.push(Buffer.from(chunk))
        return undefined
      }
      const whole = end === chunk.length ? chunk : chunk.subarray(0, end)
      const block = pending.length > 0 ? Buffer.concat([pending.take(), whole]) : whole
      if (end < chunk.length) pending.push(Buffer.from(chunk.subarray(end)))
      return block
    },
    rest() {
      return pending.length === 0 ? undefined : pending.take()
    },
  }
}

/** The last three bytes before a seam: the possible beginning of a blank line. */
function lastBytes(pending: readonly Buffer[]): number[] {
  const bytes: number[] = []
  for (let index = pending.length - 1; index >= 0 && bytes.length < 3; index--) {
    const chunk = pending[index] as Buffer
    for (let place = chunk.length - 1; place >= 0 && bytes.length < 3; place--) bytes.unshift(chunk[place] as number)
  }
  return bytes
}

/** The offset after the last blank line in a chunk, or -1. Lines end with LF, CRLF or CR. */
function lastBlankLine(chunk: Buffer, before: number[] | undefined): number {
  const at = (index: number): number | undefined => (index >= 0 ? chunk[index] : before?.[before.length + index])
  for (let index = chunk.length - 1; index >= 0; index--) {
    const code = chunk[index]
    if (code !== LF && code !== CR) continue
    // The line end at this offset, and the character before it.
    let previous = index - 1
    if (code === LF && at(previous) === CR) previous--
    const ending = at(previous)
    if (ending === LF || ending === CR) return index + 1
  }
  return -1
}

/** Whether a chunk ends with a CR in a text with CRLF line ends. In a text with CR line ends it is a complete line end. */
function isHalfOfLineEnd(chunk: Buffer, before: number[] | undefined): boolean {
  if (chunk[chunk.length - 1] !== CR) return false
  const previous = chunk.length > 1 ? chunk[chunk.length - 2] : before?.at(-1)
  return previous === LF
}

const BLANK_LINE = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g

/** The end of the event that begins at `start`: behind its blank line, or the end of the text. */
export function endOfEvent(text: string, start: number): number {
  BLANK_LINE.lastIndex = start
  return BLANK_LINE.test(text) ? BLANK_LINE.lastIndex : text.length
}

/** The line end of a stream, taken from its first event. Data never holds a raw line end. */
export function lineEndOf(bytes: Buffer | undefined): string {
  if (bytes === undefined || bytes.includes(LF)) return bytes?.includes('\r\n') ? '\r\n' : '\n'
  return bytes.includes(CR) ? '\r' : '\n'
}

/** The end of the event that begins at `start` in bytes: behind its blank line, or the end of the bytes. */
export function endOfBytes(block: Buffer, start: number): number {
  let at = start
  while (at < block.length) {
    const code = block[at]
    at++
    if (code !== LF && code !== CR) continue
    if (code === CR && block[at] === LF) at++
    if (block[at] === LF) return at + 1
    if (block[at] === CR) return block[at + 1] === LF ? at + 2 : at + 1
  }
  return block.length
}

/**
 * Receives the data of an event. `isError`: the event is an error, whatever its data is. Some servers name the event so, others
 * have a field of that name instead of `data`.
 */
export type EachEvent = (data: string, isError: boolean) => unknown

const ERROR = 'error'

/** Calls `each` for every event in bytes of whole events until it returns true. Decodes only as many events as needed. */
export function parseBlock(block: Buffer, each: EachEvent): void {
  let isEnough = false
  for (let start = 0; start < block.length && !isEnough; ) {
    const end = endOfBytes(block, start)
    parseEvents(block.toString('utf8', start, end), (data, isError) => {
      isEnough = each(data, isError) === true
      return isEnough
    })
    start = end
  }
}

/** Calls `each` for every event in a text of whole events until it returns true. Skips comments, and lines of other fields. */
export function parseEvents(text: string, each: EachEvent): void {
  let start = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const hasCr = text.includes('\r')
  let data: string | undefined
  let isError = false
  while (start < text.length) {
    let end = text.indexOf('\n', start)
    let next: number
    if (hasCr) {
      const cr = text.indexOf('\r', start)
      if (cr >= 0 && (end < 0 || cr < end)) {
        next = end === cr + 1 ? cr + 2 : cr + 1
        end = cr
      } else {
        if (end < 0) end = text.length
        next = end + 1
      }
    } else {
      if (end < 0) end = text.length
      next = end + 1
    }
    if (end === start) {
      if (data !== undefined && each(data, isError) === true) return
      data = undefined
      isError = false
    } else {
      const first = text.charCodeAt(start)
      const isOfErrors = first === 0x65 && text.startsWith(ERROR, start)
      // With or without the space after the colon.
      if (isOfErrors || (first === 0x64 && text.startsWith('data', start))) {
        const value = fieldValue(text, start + (isOfErrors ? ERROR.length : 4), end)
        if (value !== undefined) {
          data = data === undefined ? value : `${data}\n${value}`
          isError ||= isOfErrors
        }
      } else if (first === 0x65 && text.startsWith('event', start)) isError = fieldValue(text, start + 5, end) === ERROR
    }
    start = next
  }
  if (data !== undefined) each(data, isError)
}

/** Whether data is the sentinel that ends a stream. Some servers write blanks behind it. */
export function isSentinel(data: string, sentinel: string | undefined): boolean {
  return sentinel !== undefined && data.startsWith(sentinel) && data.trimEnd() === sentinel
}

function fieldValue(text: string, colon: number, end: number): string | undefined {
  if (colon === end) return ''
  if (text.charCodeAt(colon) !== 0x3a) return undefined
  const from = text.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1
  return text.slice(Math.min(from, end), end)
}
