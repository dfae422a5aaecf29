// An exchange over HTTP: what the stages do with it, as calls of uWebSockets.js. Beside server.ts the only file that
// knows it. One object for each request, whose methods are shared: nothing is made that an ordinary request does not use.

import { randomBytes } from 'node:crypto'
import { type Answering, ascii, type Bytes, headerText, utf8 } from './bytes.js'
import { type Deadline, now, unwatch, watch } from './deadlines.js'
import { GatewayError, renderError } from './errors.js'
import type { Exchange, Facts, Receiver, Sink } from './exchange.js'
import type { Dialect } from './plan.js'
import type { Seated } from './roster.js'
import type { RequestHead } from './routing.js'

/** How much of a body that nobody wants is still read so that the connection can be used again: bytes. */
const LONG_REST = 1024 * 1024
/** The largest body that room is made for before it is there: bytes. What is announced need not come. */
const MOST_ROOM = 1024 * 1024
/** uWebSockets.js ends a connection on which nothing moved for ten seconds, also where we hold it: a sign of life. */
const TOUCH = 2_000

const ID_BATCH = 256
const ID_BYTES = 16
let idPool = Buffer.alloc(0)
let idOffset = 0

/** 32 hexadecimal characters; random bytes are fetched for many at once. */
function newId(): string {
  if (idOffset >= idPool.length) {
    idPool = randomBytes(ID_BATCH * ID_BYTES)
    idOffset = 0
  }
  idOffset += ID_BYTES
  return idPool.toString('hex', idOffset - ID_BYTES, idOffset)
}

export class HttpExchange implements Exchange, Seated {
  /** Among those under way. */
  seat = -1
  readonly id = newId()
  readonly began = now()
  readonly startedAt = Date.now()
  readonly log: Facts
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  isAborted = false
  private hasBegun = false
  private isOver = false
  private isDetached = false
  /** The client waits with its body. */
  private isPaused = false
  /** What has come of the body and nobody has taken yet. */
  private first: Buffer | undefined
  private more: Buffer[] | undefined
  /** How much of `first` has been filled, where it was made as large as the whole body is to be; else -1. */
  private filled = -1
  private length = 0
  private isWhole = false
  private limit = Number.POSITIVE_INFINITY
  private touched = this.began
  private receiver: Receiver | undefined
  private wake: (() => void) | undefined
  private aborts: (() => void)[] | undefined
  private endings: ((failure: GatewayError) => void)[] | undefined
  private lasts: (() => void)[] | undefined

  constructor(
    private readonly res: Answering,
    head: RequestHead,
    readonly params: Readonly<Record<string, string>>,
    private readonly dialect: Dialect,
    private readonly told: (call: HttpExchange) => void,
  ) {
    this.method = head.method
    this.path = head.path
    this.query = head.query
    this.headers = head.headers
    this.log = { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 }
    res.onAborted(() => this.aborted())
    res.onData((chunk, isLast) => this.came(chunk, isLast))
  }

  /** Lets go of the request without an answer: the connection has become something else. */
  detach(): void {
    this.isDetached = true
  }

  over(): void {
    if (this.isOver) return
    this.isOver = true
    for (const run of this.lasts ?? []) run()
    this.told(this)
  }

  private aborted(): void {
    this.isAborted = true
    if (this.isDetached) return
    if (!this.isOver) {
      if (this.log.status === 0) this.log.status = 499
      this.log.isPartial = true
    }
    for (const run of this.aborts ?? []) run()
    this.receiver?.fail(new GatewayError('invalid_request', 'The client went away.'))
    this.wake?.()
    this.over()
  }

  /** A sign of life: the server's clock begins anew, or stands still where the client waits. */
  touch(): void {
    this.res.pause()
    if (!this.isPaused) this.res.resume()
  }

  private came(chunk: ArrayBuffer, isLast: boolean): void {
    // What is left of a body after its answer is nobody's, and nothing may be asked of `res` any more.
    if (this.isOver) return
    this.length += chunk.byteLength
    if (!isLast && now() - this.touched > TOUCH) {
      this.touched = now()
      this.touch()
    }
    this.isWhole = isLast
    // What came along with it may be more than was wanted, but nothing follows: behind it is the next request.
    if (isLast) this.goOn()
    if (this.receiver) {
      this.give(copyOf(chunk), isLast)
      return
    }
    // The bytes belong to the server again after this call.
    if (this.length > this.limit || this.hasBegun) {
      this.first = undefined
      this.more = undefined
    } else if (this.first === undefined) this.first = this.room(chunk, isLast)
    else if (this.filled >= 0 && this.length <= this.first.length) {
      this.first.set(new Uint8Array(chunk), this.filled)
      this.filled = this.length
    } else {
      this.more ??= []
      this.more.push(copyOf(chunk))
    }
    if (isLast || this.length > this.limit) this.wake?.()
  }

