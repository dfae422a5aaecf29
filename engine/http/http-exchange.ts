// The HTTP implementation of Exchange: the calls of the stages as calls of uWebSockets.js, which only this folder knows. One
// object for each request with methods on its prototype: an ordinary request allocates nothing that it does not use.

import { randomBytes } from 'node:crypto'
import { now, unwatch, watch } from '../core/deadlines.js'
import { GatewayError, nobodyWaits, renderError } from '../core/errors.js'
import { type Exchange, GONE, type LogEntry, NOBODY, type Receiver, type Sink } from '../core/exchange.js'
import { Gathered, LARGE } from '../core/gathered.js'
import type { Indexed } from '../core/indexed-set.js'
import { failureOf } from '../core/log.js'
import type { Dialect, Limits } from '../plan.js'
import type { Exposed } from '../snapshot/config.js'
import type { RequestHead } from '../snapshot/model.js'
import { Linger, UploadClock } from './body-clocks.js'
import { type Answering, ascii, type Bytes, headerText, statusLine, utf8 } from './bytes.js'
import { type BodyMemory, HeldBody } from './held-body.js'
import { ChunkedSink, KEEP_CONNECTION_AFTER, MeasuredSink } from './sinks.js'

/** How much of an unwanted body is still read so that the connection can be used again: bytes. */
const LONG_REST = 1024 * 1024
/** More than uWebSockets.js gathers before it writes: bytes. */
const LIBRARY_BUFFER = 17 * 1024

/** More than a connection is sure to take at once: bytes. */
const LONG_ANSWER = 64 * 1024

/** Not Modified: a status whose answer has neither a body nor a length. */
const UNCHANGED = 304

const ID_BATCH = 256
const ID_BYTES = 10
let idPool = Buffer.alloc(0)
let idOffset = 0

let idTime = 0
let idBeginning = ''

