// One call of an upstream with its deadlines and the client's abort. A single object is the call, its deadline and the
// handler of the HTTP client: an ordinary call allocates nothing else.

import type { Dispatcher } from 'undici'
import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import { GatewayError, nobodyWaits } from '../core/errors.js'
import { type Call, type Exchange, NOBODY, type Receiver } from '../core/exchange.js'
import { Gathered } from '../core/gathered.js'
import type { Limits } from '../plan.js'
import { mayHaveBeenIdle } from '../snapshot/connect.js'

/** The request, and its address. */
export interface UpstreamRequest {
  dispatcher: Pick<Dispatcher, 'dispatch'>
  origin: string
  method: string
  path: string
  /** Names and values alternate. */
  headers: readonly string[]
  /** A list is sent piece by piece; its length is among the headers. */
  body?: Buffer | string | readonly Buffer[] | AsyncIterable<Buffer>
  /** The name of the target, for the log. */
  name: string
  /** The response header with the provider's id of the request. Default `x-request-id`. */
  idHeader?: string | undefined
  /** A credential of the caller, which is removed from the upstream's error message. */
  hides?: string
}

/** An upstream's response: its head has arrived, its body follows. */
export interface UpstreamResponse {
  readonly status: number
  /** The first header with a name, in lower case. Headers stay unparsed until then, because few of them are read. */
  header(name: string): string | undefined
  /** The headers whose names, in lower case, pass a test. One in several lines is joined to one (RFC 9110, 5.3). */
  headersThat(pass: (name: string) => boolean): Record<string, string>
  /** Delivers the body, from its beginning, to a receiver. */
  receive(receiver: Receiver): void
  /** Buffers the body from now on for the next receiver. */
  detach(): void
  pause(): void
  resume(): void
  /** Cancels the call. */
  cancel(): void
  /**
   * Ends the interest in the body: the rest may arrive, so that the connection can be used again, but only within a short
   * time.
   */
  release(): void
  /** Limits the time between two pieces from now on, in place of the time to the first. */
  startIdle(): void
}

/** Milliseconds that the unwanted rest of an answer may take. */
const RELEASE = 1_000

/** Milliseconds within which an upstream that closes an idle connection can cross a request: a round trip, and some work. */
const CROSSING = 1_000

const CANCELLED = new Error('the call is not needed any more')
CANCELLED.stack = ''

type Phase = 'connect' | 'sending' | 'headers' | 'first event' | 'idle' | 'released'

const WORDS: Readonly<Record<Phase, string>> = {
  connect: 'The upstream could not be reached in time.',
  sending: 'The upstream did not take the request in time.',
  headers: 'The upstream did not answer in time.',
  'first event': 'The upstream did not begin its answer in time.',
  idle: 'The upstream fell silent in the middle of its answer.',
  released: 'The upstream did not end its answer.',
}

/** Calls an upstream; resolves when the head of its response has arrived. */
export function call(request: UpstreamRequest, limits: Limits, exchange: Exchange): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => new UpstreamCall(request, limits, exchange, resolve, reject).send())
}

function isAtHand(body: UpstreamRequest['body']): body is Buffer | string | readonly Buffer[] | undefined {
  return body === undefined || typeof body === 'string' || Buffer.isBuffer(body) || Array.isArray(body)
}

/** Names and values as undici delivers them: buffers that alternate. */
type RawHeaders = readonly Buffer[]

// undici's older handler (`onConnect` and so on): the newer one allocates an object of all headers and a wrapper for each
// call.
class UpstreamCall implements UpstreamResponse, Call, Deadline, Dispatcher.DispatchHandler {
  status = 0
  readonly began = now()
  connectedAt = 0
  headersAt = 0
  readonly idHeader: string
  firstAt = 0
  gap = 0
  /** When the last bytes of a stream came, or it was resumed. */
  private lastAt = 0
  private rawHeaders: RawHeaders = []
  due: number
  slot = -1
  private phase: Phase = 'connect'
  private abort: ((error?: Error) => void) | undefined
  private unpause: (() => void) | undefined
  private receiver: Receiver | undefined
  /** The buffered body; undefined while the body is delivered at once. */
  private waiting: Buffer[] | undefined
  /** Whether a closing may have crossed it: not once it was sent again, or the upstream has reacted to it. */
  private mayCross: boolean
  private isOver = false
  private isPaused = false
  private failure: GatewayError | undefined
  /** The deadline of all targets together: the time that an earlier target took is gone. */
  private readonly total: number

