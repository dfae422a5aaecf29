// A socket between a client and an upstream: frames pass unread in both directions, in order, and a slow side makes the
// other one wait. The upstream is connected before the client is answered, so that a refusal is an ordinary HTTP answer.

import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import type { Hold } from '../budgets/hold.js'
import { type Deadline, now, unwatch, watch } from '../core/deadlines.js'
import { asGatewayError, errorEvent, GatewayError } from '../core/errors.js'
import type { Exchange, Sink } from '../core/exchange.js'
import { Gathered } from '../core/gathered.js'
import { failureOf } from '../core/log.js'
import { valueAt } from '../core/members.js'
import { addUsage, readUsage } from '../core/usage.js'
import type { ClientSocket, SocketRelay } from '../http/sockets.js'
import type { Lease } from '../limits/lease.js'
import type { Json, RelayPlan } from '../plan.js'
import type { Binding, Route, Snapshot } from '../snapshot/model.js'
import { errorFrom, LONGEST_REFUSAL } from '../upstream/refusal.js'
import { holdsAny } from '../wire/json/markers.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { callersCredential } from './callers-credential.js'
import { failover } from './failover.js'
import type { SocketGuard } from './guard.js'
import { type Input, modelName, usualModel, withoutBody } from './read.js'
import { headersOf, pathOf } from './render.js'

const GONE = 1001
const NO_STATUS = 1005
const ABNORMAL = 1006
const REFUSED = 1008
const TOO_BIG = 1009
const FAILED = 1011
const TRY_LATER = 1013

/** The memory that a waiting frame takes beside its bytes: small frames take many times their length. */
const FRAME_COST = 512

/** Connects to the first target that takes the connection. Throws what an answer of HTTP tells. */
export function openRelay(request: ClientRequest, guard?: SocketGuard): Promise<Relay> {
  // Frames pass unread, so a socket is served in the provider's own dialect alone.
  const bindings = request.choice.bindings.filter(binding => !binding.mapping)
  return failover(request, bindings, async attempt => {
    const socket = await open(attempt)
    // A session may last for hours: the target has done its part when it opens one.
    attempt.binding.target.health.succeed()
    return new Relay(socket, attempt, guard)
  })
}

/** The request of a socket is in its path and query. */
export function readHandshake(route: Route, exchange: Exchange, snapshot: Snapshot): Input {
  const said = route.model && valueAt(route.model, {}, exchange)
  return withoutBody(modelName(route, said === undefined || said === '' ? usualModel(route, snapshot) : said))
}

function open(attempt: Attempt): Promise<WebSocket> {
  const { binding, route, limits, exchange } = attempt
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = {}
    const list = headersOf(attempt)
    for (let index = 0; index < list.length; index += 2) headers[list[index] as string] = list[index + 1] as string
    const { subprotocol } = binding.endpoint
    const upstream = new WebSocket(
      binding.origin.replace(/^http/, 'ws') + pathOf(attempt),
      subprotocol === undefined ? [] : [subprotocol],
      {
        headers,
        finishRequest(request) {
          request.once('socket', socket => onConnect(socket, connected))
          request.end()
        },
        maxPayload: (route.relay as RelayPlan).frame,
        perMessageDeflate: false,
      },
    )
    exchange.onAbort(() => upstream.terminate())
    const fail = (error: GatewayError): void => {
      clearTimeout(timer)
      reject(error)
      upstream.terminate()
    }
    let onLate = (): void => fail(new GatewayError('timeout', 'The upstream could not be reached in time.'))
    let timer = setTimeout(() => onLate(), limits.connect)
    function connected(): void {
      clearTimeout(timer)
      onLate = () => fail(new GatewayError('timeout', 'The upstream did not answer in time.'))
      timer = setTimeout(() => onLate(), limits.headers)
    }
    upstream.once('open', () => {
      clearTimeout(timer)
      // Frames that arrive at once wait until the client is connected.
      upstream.pause()
      upstream.removeAllListeners('error')
      resolve(upstream)
    })
    upstream.once('unexpected-response', (request, response) => {
      const body = new Gathered()
      const refuse = (): void => {
        request.destroy()
        let read: ReturnType<typeof binding.to.error.read>
        try {
          const said = body.take().toString('utf8')
          const text = binding.target.isCallers ? said.replaceAll(callersCredential(attempt).text, '***') : said
          read = binding.to.error.read(JSON.parse(text), response.statusCode)
        } catch {
          // The body is not readable; the status says enough.
        }
        fail(errorFrom(read, response.statusCode ?? 502, binding, { header: name => response.headers[name]?.toString() }))
      }
      // Its body may be endless, or never end: the status says enough.
      onLate = refuse
      response.on('data', (chunk: Buffer) => {
        if (body.length + chunk.length > LONGEST_REFUSAL) refuse()
        else body.push(chunk)
      })
      response.on('end', refuse)
      response.on('error', refuse)
    })
    // An attempt that was given up reports an error, too.
    upstream.on('error', error => fail(new GatewayError('upstream', 'The connection to the upstream failed.', { cause: error })))
  })
}

