// An exchange over HTTP: what the stages do with it, as calls of uWebSockets.js. Beside server.ts the only file that
// knows it. One object for each request, whose methods are shared: nothing is made that an ordinary request does not use.

import { randomBytes } from 'node:crypto'
import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import { GatewayError, renderError } from '../core/errors.js'
import type { Exchange, LogEntry, Receiver, Sink } from '../core/exchange.js'
import type { Indexed } from '../core/indexed-set.js'
import type { Dialect, Limits } from '../plan.js'
import type { RequestHead } from '../snapshot/router.js'
import { type Answering, ascii, type Bytes, headerText, utf8 } from './bytes.js'
import { type BodyMemory, HeldBody } from './held-body.js'

/** How much of a body that nobody wants is still read so that the connection can be used again: bytes. */
const LONG_REST = 1024 * 1024
/** After an answer that came before the end of a long body, so much of the rest is read and thrown away: bytes, milliseconds. */
const MOST_LINGERED = 64 * 1024 * 1024
const LONGEST_LINGER = 30_000
const LONGEST_PAUSE = 2_000
/** A body goes on as long as so many bytes of it come in the time that `limits.upload` gives. */
const LEAST_PROGRESS = 16 * 1024
/** More than the server's library gathers before it writes: bytes. */
const LIBRARY_BUFFER = 17 * 1024
/** uWebSockets.js ends a connection on which nothing moved for ten seconds, also where we hold it: a sign of life. */
const TOUCH = 2_000

const ID_BATCH = 256
const ID_BYTES = 10
let idPool = Buffer.alloc(0)
let idOffset = 0

let idTime = 0
let idBeginning = ''

/**
 * 32 hexadecimal characters: the time in 12 of them, so that ids stand in the order of their exchanges, and random ones, whose
 * bytes are fetched for many at once.
 */
function newId(time: number): string {
  if (idOffset >= idPool.length) {
    idPool = randomBytes(ID_BATCH * ID_BYTES)
    idOffset = 0
  }
  if (time !== idTime) {
    idTime = time
    idBeginning = time.toString(16).padStart(12, '0')
  }
  idOffset += ID_BYTES
  return idBeginning + idPool.toString('hex', idOffset - ID_BYTES, idOffset)
}