  constructor(
    private readonly request: UpstreamRequest,
    private readonly limits: Limits,
    private readonly exchange: Exchange,
    private readonly resolve: (upstream: UpstreamResponse) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.total = limits.total === null ? Number.POSITIVE_INFINITY : exchange.began + limits.total
    this.due = Math.min(this.began + limits.connect, this.total)
    this.idHeader = request.idHeader ?? 'x-request-id'
    this.mayCross = isAtHand(request.body)
    exchange.log.call = this
    watch(this)
    // Last: of an exchange that has ended it gives the call up at once.
    exchange.onAbort(this.giveUp)
  }

  send(): void {
    if (this.isOver) return
    const { dispatcher, origin, method, path, headers, body } = this.request
    dispatcher.dispatch(
      {
        origin,
        method: method as Dispatcher.HttpMethod,
        path,
        headers: headers as string[],
        body: (isAtHand(body) ? body : this.upload(body)) as Buffer,
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      this,
    )
  }

  // Deadline

  fire(): void {
    const isWhole = now() >= this.total
    this.finish(new GatewayError('timeout', isWhole ? 'The upstream took longer than the whole request may take.' : WORDS[this.phase]))
  }

  private arm(time: number): void {
    this.due = Math.min(now() + time, this.total)
  }

  private readonly giveUp = (): void => this.finish(nobodyWaits())

  private over(): void {
    this.isOver = true
    unwatch(this)
    this.exchange.offAbort(this.giveUp)
  }

  private finish(error: GatewayError | undefined): void {
    if (this.isOver) return
    this.over()
    this.failure = error
    const { receiver } = this
    if (error) this.abort?.(error)
    if (this.status === 0) this.reject(error)
    else if (receiver && !this.waiting) error ? receiver.fail(error) : receiver.end()
  }

  /** The body piece by piece. While the client is slow, the upstream's deadline rests, and vice versa. */
  async *upload(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    this.due = this.total
    for await (const chunk of body) {
      this.begin('sending', this.limits.idle)
      yield chunk
      if (this.status === 0) this.due = this.total
    }
    this.begin('headers', this.limits.headers)
  }

  /** Begins a phase before the answer: an upstream may answer before it has the whole body. */
  private begin(phase: Phase, time: number): void {
    if (this.status !== 0) return
    this.phase = phase
    this.arm(time)
  }

  // Callbacks of the HTTP client

  onConnect(abort: (error?: Error) => void): void {
    this.abort = abort
    if (this.isOver) {
      abort(this.failure ?? CANCELLED)
      return
    }
    if (this.phase !== 'connect') return
    this.phase = 'headers'
    this.connectedAt = now()
    this.due = Math.min(this.connectedAt + this.limits.headers, this.total)
  }

  onHeaders(status: number, headers: RawHeaders, unpause: () => void): boolean {
    this.mayCross = false
    if (status < 200 || this.isOver) return true
    this.phase = 'first event'
    this.headersAt = now()
    this.due = Math.min(this.headersAt + this.limits.first_event, this.total)
    this.status = status
    this.rawHeaders = headers
    this.unpause = unpause
    this.waiting = []
    this.resolve(this)
    return true
  }

  /** Returning false pauses the upstream until it is resumed. */
  onData(chunk: Buffer): boolean {
    if (this.isOver) return true
    if (this.firstAt === 0) this.firstAt = now()
    if (this.phase === 'idle' && !this.isPaused) {
      const time = now()
      if (time - this.lastAt > this.gap) this.gap = time - this.lastAt
      this.lastAt = time
      this.due = Math.min(time + this.limits.idle, this.total)
    }
    if (this.receiver && !this.waiting) this.receiver.data(chunk)
    else this.waiting?.push(chunk)
    return !this.isPaused
  }

  onComplete(): void {
    if (this.receiver && !this.waiting) this.finish(undefined)
    else if (!this.isOver) this.over()
  }

  onError(error: Error): void {
    if (error instanceof GatewayError) {
      this.finish(error)
      return
    }
    if (this.isCrossed(error)) {
      this.mayCross = false
      this.phase = 'connect'
      this.arm(this.limits.connect)
      this.send()
      return
    }
    const code = (error as { code?: string }).code ?? error.name
    this.finish(
      new GatewayError('upstream', 'The connection to the upstream failed.', { cause: `${this.request.name}: ${code} ${error.message}` }),
    )
  }

  /**
   * Whether the upstream closed an idle connection while the request was on its way there, so that it was not read. Later,
   * the upstream may have worked on it, and charged for that.
   */
  private isCrossed(error: Error): boolean {
    return this.mayCross && !this.isOver && mayHaveBeenIdle(error) && now() - this.connectedAt < CROSSING
  }

  // The response

  header(name: string): string | undefined {
    const { rawHeaders } = this
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      if (isNamed(rawHeaders[index] as Buffer, name)) return (rawHeaders[index + 1] as Buffer).toString('latin1')
    }
    return undefined
  }