  /** A copy of the first piece of a body, with room for the rest where its length has been announced. */
  private room(chunk: ArrayBuffer, isLast: boolean): Buffer {
    const announced = isLast ? 0 : Number(this.headers['content-length'])
    if (!(announced > chunk.byteLength) || announced > this.limit || announced > MOST_ROOM) return copyOf(chunk)
    const room = Buffer.allocUnsafe(announced)
    room.set(new Uint8Array(chunk))
    this.filled = chunk.byteLength
    return room
  }

  private give(chunk: Buffer, isLast: boolean): void {
    const receiver = this.receiver as Receiver
    this.log.bytesIn = this.length
    if (this.length > this.limit) {
      this.receiver = NOBODY
      receiver.fail(tooLarge(this.limit))
      return
    }
    if (chunk.length > 0) receiver.data(chunk)
    if (isLast) receiver.end()
  }

  onAbort(run: () => void): void {
    if (this.isAborted) run()
    else {
      this.aborts ??= []
      this.aborts.push(run)
    }
  }

  onOver(run: () => void): void {
    if (this.isOver) {
      run()
      return
    }
    this.lasts ??= []
    this.lasts.push(run)
  }

  onEnding(run: (failure: GatewayError) => void): void {
    this.endings ??= []
    this.endings.push(run)
  }

  endWith(failure: GatewayError): void {
    if (this.isAborted || this.isOver) return
    this.log.error ??= { kind: failure.kind, message: failure.message }
    for (const run of this.endings ?? []) run(failure)
    if (this.isOver) return
    if (!this.hasBegun) {
      const { status, headers, body } = renderError(this.dialect, failure, this.id)
      this.send(status, headers, body)
    } else {
      this.res.close()
    }
    for (const run of this.aborts ?? []) run()
  }

  body(most: number): Promise<Buffer> {
    this.limit = most
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.wake = undefined
        try {
          resolve(this.whole())
        } catch (error) {
          reject(error)
        }
      }
      this.checkLength()
      if (this.isWhole) settle()
      else this.wake = settle
    })
  }

  private whole(): Buffer {
    if (this.isAborted) throw new GatewayError('invalid_request', 'The client went away.')
    if (this.length > this.limit) throw tooLarge(this.limit)
    const { more } = this
    const first = this.taken()
    this.first = undefined
    this.more = undefined
    return more === undefined ? first : Buffer.concat([first, ...more])
  }

  private taken(): Buffer {
    const { first = EMPTY, filled } = this
    return filled < 0 || filled === first.length ? first : first.subarray(0, filled)
  }

  private checkLength(): void {
    if (Number(this.headers['content-length']) > this.limit || this.length > this.limit) throw tooLarge(this.limit)
  }

  receive(limit: number, receiver: Receiver): void {
    this.limit = limit
    this.checkLength()
    this.receiver = receiver
    const had = [...(this.first ? [this.taken()] : []), ...(this.more ?? [])]
    this.first = undefined
    this.more = undefined
    for (const chunk of had) receiver.data(chunk)
    if (this.isAborted) receiver.fail(new GatewayError('invalid_request', 'The client went away.'))
    else if (this.isWhole) receiver.end()
  }

  pause(): void {
    if (this.isPaused || this.isAborted || this.isOver || this.isWhole) return
    this.isPaused = true
    this.res.pause()
  }

  resume(): void {
    if (!this.isAborted && !this.isOver) this.goOn()
  }

  /** Before the answer ends, too: a connection that is left paused never brings another request. */
  goOn(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.res.resume()
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    if (this.isAborted || this.isOver) return
    const { res, log } = this
    const bytes = typeof body === 'string' ? utf8(body) : body
    this.hasBegun = true
    log.status = status
    log.bytesOut = bytes.length
    log.firstByte = now() - this.began
    this.goOn()
    res.cork(() => {
      writeHead(res, status, headers, this.id)
      if (this.method === 'HEAD') {
        // The length given to endWithoutBody leaves the connection waiting for a body.
        res.writeHeader(ascii('content-length'), ascii(String(log.bytesOut)))
        res.endWithoutBody()
      } else {
        // Of a body that nobody wants only a little is read for the sake of the connection.
        const most = Math.max(this.length, Number(this.headers['content-length'] ?? 0))
        res.end(bytes, !this.isWhole && (status === 413 || most > LONG_REST))
      }
    })
    this.over()
  }

  open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink {
    this.hasBegun = true
    this.log.status = status
    return length === undefined ? new ChunkedSink(this.res, this, headers) : new MeasuredSink(this.res, this, headers, length)
  }
}

const EMPTY = Buffer.alloc(0)
const NOBODY: Receiver = { data: () => {}, end: () => {}, fail: () => {} }

/** A copy in pooled memory: an ArrayBuffer of its own costs more than the bytes. */
function copyOf(chunk: ArrayBuffer): Buffer {
  const copy = Buffer.allocUnsafe(chunk.byteLength)
  copy.set(new Uint8Array(chunk))
  return copy
}