export class HttpExchange implements Exchange, Indexed {
  /** Among those under way. */
  slot = -1
  readonly began = now()
  readonly startedAt = Date.now()
  readonly id = newId(this.startedAt)
  readonly log: LogEntry
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  isAborted = false
  /** The connection ends with the answer: what follows on it cannot be trusted. */
  mustClose = false
  private isListening = false
  /** Some of the body has come, if only its end. */
  private hasCome = false
  /** Sends the answer that was there before any of the body. */
  private early: (() => void) | undefined
  private hasBegun = false
  private isOver = false
  private isDetached = false
  /** The client waits with its body. */
  private isPaused = false
  /** What has come of the body and nobody has taken yet. */
  private readonly held: HeldBody
  /** The bytes of the body that have come. */
  private length = 0
  private isWhole = false
  /** Why the body can no longer be had, though the client still sends it. */
  private fault: GatewayError | undefined
  /** Moves while the rest of a body is read or thrown away. */
  private upload: Upload | undefined
  private linger: Linger | undefined
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
    memory: BodyMemory,
    private readonly told: (exchange: HttpExchange) => void,
  ) {
    this.held = new HeldBody(memory)
    this.method = head.method
    this.path = head.path
    this.query = head.query
    this.headers = head.headers
    this.log = { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 }
    res.onAborted(() => this.aborted())
  }

  /**
   * Begins to take the body. To be called at the end of the server's callback, and only where no answer was sent in it: the
   * server's library would forget to close the connection when it is idle.
   */
  listen(): void {
    if (this.isOver || this.isAborted || this.isListening) return
    this.isListening = true
    this.res.onData((chunk, isLast) => this.came(chunk, isLast))
  }

  /** Lets go of the request without an answer: the connection has become something else. */
  detach(): void {
    this.isDetached = true
  }

  address(): string {
    return this.isAborted || this.isOver ? '' : Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1')
  }

  over(): void {
    if (this.isOver) return
    this.isOver = true
    if (this.upload) unwatch(this.upload)
    this.held.free()
    for (const run of this.lasts ?? []) run()
    this.told(this)
  }

  private aborted(): void {
    this.isAborted = true
    if (this.linger) unwatch(this.linger)
    if (this.isDetached) return
    if (!this.isOver) {
      if (this.log.status === 0) this.log.status = 499
      this.log.isPartial = true
    }
    for (const run of this.aborts ?? []) run()
    this.receiver?.fail(clientGone())
    this.wake?.()
    this.over()
  }

  /** A sign of life: the server's clock begins anew, or stands still where the client waits. */
  touch(): void {
    this.res.pause()
    if (!this.isPaused) this.res.resume()
  }

  private came(chunk: ArrayBuffer, isLast: boolean): void {
    this.hasCome = true
    this.isWhole = isLast
    this.early?.()
    // What is left of a body after its answer is nobody's, and nothing may be asked of `res` any more.
    if (this.isOver && !this.linger) return
    if (!isLast && now() - this.touched > TOUCH) {
      this.touched = now()
      this.touch()
    }
    if (this.linger) {
      this.linger.came(chunk.byteLength, isLast)
      return
    }
    this.length += chunk.byteLength
    // What came along with it may be more than was wanted, but nothing follows: behind it is the next request.
    if (isLast) this.goOn()
    if (this.receiver) {
      this.give(copyOf(chunk), isLast)
      return
    }
    // The bytes belong to the server again after this call.
    if (this.length > this.limit || this.hasBegun || this.fault) this.held.drop()
    else if (!this.held.add(chunk, isLast ? 0 : Number(this.headers['content-length'] ?? 0))) {
      this.held.free()
      this.fault = noRoom()
    }
    if (isLast || this.length > this.limit || this.fault) this.wake?.()
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

  body(limits: Limits): Promise<Buffer> {
    this.limit = limits.body
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.wake = undefined
        if (this.upload) unwatch(this.upload)
        try {
          resolve(this.whole())
        } catch (error) {
          reject(error)
        }
      }
      this.checkLength()
      if (this.isWhole || this.fault) settle()
      else {
        this.wake = settle
        this.expect(limits.upload)
      }
    })
  }

  private whole(): Buffer {
    if (this.isAborted) throw clientGone()
    if (this.fault) throw this.fault
    if (this.length > this.limit) throw tooLarge(this.limit)
    const bytes = this.held.whole()
    this.held.drop()
    return bytes
  }

  /** Gives up on a body that comes too slowly. */
  private expect(time: number): void {
    this.upload = new Upload(this, time)
    watch(this.upload)
  }

  /** How far the body has come; nothing while it is the gateway that makes the client wait. */
  progress(): number | undefined {
    return this.isPaused ? undefined : this.length
  }

  tooSlow(): void {
    if (this.isWhole || this.isOver) return
    const failure = new GatewayError('timeout', 'The request body came too slowly.', { status: 408 })
    this.fault = failure
    const { receiver } = this
    if (receiver) {
      this.receiver = NOBODY
      receiver.fail(failure)
    } else this.wake?.()
  }

  private checkLength(): void {
    if (Number(this.headers['content-length']) > this.limit || this.length > this.limit) throw tooLarge(this.limit)
  }

  receive(limits: Limits, receiver: Receiver): void {
    this.limit = limits.body
    this.checkLength()
    if (this.fault) throw this.fault
    this.receiver = receiver
    const had = this.held.whole()
    this.held.free()
    if (had.length > 0) receiver.data(had)
    if (this.isAborted) receiver.fail(clientGone())
    else if (this.isWhole) receiver.end()
    else this.expect(limits.upload)
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
    // The library would forget to close the connection when it is idle, unless the answer comes with the body or behind it.
    if (this.isListening && !this.hasCome && this.early === undefined) {
      this.early = () => this.send(status, headers, body)
      setImmediate(this.early)
      return
    }
    const { res, log } = this
    const bytes = typeof body === 'string' ? utf8(body) : body
    this.hasBegun = true
    log.status = status
    log.bytesOut = bytes.length
    log.firstByte = now() - this.began
    this.goOn()
    if (this.mustLinger()) {
      this.sendAndLinger(status, headers, bytes)
    } else {
      res.cork(() => {
        writeHead(res, status, headers, this.id)
        if (this.method === 'HEAD') {
          // The length given to endWithoutBody leaves the connection waiting for a body.
          res.writeHeader(ascii('content-length'), ascii(String(log.bytesOut)))
          res.endWithoutBody()
        } else {
          res.end(this.mustClose ? utf8(flushed(body)) : bytes, this.mustClose)
        }
      })
    }
    this.over()
  }

  /** Whether more of the body may still come than the server's library reads and throws away by itself. */
  private mustLinger(): boolean {
    if (this.isWhole || this.mustClose || this.method === 'HEAD') return false
    const { 'content-length': announced, 'transfer-encoding': coding } = this.headers
    return announced === undefined ? coding !== undefined : Number(announced) > LONG_REST
  }

  /**
   * A client that is still sending may not look for an answer before it is through, and a connection that is closed on bytes
   * which nobody has read takes the answer with it (RFC 9112, 9.6). So the answer leaves, without a length, and ends when the
   * rest of the body has come, or has become too much.
   */
  private sendAndLinger(status: number, headers: Readonly<Record<string, string>>, bytes: Bytes): void {
    const { res } = this
    this.listen()
    const isLong = this.headers['content-length'] !== undefined
    this.linger = new Linger(isTooMuch => {
      this.linger = undefined
      if (this.isAborted) return
      if (isTooMuch) res.close()
      else res.cork(() => res.end())
    })
    watch(this.linger)
    res.cork(() => {
      writeHead(res, status, headers, this.id)
      if (isLong) res.writeHeader(ascii('connection'), ascii('close'))
      res.write(bytes)
    })
  }

  open(status: number, headers: Readonly<Record<string, string>>, length?: number): Sink {
    this.hasBegun = true
    this.log.status = status
    return length === undefined ? new ChunkedSink(this.res, this, headers) : new MeasuredSink(this.res, this, headers, length)
  }
}