/** Calls back when a socket is connected, encryption included. */
function onConnect(socket: Socket, connected: () => void): void {
  socket.once('encrypted' in socket ? 'secureConnect' : 'connect', connected)
}

/** Whether a close frame may carry a code; the other codes only report how a connection broke. */
function maySend(code: number): boolean {
  return (code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_STATUS && code !== ABNORMAL) || (code >= 3000 && code <= 4999)
}

/** An event without line ends between its values: a frame is taken as a line. */
function inOneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, ' ') : text
}

/** Two sockets and what passes between them. */
export class Relay implements SocketRelay, Deadline {
  due: number
  slot = -1
  private readonly binding: Binding
  private readonly exchange: Exchange
  private readonly plan: RelayPlan
  /** The leases of the socket: it may be open for hours, so its usage counts while it is open. */
  private readonly leases: readonly (Lease | undefined)[]
  private readonly hold: Hold | undefined
  private client: ClientSocket | undefined
  private isOver = false
  private isHeld = false
  /** Takes frames of text from the upstream, where patterns look at them. */
  private answers: Sink | undefined
  private lastFrame = now()
  private lastPing = now()
  /** Frames that the upstream has not taken yet. */
  private waiting = 0
  private readonly sent = (): void => {
    this.waiting--
  }

  constructor(
    private readonly upstream: WebSocket,
    { binding, route, exchange, lease, targetLease, hold }: Attempt,
    private readonly guard?: SocketGuard,
  ) {
    this.hold = hold
    this.leases = [lease, targetLease]
    this.binding = binding
    this.exchange = exchange
    this.plan = route.relay as RelayPlan
    this.due = now() + this.plan.ping
    upstream.on('message', (data, isBinary) => this.fromUpstream(data as Buffer, isBinary))
    upstream.on('close', (code, reason) => this.upstreamClosed(code, reason.toString('utf8')))
    // `close` follows an error, and reports it.
    upstream.on('error', error => this.upstreamFailed(error))
  }

  begin(client: ClientSocket): void {
    this.client = client
    this.answers = this.guard?.answers(
      frame => client.send(Buffer.from(frame), false),
      error => this.fail(error, REFUSED),
    )
    this.exchange.log.firstByte = now() - this.exchange.began
    this.exchange.onEnding(failure => this.fail(failure, GONE))
    watch(this)
    if (this.upstream.readyState === WebSocket.OPEN) this.upstream.resume()
    else this.upstreamClosed(ABNORMAL, '')
  }

  /** Pings both sides, and ends a socket that has been silent for too long. */
  fire(): void {
    const time = now()
    if (time >= this.lastFrame + this.plan.idle) {
      this.fail(new GatewayError('timeout', 'The connection was silent for too long.'), GONE)
      return
    }
    if (time >= this.lastPing + this.plan.ping) {
      this.lastPing = time
      this.upstream.ping()
    }
    this.due = Math.min(this.lastFrame + this.plan.idle, this.lastPing + this.plan.ping)
  }

  fromClient(data: Buffer, isBinary: boolean): void {
    if (this.isOver) return
    this.lastFrame = now()
    this.exchange.log.bytesIn += data.length
    if (data.length > this.plan.frame) {
      this.fail(new GatewayError('too_large', `A frame is larger than ${this.plan.frame} bytes.`), TOO_BIG)
      return
    }
    // The server cannot pause a client's frames, so the buffer is bounded in another way.
    if (this.upstream.bufferedAmount + this.waiting * FRAME_COST > this.plan.highWater + this.plan.frame) {
      this.fail(new GatewayError('unavailable', 'The upstream does not read the frames fast enough.'), TRY_LATER)
      return
    }
    let frame = data
    if (this.guard && !isBinary) {
      try {
        frame = this.guard.request(data)
      } catch (thrown) {
        // The session goes on without it.
        this.tell(asGatewayError(thrown))
        return
      }
    }
    this.waiting++
    this.upstream.send(frame, { binary: isBinary }, this.sent)
  }

