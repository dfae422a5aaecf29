// Writes an answer to a connection: with its delays, as fast as the other side reads, and never after the connection is
// closed.

import type { HttpResponse } from 'uWebSockets.js'
import type { Answer } from './answer.js'
import { contentAt, type Range } from './content.js'

/** The connection of one request. */
export type Line = {
  res: HttpResponse
  /** Either side has closed it. */
  closed: boolean
  timer: NodeJS.Timeout | NodeJS.Immediate | undefined
  /** The simulator has closed it. */
  destroyed: boolean
}

export function play(answer: Answer, line: Line): void {
  if (answer.delay > 0) line.timer = setTimeout(() => begin(answer, line), answer.delay)
  else begin(answer, line)
}

export function stop(line: Line): void {
  clearTimeout(line.timer as NodeJS.Timeout)
  clearImmediate(line.timer as NodeJS.Immediate)
}

function begin(answer: Answer, line: Line): void {
  if (line.closed) return
  if (answer.file) {
    line.res.cork(() => head(answer, line))
    pour(answer, answer.file, line, 0)
    return
  }
  if (answer.sized) {
    line.res.cork(() => {
      head(answer, line)
      line.res.end(answer.pieces[0] ?? '')
    })
    return
  }
  const first = answer.waits[0] ?? 0
  const due = performance.now() + first
  if (first > 0) line.timer = setTimeout(() => write(answer, line, 0, due), first)
  else write(answer, line, 0, due)
}

function head(answer: Answer, line: Line): void {
  line.res.writeStatus(answer.status)
  for (const [name, value] of answer.headers) line.res.writeHeader(name, value)
}

/** Sends a file of known length as fast as it is read. A scripted break happens in its middle. */
function pour(answer: Answer, file: Range, line: Line, from: number): void {
  const [wait = 0] = answer.waits
  const stop = answer.then === 'end' ? file.length : Math.floor(file.length / 2)
  for (let sent = from; ; ) {
    if (line.closed) return
    if (sent >= stop && answer.then !== 'end') {
      if (answer.then === 'destroy') destroy(line)
      return
    }
    const [taken, isOver] = offer(file, line, sent, stop)
    if (isOver) return
    sent = line.res.getWriteOffset()
    if (!taken) {
      line.res.onWritable(offset => {
        // The rest is offered again from where it stopped.
        pour(answer, file, line, offset)
        return true
      })
      return
    }
    if (wait > 0) {
      line.timer = setTimeout(() => pour(answer, file, line, sent), wait)
      return
    }
  }
}

function offer(file: Range, line: Line, sent: number, stop: number): [boolean, boolean] {
  let result: [boolean, boolean] = [true, false]
  line.res.cork(() => {
    result = line.res.tryEnd(contentAt(file.from + sent, stop - sent), file.length)
  })
  return result
}

/** Delays count from the due time of the previous piece, so that timer delays do not add up. */
function write(answer: Answer, line: Line, index: number, due: number): void {
  if (line.closed) return
  const piece = answer.pieces[index]
  const last = index + 1 >= answer.pieces.length
  let taken = true
  line.res.cork(() => {
    if (index === 0) head(answer, line)
    if (piece) taken = line.res.write(piece)
    else if (answer.then !== 'end') openHeaders(line)
    if (last && answer.then === 'end') {
      line.res.end()
    }
  })
  if (last) {
    // Not at once: corked bytes are sent at the end of this tick, and destroying the socket would drop them.
    if (answer.then === 'destroy') soon(taken, line, () => destroy(line))
    return
  }
  soon(taken, line, () => {
    const wait = answer.waits[Math.min(index + 1, answer.waits.length - 1)] ?? 0
    const now = performance.now()
    const then = (taken ? due : now) + wait
    const next = (): void => write(answer, line, index + 1, then)
    line.timer = wait > 0 ? setTimeout(next, Math.max(then - now, 0)) : setImmediate(next)
  })
}

/**
 * Sends the headers of an answer without a body. The library ends the headers only with the first bytes of a body, so a
 * header value brings the empty line along; nothing may be written afterwards.
 */
function openHeaders(line: Line): void {
  line.res.writeHeader('transfer-encoding', 'chunked\r\n')
}

/** Continues when the other side has read the written bytes. */
function soon(taken: boolean, line: Line, then: () => void): void {
  if (taken) {
    then()
    return
  }
  let waiting = true
  line.res.onWritable(() => {
    if (waiting && !line.closed) {
      waiting = false
      then()
    }
    return true
  })
}

function destroy(line: Line): void {
  line.timer = setImmediate(() => {
    if (line.closed) return
    line.destroyed = true
    line.res.close()
  })
}