/** Looks from time to time whether a body still comes fast enough. */
class Upload implements Deadline {
  slot = -1
  due: number
  private before = 0

  constructor(
    private readonly exchange: HttpExchange,
    private readonly time: number,
  ) {
    this.due = now() + time
  }

  fire(): void {
    const length = this.exchange.progress()
    if (length !== undefined && length - this.before < LEAST_PROGRESS) {
      unwatch(this)
      this.exchange.tooSlow()
      return
    }
    this.before = length ?? this.before
    this.due = now() + this.time
  }
}

/** Counts what is thrown away of a body after its answer, until it is over, has been enough, or comes no more. */
class Linger implements Deadline {
  slot = -1
  due = now() + LONGEST_PAUSE
  private readonly began = now()
  private length = 0

  constructor(private readonly end: (isTooMuch: boolean) => void) {}

  came(length: number, isLast: boolean): void {
    this.length += length
    this.due = now() + LONGEST_PAUSE
    if (isLast) this.over(false)
    else if (this.length > MOST_LINGERED || now() > this.began + LONGEST_LINGER) this.over(true)
  }

  /** A client that sends no more can read the end of its answer. */
  fire(): void {
    this.over(false)
  }

  private over(isTooMuch: boolean): void {
    if (this.slot < 0) return
    unwatch(this)
    this.end(isTooMuch)
  }
}

const NOBODY: Receiver = { data: () => {}, end: () => {}, fail: () => {} }

/** A copy in pooled memory: an ArrayBuffer of its own costs more than the bytes. */
function copyOf(chunk: ArrayBuffer): Buffer {
  const copy = Buffer.allocUnsafe(chunk.byteLength)
  copy.set(new Uint8Array(chunk))
  return copy
}

/**
 * An answer so long that the server's library writes it at once. Only then does it close the connection before it reads the
 * next request, which may be one that somebody has hidden; white space behind JSON means nothing.
 */
function flushed(body: Buffer | string): string {
  return body.toString().padEnd(LIBRARY_BUFFER)
}

function clientGone(): GatewayError {
  return new GatewayError('invalid_request', 'The client went away.')
}

function noRoom(): GatewayError {
  return new GatewayError('unavailable', 'The gateway holds as many request bodies as it can.', { retryAfter: '1' })
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
  slot = -1
  protected isDone = false
  protected isHeadWritten = false
  protected drain: (() => void) | undefined

  constructor(
    protected readonly res: Answering,
    protected readonly exchange: HttpExchange,
    protected readonly headers: Readonly<Record<string, string>>,
  ) {
    res.onWritable(offset => this.writable(offset))
  }

  /** A client that reads slowly is not one that has gone; the whole time that an answer may take bounds it. */
  fire(): void {
    if (this.exchange.isAborted || this.isDone) {
      unwatch(this)
      return
    }
    this.exchange.touch()
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
    writeHead(this.res, this.exchange.log.status, this.headers, this.exchange.id)
  }

  protected counted(chunk: Buffer | string): Bytes {
    const { exchange } = this
    if (exchange.log.firstByte === undefined) exchange.log.firstByte = now() - exchange.began
    const bytes = typeof chunk === 'string' ? utf8(chunk) : chunk
    exchange.log.bytesOut += bytes.length
    return bytes
  }

  protected held(): void {
    this.due = now() + TOUCH
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
    this.exchange.goOn()
    const bytes = chunk === undefined ? undefined : this.counted(chunk)
    this.res.cork(() => {
      this.head()
      // `end` with a body would be a whole answer with a length, which a stream is not.
      if (bytes !== undefined && bytes.length > 0) this.res.write(bytes)
      this.res.end()
    })
    unwatch(this)
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

/** An answer of a known length: less of it can never look like the whole. */
class MeasuredSink extends ChunkedSink {
  /** What the connection did not take yet, and the offset that it begins at. */
  private rest: Buffer | undefined
  private restFrom = 0

  constructor(
    res: Answering,
    exchange: HttpExchange,
    headers: Readonly<Record<string, string>>,
    private readonly length: number,
  ) {
    super(res, exchange, headers)
  }

  override write(chunk: Buffer | string): boolean {
    if (this.exchange.isAborted || this.isDone) return true
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
      if (from + bytes.length >= this.length) this.exchange.goOn()
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
      this.exchange.goOn()
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
