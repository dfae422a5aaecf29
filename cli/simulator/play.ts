// Writes an answer to a connection: in its time, as fast as the other side takes it, and never after that has gone.

import type { HttpResponse } from 'uWebSockets.js'
import type { Answer } from './answer.js'
import { contentAt, type Range } from './content.js'

/** The connection of one request. */
export type Line = {
  res: HttpResponse
  /** The other side hung up, or we did. */
  closed: boolean
  timer: NodeJS.Timeout | NodeJS.Immediate | undefined
  /** We are the ones who hung up. */
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

/** A file of known length, as fast as it is taken. One that breaks off does so in the middle. */
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
        // What was refused is offered again from where it broke off.
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

/** Each piece is due so long after the last one was, not after it was sent: the timers' delays do not add up over a stream. */
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
    // Not at once: what was corked is sent only when this tick is over, and a destroyed socket takes it along.
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
 * Sends the headers of an answer that will have no body. The server has no word for that: it ends the headers with the
 * first bytes of the body. A header that brings the empty line along does it; nothing may be written afterwards.
 */
function openHeaders(line: Line): void {
  line.res.writeHeader('transfer-encoding', 'chunked\r\n')
}

/** Goes on when the other side has taken what was written. */
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