  private fromUpstream(data: Buffer, isBinary: boolean): void {
    const { client, exchange } = this
    if (this.isOver || client === undefined) return
    this.lastFrame = now()
    exchange.log.bytesOut += data.length
    if (this.answers && !isBinary) this.answers.write(`${inOneLine(data.toString('utf8'))}\n`)
    else client.send(data, isBinary)
    if (this.isOver) return
    if (!this.isHeld && client.buffered() > this.plan.highWater) {
      this.isHeld = true
      this.upstream.pause()
    }
    if (!isBinary) this.count(data)
  }

  /** Counts what a frame of text reports, or is. A frame that is not JSON passes like any other. */
  private count(data: Buffer): void {
    const { exchange, hold } = this
    const { usage, content } = this.binding.to.stream ?? {}
    const isReport = usage !== undefined && holdsAny(data, usage.markers)
    if (!isReport && (hold === undefined || content === undefined)) return
    try {
      const event: Json = JSON.parse(data.toString('utf8'))
      if (isReport) {
        const report = readUsage(usage.read, event)
        if (typeof report?.output === 'number') hold?.noteReport()
        addUsage(exchange.log, report)
      } else if (content?.(event)) hold?.noteFrame()
    } catch {
      return
    }
    if (!isReport || exchange.log.usage === undefined) return
    for (const lease of this.leases) lease?.note(exchange.log.usage)
    hold?.used(exchange.log.usage)
  }

  /** The server puts pongs behind the frames that wait, also for a client that only pings and never reads. */
  clientPinged(): void {
    const { client, plan } = this
    if (client !== undefined && client.buffered() > plan.highWater * 2 + plan.frame)
      this.fail(new GatewayError('unavailable', 'The client does not read the pongs that it asks for.'), TRY_LATER)
  }

  clientDrained(): void {
    if (!this.isHeld || (this.client as ClientSocket).buffered() > this.plan.highWater / 2) return
    this.isHeld = false
    this.upstream.resume()
  }

  clientClosed(code: number, reason: string): void {
    if (this.isOver) return
    this.over()
    // 1005 means a close frame without a code, 1006 none at all: neither may be sent.
    if (code === ABNORMAL || this.upstream.readyState !== WebSocket.OPEN) this.upstream.terminate()
    else if (maySend(code)) this.closeUpstream(code, reason)
    else this.closeUpstream()
  }

  /** Does not wait for a peer that ignores the close frame: the client gets its own. */
  private closeUpstream(code?: number, reason?: string): void {
    // Held-back frames are useless now, but the close frame comes after them.
    if (this.isHeld) this.upstream.resume()
    this.upstream.close(code, reason)
  }

  private upstreamClosed(code: number, reason: string): void {
    if (this.isOver || this.client === undefined) return
    if (code === ABNORMAL) {
      this.fail(new GatewayError('upstream', 'The connection to the upstream broke.'), FAILED)
      return
    }
    const { client } = this
    this.answers?.end()
    if (this.isOver) return
    this.over()
    client.end(maySend(code) || code === NO_STATUS ? code : FAILED, reason)
  }

  private upstreamFailed(error: Error): void {
    this.fail(new GatewayError('upstream', 'The connection to the upstream failed.', { cause: error }), FAILED)
  }

  /** Reports the error to the client in an event of its dialect, and closes both sockets. */
  private fail(error: GatewayError, code: number): void {
    const { client, exchange } = this
    if (this.isOver || client === undefined) return
    const { answers } = this
    this.answers = undefined
    // What was good before the failure goes first; it may be the worse one.
    answers?.end()
    if (this.isOver) return
    exchange.log.isPartial = true
    this.tell(error)
    this.over()
    client.end(code, error.message.slice(0, 100))
    this.upstream.terminate()
  }

  private tell(error: GatewayError): void {
    const { client, exchange } = this
    exchange.log.error = failureOf(error)
    client?.send(Buffer.from(JSON.stringify(errorEvent(this.binding.from, error, exchange.id))), false)
  }

  private over(): void {
    this.isOver = true
    // An answer was cut, so what was seen of it counts.
    if (this.hold !== undefined && this.hold.unreported > 0) this.exchange.log.isPartial = true
    unwatch(this)
    this.exchange.over()
  }
}
