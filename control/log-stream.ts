// Writes the lines of a log to a descriptor without ever holding up the process: lines wait in memory up to a bound, beyond
// it they are dropped, and the next line that can be written counts the lost ones. The stream that comes with the log's
// library waits for a full disk without end, and keeps all lines of a reader that stands still.

import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { Socket } from 'node:net'

/** Characters that wait; lines beyond them are dropped. */
const MOST = 4 * 1024 * 1024
/** Characters that are written at once, however soon; less waits for more. */
const ENOUGH = 4_096
/** Bytes that a pipe or a socket takes as a whole: longer ones may be mixed with those of another process. */
const WHOLE = 4_096
/** Milliseconds: how late a line may be written, and when a full pipe is tried again, at first and at last. */
const LATENESS = 100
const SOON = 1
const LATE = 50
/** Milliseconds that `flush` waits for the reader, and after which one that takes nothing stands still. */
const PATIENCE = 2_000
const STILL = 1_000

export class LogStream {
  private waiting: string[] = []
  private length = 0
  /** Being written. */
  private bytes: Buffer | undefined
  /** Lines that were lost; those that the bytes say were lost, and where that line ends in them. */
  private lost = 0
  private told = 0
  private toldUntil = 0
  private wait = SOON
  /** When the write under way began; whether it has not returned yet, which for a full pipe may be never. */
  private since = 0
  private isWriting = false
  /** A `flush` has waited long enough. */
  private isGivenUp = false
  /** The last line was written in part. */
  private isTorn = false
  /** The reader has gone. */
  private isClosed = false
  private hasTold = false
  private timer: NodeJS.Timeout | undefined
  private flushed: (() => void)[] = []
  /** Bytes in a write. */
  private readonly part: number
  /** A write to it returns at once, even if its reader is slow: handing it to another thread costs several times as much. */
  private readonly ready: number | undefined

  constructor(private readonly descriptor: number) {
    this.part = isPipe(descriptor) ? WHOLE : Number.POSITIVE_INFINITY
    this.ready = unblocked(descriptor)
    process.on('exit', () => this.writeRest())
  }

  /** Takes one line or several. */
  write(text: string): void {
    if (this.isClosed) return
    if (this.length + text.length > MOST) {
      this.lost += countLines(text)
      return
    }
    this.waiting.push(text)
    this.length += text.length
    if (this.length >= ENOUGH) this.begin()
    else this.timer ??= setTimeout(() => this.begin(), LATENESS)
  }

  /** Writes what waits; `done` is called when it is written, or after 2 seconds. */
  flush(done: () => void = () => undefined): void {
    if (this.bytes === undefined && this.length === 0) {
      done()
      return
    }
    let isOver = false
    const end = (): void => {
      if (!isOver) done()
      isOver = true
      clearTimeout(timer)
    }
    const timer = setTimeout(() => {
      this.isGivenUp = true
      end()
    }, PATIENCE)
    this.flushed.push(end)
    this.begin()
  }

  private begin(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.bytes !== undefined) return
    if (this.length === 0) {
      this.endFlush()
      return
    }
    this.bytes = this.takeAll()
    this.writeOn(0)
  }

  private endFlush(): void {
    const { flushed } = this
    this.flushed = []
    for (const done of flushed) done()
  }

  private takeAll(): Buffer {
    const first = (this.isTorn ? '\n' : '') + (this.lost > 0 ? lostLine(this.lost) : '')
    const text = first + this.waiting.join('')
    this.told = this.lost
    this.toldUntil = first.length
    this.isTorn = false
    this.lost = 0
    this.waiting = []
    this.length = 0
    return Buffer.from(text)
  }

  private writeOn(from: number): void {
    const bytes = this.bytes as Buffer
    let at = from
    while (at < bytes.length) {
      const length = this.endOf(bytes, at) - at
      if (this.ready === undefined) {
        this.writeLater(bytes, at, length)
        return
      }
      try {
        at += writeSync(this.ready, bytes, at, length)
        this.wait = SOON
      } catch (error) {
        this.tryLater(error as NodeJS.ErrnoException, bytes, at)
        return
      }
    }
    this.bytes = undefined
    this.begin()
  }

  private writeLater(bytes: Buffer, from: number, length: number): void {
    this.since = performance.now()
    this.isWriting = true
    write(this.descriptor, bytes, from, length, null, (error, count) => {
      this.isWriting = false
      if (error !== null) {
        this.tryLater(error, bytes, from)
        return
      }
      this.wait = SOON
      this.writeOn(from + count)
    })
  }

  private tryLater(error: NodeJS.ErrnoException, bytes: Buffer, from: number): void {
    if (error.code !== 'EAGAIN') {
      this.fail(error, bytes, from)
      return
    }
    setTimeout(() => this.writeOn(from), this.wait)
    this.wait = Math.min(this.wait * 2, LATE)
  }

  /** The end of the lines that a pipe takes as a whole. */
  private endOf(bytes: Buffer, from: number): number {
    if (bytes.length - from <= this.part) return bytes.length
    const end = bytes.lastIndexOf('\n', from + this.part - 1)
    // A longer line cannot be whole.
    return end < from ? from + this.part : end + 1
  }

  /** The rest is lost, and later lines are tried again. */
  private fail({ code }: NodeJS.ErrnoException, bytes: Buffer, from: number): void {
    this.lost += countLines(bytes.toString('utf8', Math.max(from, this.toldUntil))) + (from < this.toldUntil ? this.told : 0)
    this.isTorn = from > 0 && bytes[from - 1] !== 10
    this.bytes = undefined
    // Nobody will ever read from a pipe without a reader.
    if (code === 'EPIPE') this.isClosed = true
    else if (!this.hasTold) tell(`The log cannot be written: ${code}. Its lines are lost until it can be.`)
    this.hasTold = true
    if (this.isClosed) [this.waiting, this.length] = [[], 0]
    this.endFlush()
    if (this.length > 0) this.timer ??= setTimeout(() => this.begin(), LATENESS)
  }

  /** At the end of the process: what waits, unless something is being written, which the process waits for. */
  private writeRest(): void {
    if (this.bytes !== undefined) {
      // Not for a reader that stands still: the write would never return, and the process never end. One that was too slow before
      // may stand still now.
      if (this.isWriting && (this.isGivenUp || performance.now() > this.since + STILL)) process.kill(process.pid, 'SIGKILL')
      return
    }
    if (this.length === 0) return
    try {
      writeSync(this.descriptor, this.takeAll())
    } catch {
      // It was told when it failed first, or nobody reads.
    }
  }
}

function isPipe(descriptor: number): boolean {
  try {
    const status = fstatSync(descriptor)
    return status.isFIFO() || status.isSocket()
  } catch {
    return false
  }
}

/** A descriptor of the same pipe or socket whose writes never wait; undefined for a file, and for another user's pipe. */
function unblocked(descriptor: number): number | undefined {
  try {
    const status = fstatSync(descriptor)
    if (status.isFIFO()) return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK)
    if (!status.isSocket()) return undefined
    // It sets the socket itself to return at once, as for every program of Node's that prints to one.
    new Socket({ fd: descriptor, readable: false }).on('error', () => undefined).unref()
    return descriptor
  } catch {
    return undefined
  }
}

function countLines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}

const lostLine = (lost: number): string =>
  `{"level":40,"time":${Date.now()},"lost":${lost},"msg":"lines of the log were lost: they could not be written in time"}\n`

function tell(text: string): void {
  try {
    writeSync(2, `${text}\n`)
  } catch {
    // Nobody hears it.
  }
}