/**
 * 32 hexadecimal characters: 12 of the time, so that ids sort in the order of their exchanges, and 20 random ones, whose
 * bytes are drawn for many ids at once.
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
  /** The position in the set of exchanges under way. */
  slot = -1
  readonly began = now()
  readonly startedAt = Date.now()
  readonly id = newId(this.startedAt)
  readonly log: LogEntry
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly queryText: string | undefined
  readonly headers: Readonly<Record<string, string>>
  isAborted = false
  isEnded = false
  /** What the answer's headers reveal about the model and provider that answered; undefined: nothing. */
  exposes: Exposed | undefined
  /** Closes the connection after the answer, because the bytes that follow on it cannot be trusted. */
  mustClose = false
  /** Headers that every answer carries, whatever it is. */
  answerHeaders: Readonly<Record<string, string>> | undefined
  private isListening = false
  /** A part of the body has arrived, if only its end. */
  private hasCome = false
  /** Sends an answer that was ready before any of the body arrived. */
  private earlyAnswer: (() => void) | undefined
  private hasBegun = false
  private isDetached = false
  /** The gateway has paused the client's body. */
  private isPaused = false
  private isStaying = false
  /** What came although it is paused, which counts as memory until it goes on: bytes. */
  private ahead = 0
  /** The part of the body that has arrived and that nothing has read yet. */
  private readonly held: HeldBody
  /** The length of the part that has arrived: bytes. */
  private length = 0
  private isWhole = false
  /** Why the body can no longer be read, although the client still sends it. */
  private fault: GatewayError | undefined
  /** Runs while the rest of a body is read or thrown away. */
  private upload: UploadClock | undefined
  private linger: Linger | undefined
  private limit = Number.POSITIVE_INFINITY
  private lastKept = this.began
  private receiver: Receiver | undefined
  /** Small pieces of one read for the receiver. */
  private few: Gathered | undefined
  private bodyArrived: (() => void) | undefined
  private aborts: (() => void)[] | undefined
  private endings: ((failure: GatewayError) => void)[] | undefined
  private whenOver: (() => void)[] | undefined

  constructor(
    private readonly res: Answering,
    head: RequestHead,
    readonly params: Readonly<Record<string, string>>,
    private readonly dialect: Dialect,
    memory: BodyMemory,
    private readonly onEnd: (exchange: HttpExchange) => void,
  ) {
    this.held = new HeldBody(memory)
    this.method = head.method
    this.path = head.path
    this.query = head.query
    this.queryText = head.queryText
    this.headers = head.headers
    this.log = { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 }
    res.onAborted(() => this.aborted())
  }

  /**
   * Begins to read the body. Call it at the end of the server's callback, and only if no answer was sent in the callback:
   * otherwise uWebSockets.js would not close the connection when it is idle.
   */
  listen(): void {
    if (this.log.isOver || this.isAborted || this.isListening) return
    this.isListening = true
    this.res.onData((chunk, isLast) => this.onChunk(chunk, isLast))
  }

  /** Gives up the request without an answer: the connection has become a socket. */
  detach(): void {
    this.isDetached = true
  }

  address(): string {
    return this.isAborted || this.log.isOver ? '' : Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1')
  }

  over(): void {
    if (this.log.isOver) return
    this.log.isOver = true
    this.isEnded = true
    if (this.upload) unwatch(this.upload)
    this.held.free()
    this.ahead = 0
    for (const run of this.whenOver ?? []) run()
    this.onEnd(this)
  }

  private aborted(): void {
    this.isAborted = true
    this.isEnded = true
    if (this.linger) unwatch(this.linger)
    if (this.isDetached) return
    if (!this.log.isOver) {
      if (this.log.status === 0) this.log.status = GONE
      this.log.isPartial = true
    }
    this.runAborts()
    this.receiver?.fail(nobodyWaits())
    this.bodyArrived?.()
    this.over()
  }

  private runAborts(): void {
    for (const run of this.aborts?.splice(0) ?? []) run()
  }

  /** Keeps the connection open: resets the idle timeout of uWebSockets.js, or stops it while the client waits for the gateway. */
  keepConnection(): void {
    this.res.pause()
    if (!this.isPaused) this.res.resume()
  }

  private onChunk(chunk: ArrayBuffer, isLast: boolean): void {
    this.hasCome = true
    this.isWhole = isLast
    this.earlyAnswer?.()
    // After the answer the rest of the body is ignored, and `res` must not be used any more.
    if (this.log.isOver && !this.linger) return
    if (!isLast && now() - this.lastKept > KEEP_CONNECTION_AFTER) {
      this.lastKept = now()
      this.keepConnection()
    }
    if (this.linger) {
      this.linger.onChunk(chunk.byteLength, isLast)
      return
    }
    this.length += chunk.byteLength
    // The last piece may hold more than was wanted, but no more body follows it: the next bytes are the next request.
    if (isLast) this.resumeBody()
    if (this.isPaused) this.stayPaused()
    if (this.receiver) {
      this.deliver(chunk, isLast)
      return
    }
    // The chunk's memory belongs to uWebSockets.js again after this call.
    if (this.length > this.limit || this.hasBegun || this.fault) this.held.drop()
    else if (!this.held.add(chunk, isLast ? 0 : Number(this.headers['content-length'] ?? 0))) {
      this.held.free()
      this.fault = noRoom()
    }
    if (isLast || this.length > this.limit || this.fault) this.bodyArrived?.()
  }

  private deliver(chunk: ArrayBuffer, isLast: boolean): void {
    this.log.bytesIn = this.length
    if (this.length > this.limit) {
      this.refuseRest(tooLarge(this.limit))
      return
    }
    if (this.isPaused && !this.countAhead(chunk.byteLength)) return
    this.few ??= new Gathered()
    const isFirst = this.few.length === 0
    if (chunk.byteLength > 0) this.few.push(copyOf(chunk))
    if (isLast || chunk.byteLength >= LARGE) this.handOver()
    // One read may bring thousands of pieces, and each that is handed over alone costs as much as a large one.
    else if (isFirst) setImmediate(() => this.handOver())
    if (isLast) this.receiver?.end()
  }

  /**
   * The library brings the rest of what it has read, and its release for Node 24 goes on as long as a client fills its buffer.
   * Returns false if there is no room for that.
   */
  private countAhead(size: number): boolean {
    if (this.held.reserve(size)) {
      this.ahead += size
      return true
    }
    this.refuseRest(noRoom())
    return false
  }

  /** Nothing takes what still comes of the body. */
  private refuseRest(failure: GatewayError): void {
    const { receiver } = this
    this.receiver = NOBODY
    receiver?.fail(failure)
  }

  private handOver(): void {
    const bytes = this.few?.take()
    if (bytes !== undefined && bytes.length > 0 && !this.log.isOver) this.receiver?.data(bytes)
  }

  onAbort(run: () => void): void {
    if (this.isEnded) run()
    else {
      this.aborts ??= []
      this.aborts.push(run)
    }
  }

  offAbort(run: () => void): void {
    const at = this.aborts?.indexOf(run) ?? -1
    if (at >= 0) this.aborts?.splice(at, 1)
  }

  onOver(run: () => void): void {
    if (this.log.isOver) {
      run()
      return
    }
    this.whenOver ??= []
    this.whenOver.push(run)
  }

  onEnding(run: (failure: GatewayError) => void): void {
    this.endings ??= []
    this.endings.push(run)
  }

  endWith(failure: GatewayError): void {
    if (this.isEnded) return
    this.isEnded = true
    this.log.error ??= failureOf(failure)
    for (const run of this.endings ?? []) run(failure)
    if (this.log.isOver) return
    if (!this.hasBegun) {
      const { status, headers, body } = renderError(this.dialect, failure, this.id)
      this.send(status, headers, body)
    } else {
      this.res.close()
    }
    this.runAborts()
  }

  body(limits: Limits): Promise<Buffer> {
    this.limit = limits.body
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.bodyArrived = undefined
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
        this.bodyArrived = settle
        this.expect(limits.upload)
      }
    })
  }

  private whole(): Buffer {
    if (this.isAborted) throw nobodyWaits()
    if (this.fault) throw this.fault
    if (this.length > this.limit) throw tooLarge(this.limit)
    const bytes = this.held.whole()
    this.held.drop()
    return bytes
  }

  /** Gives up on a body that arrives too slowly. */
  private expect(time: number): void {
    this.upload = new UploadClock(this, time)
    watch(this.upload)
  }

  /** How many bytes of the body have arrived; undefined while the gateway has paused the client. */
  progress(): number | undefined {
    return this.isPaused ? undefined : this.length
  }

  tooSlow(): void {
    if (this.isWhole || this.log.isOver) return
    const failure = new GatewayError('timeout', 'The request body came too slowly.', { status: 408 })
    this.fault = failure
    if (this.receiver) this.refuseRest(failure)
    else this.bodyArrived?.()
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
    this.log.bytesIn = this.length
    if (had.length > 0) receiver.data(had)
    if (this.isAborted) receiver.fail(nobodyWaits())
    else if (this.isWhole) receiver.end()
    else this.expect(limits.upload)
  }

  hold(bytes: number): void {
    if (this.log.isOver) throw nobodyWaits()
    if (!this.held.reserve(bytes)) throw noRoom()
  }

  pause(): void {
    if (this.isPaused || this.isAborted || this.log.isOver || this.isWhole) return
    this.isPaused = true
    this.res.pause()
    this.stayPaused()
  }

  /**
   * Pauses once more when the library's callback has ended: after each piece of a body it sets its timeout again, also after
   * pieces of the same read that it delivers although it is paused, and would close the connection.
   */
  private stayPaused(): void {
    if (this.isStaying) return
    this.isStaying = true
    setImmediate(() => {
      this.isStaying = false
      if (this.isPaused && !this.isAborted && !this.log.isOver) this.res.pause()
    })
  }

  resume(): void {
    if (!this.isAborted && !this.log.isOver) this.resumeBody()
  }

  /** Called before the answer ends: a connection that stays paused would never bring another request. */
  resumeBody(): void {
    if (!this.isPaused) return
    this.isPaused = false
    this.held.release(this.ahead)
    this.ahead = 0
    this.res.resume()
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    if (this.isAborted || this.log.isOver) return
    // uWebSockets.js would not close the connection when it is idle, unless the answer is sent with or after the body.
    if (this.isListening && !this.hasCome && this.earlyAnswer === undefined) {
      this.earlyAnswer = () => this.send(status, headers, body)
      setImmediate(this.earlyAnswer)
      return
    }
    const { res, log } = this
    const bytes = typeof body === 'string' ? utf8(body) : body
    this.hasBegun = true
    log.status = status
    log.bytesOut = bytes.length
    log.firstByte = now() - this.began
    this.resumeBody()
    if (this.mustLinger()) {
      this.sendAndLinger(headers, bytes)
    } else if (bytes.length > LONG_ANSWER && !this.mustClose && this.method !== 'HEAD' && status !== UNCHANGED) {
      this.sendLong(headers, bytes)
    } else {
      res.cork(() => {
        this.writeHead(headers)
        if (status === UNCHANGED) {
          res.endWithoutBody()
        } else if (this.method === 'HEAD') {
          // The length argument of endWithoutBody would leave the connection waiting for a body.
          if (headers['content-length'] === undefined) res.writeHeader(ascii('content-length'), ascii(String(log.bytesOut)))
          res.endWithoutBody()
        } else {
          res.end(this.mustClose ? utf8(flushed(body)) : bytes, this.mustClose)
        }
      })
    }
    this.over()
  }

  /** Sends an answer that waits for a slow client, without holding the exchange up: uWebSockets.js would cut it off. */
  private sendLong(headers: Readonly<Record<string, string>>, bytes: Bytes): void {
    // The sink counts them.
    this.log.bytesOut = 0
    new MeasuredSink(this.res, this, headers, bytes.length).write(bytes)
  }

  /** Writes the status and the headers of the answer: its own, and those of every answer. */
  writeHead(headers: Readonly<Record<string, string>>): void {
    const { res, exposes, log, answerHeaders } = this
    res.writeStatus(statusLine(log.status))
    res.writeHeader(ascii('x-request-id'), ascii(this.id))
    if (exposes !== undefined && log.attempts > 0) {
      if (exposes.target && log.target !== undefined) res.writeHeader(ascii('x-sluice-target'), headerText(log.target))
      if (exposes.attempts) res.writeHeader(ascii('x-sluice-attempts'), ascii(String(log.attempts)))
    }
    for (const name in headers) res.writeHeader(ascii(name), headerText(headers[name] as string))
    if (answerHeaders) for (const name in answerHeaders) res.writeHeader(ascii(name), headerText(answerHeaders[name] as string))
  }

  /** Whether more of the body may follow than uWebSockets.js reads and throws away by itself. */
  private mustLinger(): boolean {
    if (this.isWhole || this.mustClose || this.method === 'HEAD') return false
    const { 'content-length': announced, 'transfer-encoding': coding } = this.headers
    return announced === undefined ? coding !== undefined : Number(announced) > LONG_REST
  }

  /**
   * A client may not read an answer before it has sent its whole body, and closing a connection with unread bytes can
   * destroy the answer (RFC 9112, 9.6). So the answer is sent at once, without a length, and ends when the rest of the body
   * has arrived or has become too long.
   */
  private sendAndLinger(headers: Readonly<Record<string, string>>, bytes: Bytes): void {
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
      this.writeHead(headers)
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

/** A copy in pooled memory: an ArrayBuffer for each chunk costs more than its bytes. */
function copyOf(chunk: ArrayBuffer): Buffer {
  const copy = Buffer.allocUnsafe(chunk.byteLength)
  copy.set(new Uint8Array(chunk))
  return copy
}

/**
 * Pads an answer until uWebSockets.js writes it at once. Only then does the library close the connection before it reads
 * the next request, which may have been smuggled in; white space after JSON means nothing.
 */
function flushed(body: Buffer | string): string {
  return body.toString().padEnd(LIBRARY_BUFFER)
}

function noRoom(): GatewayError {
  return new GatewayError('unavailable', 'The gateway holds too many request bodies at the moment.', { retryAfter: '1' })
}

function tooLarge(most: number): GatewayError {
  return new GatewayError('too_large', `The request body is larger than ${most} bytes.`)
}
