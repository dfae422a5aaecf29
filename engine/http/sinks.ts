// Answers that are written piece by piece.

import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import type { LogEntry, Sink } from '../core/exchange.js'
import { type Answering, type Bytes, utf8 } from './bytes.js'

/**
 * Milliseconds. uWebSockets.js closes a connection without activity after ten seconds, even if we hold it back; we reset it
 * before.
 */
export const KEEP_CONNECTION_AFTER = 2_000
/** For how long a client may take nothing, when all of its answer is there: milliseconds. Then the library's time counts again. */
const LONGEST_REST = 120_000

/** What a sink uses of its exchange. */
interface Answer {
  readonly log: LogEntry
  readonly began: number
  readonly isAborted: boolean
  writeHead(headers: Readonly<Record<string, string>>): void
  keepConnection(): void
  resumeBody(): void
  over(): void
}

/** An answer of unknown length. */
export class ChunkedSink implements Sink, Deadline {
  due = Number.POSITIVE_INFINITY
  slot = -1
  protected isDone = false
  protected isHeadWritten = false
  /** All of the answer is there. */
  protected isWhole = false
  private isHeld = false
  private heldUntil = Number.POSITIVE_INFINITY
  protected drain: (() => void) | undefined

  constructor(
    protected readonly res: Answering,
    protected readonly exchange: Answer,
    protected readonly headers: Readonly<Record<string, string>>,
  ) {
    res.onWritable(offset => this.writable(offset))
  }

  /** A slow reader has not gone away. */
  fire(): void {
    if (this.exchange.isAborted || now() > this.heldUntil) {
      unwatch(this)
      return
    }
    this.exchange.keepConnection()
    this.due = now() + KEEP_CONNECTION_AFTER
  }

  protected writable(_offset: number): boolean {
    unwatch(this)
    this.isHeld = false
    this.drain?.()
    return true
  }

  protected head(): void {
    if (this.isHeadWritten) return
    this.isHeadWritten = true
    this.exchange.writeHead(this.headers)
  }

  protected counted(chunk: Buffer | string): Bytes {
    const { exchange } = this
    if (exchange.log.firstByte === undefined) exchange.log.firstByte = now() - exchange.began
    const bytes = typeof chunk === 'string' ? utf8(chunk) : chunk
    exchange.log.bytesOut += bytes.length
    return bytes
  }

  protected held(): void {
    const time = now()
    this.isHeld = true
    this.due = time + KEEP_CONNECTION_AFTER
    // Until then the time limit of the whole answer bounds how long the client may take.
    if (this.isWhole) this.heldUntil = time + LONGEST_REST
    watch(this)
  }

  write(chunk: Buffer | string): boolean {
    if (this.exchange.isAborted || this.isDone) return true
    const bytes = this.counted(chunk)
    let isTaken = true
    this.res.cork(() => {
      this.head()
      isTaken = this.res.write(bytes)
    })
    if (!isTaken) this.held()
    return isTaken
  }

  end(chunk?: Buffer | string): void {
    if (this.exchange.isAborted || this.isDone) return
    this.isDone = true
    this.isWhole = true
    this.exchange.resumeBody()
    const bytes = chunk === undefined ? undefined : this.counted(chunk)
    let isTaken = !this.isHeld
    this.res.cork(() => {
      this.head()
      // `end` with a body would add a Content-Length, as for a whole answer; a stream has none.
      if (bytes !== undefined && bytes.length > 0) isTaken = this.res.write(bytes)
      if (isTaken) this.res.end()
    })
    if (isTaken) unwatch(this)
    else {
      // After its end nothing could keep the connection.
      this.drain = () => this.res.cork(() => this.res.end())
      this.held()
    }
    this.exchange.over()
  }

  destroy(): void {
    if (this.exchange.isAborted || this.isDone) return
    this.isDone = true
    unwatch(this)
    this.res.close()
    this.exchange.over()
  }

  onDrain(resume: () => void): void {
    this.drain = resume
  }
}

/** An answer of known length, so that a client can never mistake a part for the whole. */
export class MeasuredSink extends ChunkedSink {
  /** The bytes that the connection has not taken yet, and their offset in the answer. */
  private rest: Buffer | undefined
  private restFrom = 0

  constructor(
    res: Answering,
    exchange: Answer,
    headers: Readonly<Record<string, string>>,
    private readonly length: number,
  ) {
    super(res, exchange, headers)
  }

  override write(chunk: Buffer | string): boolean {
    if (this.exchange.isAborted || this.isDone) return true
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    this.counted(bytes)
    // The writer may deliver one more piece before it pauses.
    if (this.rest !== undefined) {
      this.keep(Buffer.concat([this.rest, bytes]), this.restFrom)
      return false
    }
    return this.offer(bytes)
  }

  private keep(rest: Buffer, from: number): void {
    this.rest = rest
    this.restFrom = from
    this.isWhole = from + rest.length >= this.length
    this.held()
  }

  private offer(bytes: Buffer): boolean {
    let isTaken = true
    this.res.cork(() => {
      this.head()
      const from = this.res.getWriteOffset()
      if (from + bytes.length >= this.length) this.exchange.resumeBody()
      const [isAll, isDone] = this.res.tryEnd(bytes, this.length)
      isTaken = isAll
      if (isDone) this.done()
      else if (!isAll) this.keep(bytes, from)
    })
    return isTaken
  }

  private done(): void {
    this.isDone = true
    unwatch(this)
    this.exchange.over()
  }

  protected override writable(offset: number): boolean {
    const { rest } = this
    if (rest !== undefined) {
      this.rest = undefined
      if (!this.offer(rest.subarray(offset - this.restFrom))) return false
    }
    return super.writable(offset)
  }

  override end(chunk?: Buffer | string): void {
    if (chunk !== undefined && chunk.length > 0) this.write(chunk)
    if (this.exchange.isAborted || this.isDone) return
    if (this.length === 0) {
      this.exchange.resumeBody()
      this.res.cork(() => {
        this.head()
        this.res.end()
      })
      this.done()
    }
    // The answer is shorter than announced, unless the rest still waits for the client.
    else if (this.rest === undefined) this.destroy()
  }
}