  headersThat(pass: (name: string) => boolean): Record<string, string> {
    const { rawHeaders } = this
    const found: Record<string, string> = {}
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = (rawHeaders[index] as Buffer).toString('latin1').toLowerCase()
      if (!pass(name)) continue
      const value = (rawHeaders[index + 1] as Buffer).toString('latin1')
      found[name] = Object.hasOwn(found, name) ? `${found[name]}, ${value}` : value
    }
    return found
  }

  receive(taker: Receiver): void {
    this.receiver = taker
    const chunks = this.waiting
    this.waiting = undefined
    if (chunks) {
      for (const chunk of chunks) {
        // A receiver that has enough detaches itself; the rest is for the next one.
        if (this.receiver === taker) taker.data(chunk)
        else (this.waiting as Buffer[] | undefined)?.push(chunk)
      }
    }
    if (this.receiver !== taker) return
    if (this.isOver) this.failure ? taker.fail(this.failure) : taker.end()
  }

  detach(): void {
    this.receiver = undefined
    this.waiting = []
  }

  pause(): void {
    if (this.isPaused || this.isOver) return
    this.isPaused = true
    // While the client is slow, the upstream is not late.
    this.due = this.total
  }

  resume(): void {
    if (!this.isPaused || this.isOver) return
    this.isPaused = false
    this.lastAt = now()
    this.arm(this.limits.idle)
    this.unpause?.()
  }

  cancel(): void {
    if (this.isOver) return
    this.over()
    this.abort?.(CANCELLED)
  }

  release(): void {
    if (this.isOver) return
    this.receiver = NOBODY
    this.waiting = undefined
    if (this.isPaused) {
      this.isPaused = false
      this.unpause?.()
    }
    this.due = now() + RELEASE
    this.phase = 'released'
  }

  startIdle(): void {
    this.phase = 'idle'
    this.lastAt = now()
    if (!this.isOver) this.arm(this.limits.idle)
  }
}

/** Whether a header's name, in any case, equals a name in lower case. */
function isNamed(key: Buffer, name: string): boolean {
  if (key.length !== name.length) return false
  for (let index = 0; index < key.length; index++) {
    const code = key[index] as number
    const lower = code >= 0x41 && code <= 0x5a ? code + 0x20 : code
    if (lower !== name.charCodeAt(index)) return false
  }
  return true
}

/** The largest answer that is held for translation, or to be sent in one piece: bytes. */
export const BODY_LIMIT = 64 * 1024 * 1024

/** A whole body, at once if all of it has arrived; undefined if it is longer than a limit in bytes. Rejects if the call fails. */
export function collect(upstream: UpstreamResponse, limit: number): Buffer | undefined | Promise<Buffer | undefined> {
  const collector = new Collector(upstream, limit)
  upstream.receive(collector)
  return collector.result()
}

export function withinLimit(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw new GatewayError('upstream', 'The answer of the upstream is too large.')
  return bytes
}

class Collector implements Receiver {
  private first: Buffer | undefined
  private more: Gathered | undefined
  private length = 0
  private isOver = false
  private failure: GatewayError | undefined
  private settle: (() => void) | undefined

  constructor(
    private readonly upstream: UpstreamResponse,
    private readonly limit: number,
  ) {}

  data(chunk: Buffer): void {
    this.length += chunk.length
    if (this.length > this.limit) {
      this.upstream.cancel()
      this.end()
    } else if (this.first === undefined) this.first = chunk
    else {
      this.more ??= new Gathered()
      this.more.push(chunk)
    }
  }

  end(): void {
    this.isOver = true
    this.settle?.()
  }

  fail(error: GatewayError): void {
    this.failure = error
    this.settle?.()
  }

  result(): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.isOver) return this.whole()
    return new Promise((resolve, reject) => {
      this.settle = () => (this.failure ? reject(this.failure) : resolve(this.whole()))
      if (this.failure) this.settle()
    })
  }

  private whole(): Buffer | undefined {
    if (this.length > this.limit) return undefined
    const { first, more } = this
    return more === undefined ? (first ?? EMPTY) : Buffer.concat([first as Buffer, ...more.pieces])
  }
}

const EMPTY = Buffer.alloc(0)