function tooLarge(most: number): GatewayError {
  return new GatewayError('too_large', `The request body is larger than ${most} bytes.`)
}

function writeHead(res: Answering, status: number, headers: Readonly<Record<string, string>>, id: string): void {
  res.writeStatus(ascii(STATUS_LINES[status] ?? String(status)))
  res.writeHeader(ascii('x-request-id'), ascii(id))
  for (const name in headers) res.writeHeader(ascii(name), headerText(headers[name] as string))
}

/** An answer whose length nobody knows. */
class ChunkedSink implements Sink, Deadline {
  due = Number.POSITIVE_INFINITY
  seat = -1
  protected isDone = false
  protected isHeadWritten = false
  protected drain: (() => void) | undefined

  constructor(
    protected readonly res: Answering,
    protected readonly call: HttpExchange,
    protected readonly headers: Readonly<Record<string, string>>,
  ) {
    res.onWritable(offset => this.writable(offset))
  }

  /** A client that reads slowly is not one that has gone; the whole time that an answer may take bounds it. */
  fire(): void {
    if (this.call.isAborted || this.isDone) {
      unwatch(this)
      return
    }
    this.call.touch()
    this.due = now() + TOUCH
  }

  protected writable(_offset: number): boolean {
    unwatch(this)
    this.drain?.()
    return true
  }

  protected head(): void {
    if (this.isHeadWritten) return
    this.isHeadWritten = true
    writeHead(this.res, this.call.log.status, this.headers, this.call.id)
  }

  protected counted(chunk: Buffer | string): Bytes {
    const { call } = this
    if (call.log.firstByte === undefined) call.log.firstByte = now() - call.began
    const bytes = typeof chunk === 'string' ? utf8(chunk) : chunk
    call.log.bytesOut += bytes.length
    return bytes
  }

  protected held(): void {
    this.due = now() + TOUCH
    watch(this)
  }

  write(chunk: Buffer | string): boolean {
    if (this.call.isAborted || this.isDone) return true
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
    if (this.call.isAborted || this.isDone) return
    this.isDone = true
    this.call.goOn()
    const bytes = chunk === undefined ? undefined : this.counted(chunk)
    this.res.cork(() => {
      this.head()
      // `end` with a body would be a whole answer with a length, which a stream is not.
      if (bytes !== undefined && bytes.length > 0) this.res.write(bytes)
      this.res.end()
    })
    unwatch(this)
    this.call.over()
  }

  destroy(): void {
    if (this.call.isAborted || this.isDone) return
    this.isDone = true
    unwatch(this)
    this.res.close()
    this.call.over()
  }

  onDrain(resume: () => void): void {
    this.drain = resume
  }
}

/** An answer of a known length: less of it can never look like the whole. */
class MeasuredSink extends ChunkedSink {
  /** What the connection did not take yet, and the offset that it begins at. */
  private rest: Buffer | undefined
  private restFrom = 0

  constructor(
    res: Answering,
    call: HttpExchange,
    headers: Readonly<Record<string, string>>,
    private readonly length: number,
  ) {
    super(res, call, headers)
  }

  override write(chunk: Buffer | string): boolean {
    if (this.call.isAborted || this.isDone) return true
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    this.counted(bytes)
    // The writer may give one more piece before it has come to rest.
    if (this.rest !== undefined) {
      this.rest = Buffer.concat([this.rest, bytes])
      return false
    }
    return this.offer(bytes)
  }

  private offer(bytes: Buffer): boolean {
    let isTaken = true
    this.res.cork(() => {
      this.head()
      const from = this.res.getWriteOffset()
      if (from + bytes.length >= this.length) this.call.goOn()
      const [isAll, isDone] = this.res.tryEnd(bytes, this.length)
      isTaken = isAll
      if (isDone) this.done()
      else if (!isAll) {
        this.rest = bytes
        this.restFrom = from
      }
    })
    if (!isTaken && !this.isDone) this.held()
    return isTaken
  }

  private done(): void {
    this.isDone = true
    unwatch(this)
    this.call.over()
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
    if (this.call.isAborted || this.isDone) return
    if (this.length === 0) {
      this.call.goOn()
      this.res.cork(() => {
        this.head()
        this.res.end()
      })
      this.done()
    }
    // Less than was announced, unless the rest still waits for the client.
    else if (this.rest === undefined) this.destroy()
  }
}

const STATUS_LINES: Readonly<Record<number, string>> = Object.freeze({
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  206: '206 Partial Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  402: '402 Payment Required',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Payload Too Large',
  415: '415 Unsupported Media Type',
  416: '416 Range Not Satisfiable',
  429: '429 Too Many Requests',
  499: '499 Client Closed Request',
  500: '500 Internal Server Error',
  501: '501 Not Implemented',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
  529: '529 Overloaded',
})
