// The server. Turns the callbacks of uWebSockets.js into exchanges and sockets. A request's `req` is invalid after the
// callback, so all of it is read before. Every error becomes an answer of the route's dialect here, in one place.

import './head-size.js'
import uws, { type HttpRequest, type TemplatedApp, type us_listen_socket, type us_socket_context_t } from 'uWebSockets.js'
import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { IndexedSet } from '../core/indexed-set.js'
import { failureOf } from '../core/log.js'
import type { Found, OtherMethods, RequestHead, Route, Snapshot } from '../snapshot/model.js'
import { notFound } from '../snapshot/near-path.js'
import { presentedKey } from '../snapshot/presented-key.js'
import { type Answering, headerText, reasonText, type Talking } from './bytes.js'
import type { BodyMemory } from './held-body.js'
import { HttpExchange } from './http-exchange.js'
import type { ClientSocket, SocketRelay } from './sockets.js'
import { SpareCork } from './upgrade-cork.js'

export interface ServerOptions {
  host: string
  port: number
  /** Several processes listen on the same port. */
  isShared: boolean
  /** How many connections may be open at once, so that each leaves a file descriptor for its connection to a provider. */
  connections: number
  /** The memory that the bodies of all requests under way may hold together: bytes. */
  bodies: number
  /** The current snapshot; each exchange keeps the one it began with. */
  snapshot(): Snapshot
  /** Handle requests and sockets. Both throw the error that the client gets. */
  handle(route: Route, exchange: Exchange, snapshot: Snapshot): Promise<void>
  connect(route: Route, exchange: Exchange, snapshot: Snapshot): Promise<SocketRelay>
  /** Called once for each exchange, when it has ended. */
  onOver(exchange: Exchange, total: number): void
}

export interface Server {
  host: string
  port: number
  /** Exchanges under way. */
  live(): Exchange[]
  /** Clients' sockets that are open, and the bytes that bodies of requests hold. */
  held(): { sockets: number; bodyBytes: number }
  /**
   * Reports itself as not ready but serves for `drain` milliseconds; then stops accepting, waits up to `grace` milliseconds
   * for the exchanges under way, and ends the rest.
   */
  close(grace: number, drain: number): Promise<void>
}

/** The state of a running server. */
interface Running {
  options: ServerOptions
  live: IndexedSet<HttpExchange>
  spare: SpareCork
  memory: BodyMemory
  connections: number
  sockets: number
  isDraining: boolean
  isClosing: boolean
}

const EXCLUSIVE = 1
/** The largest frame of any socket: bytes. Each route sets a limit of its own below it. */
const LARGEST_FRAME = 64 * 1024 * 1024
/** Seconds of silence after which a client's socket is closed; uWebSockets.js sends pings before. */
const DEAD_AFTER = 120

/** Rejects with an error if the address cannot be listened on. */
export function serve(options: ServerOptions): Promise<Server> {
  const running: Running = {
    options,
    live: new IndexedSet(),
    spare: new SpareCork(),
    memory: { most: options.bodies, held: 0 },
    connections: 0,
    sockets: 0,
    isDraining: false,
    isClosing: false,
  }
  const app = uws.App()
  app.filter(countConnections(running))
  app.ws<Side>('/*', {
    maxPayloadLength: LARGEST_FRAME,
    maxBackpressure: LARGEST_FRAME * 2,
    idleTimeout: DEAD_AFTER,
    sendPingsAutomatically: true,
    upgrade: (res, req, context) => acceptSocket(res, req, context, running),
    open: ws => {
      running.sockets++
      ws.getUserData().relay.begin(clientSocket(ws))
    },
    message: (ws, message, isBinary) => ws.getUserData().relay.fromClient(Buffer.from(new Uint8Array(message)), isBinary),
    ping: ws => ws.getUserData().relay.clientPinged(),
    drain: ws => ws.getUserData().relay.clientDrained(),
    close: (ws, code, message) => {
      // The filter does not report the close of a connection that became a socket.
      running.connections--
      running.sockets--
      ws.getUserData().relay.clientClosed(code, Buffer.from(message).toString('utf8'))
    },
  })
  app.any('/*', (res, req) => accept(res, req, running))
  let closed: Promise<void> | undefined
  return new Promise((resolve, reject) => {
    const listening = (socket: us_listen_socket | false): void => {
      if (!socket) {
        reject(new Error(`cannot listen on ${options.host}:${options.port}`))
        return
      }
      resolve({
        host: options.host,
        port: uws.us_socket_local_port(socket),
        live: () => running.live.all(),
        held: () => ({ sockets: running.sockets, bodyBytes: running.memory.held }),
        close(grace, drain) {
          closed ??= close(app, socket, running, grace, drain)
          return closed
        },
      })
    }
    // The library's types cover only some of the overloads of `listen`.
    ;(app.listen as unknown as (host: string, port: number, flags: number, callback: typeof listening) => void).call(
      app,
      options.host,
      options.port,
      options.isShared ? 0 : EXCLUSIVE,
      listening,
    )
  })
}

/** Called when a connection opens (1) and closes (-1). Closes a connection over the limit at once. */
function countConnections(running: Running): Parameters<TemplatedApp['filter']>[0] {
  return (res, change) => {
    running.connections += Number(change)
    if (Number(change) > 0 && running.connections > running.options.connections) res.close()
  }
}

/** Call it only once: the listening socket does not exist after the first call. */
async function close(app: TemplatedApp, socket: us_listen_socket, running: Running, grace: number, drain: number): Promise<void> {
  running.isDraining = true
  if (drain > 0) await new Promise(done => setTimeout(done, drain))
  uws.us_listen_socket_close(socket)
  running.isClosing = true
  const until = now() + grace
  while (running.live.size > 0 && now() < until) await new Promise(done => setTimeout(done, 20))
  for (const exchange of running.live.all()) exchange.endWith(goingDown())
  // Bytes that were just written need time to leave.
  await new Promise(done => setTimeout(done, 50))
  running.spare.close()
  app.close()
}

const goingDown = (): GatewayError => new GatewayError('unavailable', 'The gateway is shutting down.', { headers: { connection: 'close' } })

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze({})

function parseQuery(text: string): Readonly<Record<string, string>> {
  return text === '' ? NO_QUERY : Object.fromEntries(new URLSearchParams(text))
}

/** The head of a request, and the reason why the rest of the request must not be read (RFC 9112, 6.3), if there is one. */
function headOf(req: HttpRequest, snapshot: Snapshot): { head: RequestHead; fault: string | undefined } {
  const headers: Record<string, string> = {}
  let fault: string | undefined
  req.forEach((name, value) => {
    if (!Object.hasOwn(headers, name)) headers[name] = value
    else if (snapshot.singleHeaders.has(name)) fault = `The request has more than one ${name} header.`
    else headers[name] = `${headers[name]}, ${value}`
  })
  // RFC 9112, 6.3; the server's library takes it for 0.
  if (headers['content-length'] === '') fault = 'The content-length header is empty.'
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') fault = 'The only supported transfer encoding is chunked.'
  const queryText = req.getQuery() ?? ''
  const query = parseQuery(queryText)
  const head: RequestHead = {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query,
    queryText,
    headers,
    hasKeyIn: locations => presentedKey(locations, snapshot.plan.keyLocations, headers, query) !== undefined,
  }
  return { head, fault }
}

/** Makes the exchange of a request, routed or not, from the current snapshot. */
function begin(
  res: Answering,
  req: HttpRequest,
  running: Running,
): { exchange: HttpExchange; found: Found | OtherMethods | undefined; snapshot: Snapshot; refusal: GatewayError | undefined } {
  const snapshot = running.options.snapshot()
  const { head, fault } = headOf(req, snapshot)
  const found = snapshot.router(head)
  const { errors: dialect } = found?.route ?? snapshot
  const exchange = new HttpExchange(res, head, found?.kind === 'route' ? found.params : NO_QUERY, dialect, running.memory, over => {
    running.live.remove(over)
    snapshot.left()
    running.options.onOver(over, now() - over.began)
  })
  if (snapshot.crossOrigin) exchange.answerHeaders = snapshot.crossOrigin.answer(head.headers.origin)
  exchange.exposes = snapshot.exposes
  const isUnready = running.isDraining && isLeaving(exchange, found, running)
  running.live.add(exchange)
  snapshot.entered()
  if (found?.kind === 'route') exchange.log.route = found.route
  const refusal = fault === undefined ? undefined : new GatewayError('invalid_request', fault)
  if (refusal) exchange.mustClose = true
  return { exchange, found, snapshot, refusal: refusal ?? (running.isClosing || isUnready ? goingDown() : undefined) }
}

/**
 * Tells the client of a draining gateway to open its next connection elsewhere. Returns whether the request asks for
 * readiness.
 */
function isLeaving(exchange: HttpExchange, found: Found | OtherMethods | undefined, { isClosing }: Running): boolean {
  // The refusal of a readiness check carries `connection: close` itself.
  if (found?.kind === 'route' && found.route.isReadiness) return true
  if (!isClosing) exchange.answerHeaders = { ...exchange.answerHeaders, connection: 'close' }
  return false
}

function accept(res: Answering, req: HttpRequest, running: Running): void {
  const { exchange, found, snapshot, refusal } = begin(res, req, running)
  if (refusal) exchange.endWith(refusal)
  else run(running.options, found, exchange, snapshot)
  exchange.listen()
}

function run({ handle }: ServerOptions, found: Found | OtherMethods | undefined, exchange: HttpExchange, snapshot: Snapshot): void {
  const { method, headers } = exchange
  const permission = snapshot.crossOrigin?.permission(method, headers, found?.kind === 'other methods' ? found.allow : [])
  if (permission) exchange.send(200, permission, '')
  else if (found?.kind === 'route') handle(found.route, exchange, snapshot).catch((thrown: unknown) => end(exchange, thrown))
  else end(exchange, found === undefined ? notFound(exchange, snapshot) : otherMethod(found, exchange))
}

/** Reports an error to the client and to the log. */
function end(exchange: HttpExchange, thrown: unknown): void {
  // Nobody waits for it, and nothing failed.
  if (exchange.isEnded) return
  const error = asGatewayError(thrown)
  exchange.log.error = { ...failureOf(error), reason: reasonOf(error.more) }
  exchange.endWith(error)
}

/** What a refusal is for, if its kind does not say it. */
function reasonOf({ reason, param }: GatewayError['more']): string | undefined {
  if (reason !== undefined || param === undefined) return reason
  return param === 'model' ? 'model' : 'parameter'
}

function otherMethod(other: OtherMethods, exchange: Exchange): GatewayError {
  return new GatewayError('method_not_allowed', `${exchange.path} does not take ${exchange.method}.`, {
    headers: { allow: other.allow.join(', ') },
  })
}

// Sockets --------------------------------------------------------------------------------------------------------

/** The data that uWebSockets.js keeps for a client's socket. */
interface Side {
  relay: SocketRelay
}

/** Connects the upstream's socket first, then the client's: until both are open, a refusal is an ordinary HTTP answer. */
function acceptSocket(res: Answering, req: HttpRequest, context: us_socket_context_t, running: Running): void {
  const key = req.getHeader('sec-websocket-key')
  const offered = req.getHeader('sec-websocket-protocol')
  const extensions = req.getHeader('sec-websocket-extensions')
  const { exchange, found, snapshot, refusal } = begin(res, req, running)
  if (refusal) {
    exchange.endWith(refusal)
    return
  }
  const route = found?.kind === 'route' ? found.route : undefined
  if (route?.relay === undefined) {
    // The route has no socket. HTTP lets a server ignore the request for an upgrade.
    run(running.options, found, exchange, snapshot)
    exchange.listen()
    return
  }
  const protocol = offered.split(',').some(item => item.trim() === route.relay?.subprotocol) ? (route.relay.subprotocol as string) : ''
  Promise.all([running.options.connect(route, exchange, snapshot), running.spare.ready()]).then(
    ([relay]) => {
      if (exchange.isEnded) return relay.clientClosed(1006, '')
      exchange.detach()
      exchange.log.status = 101
      running.spare.around(() =>
        res.cork(() => res.upgrade<Side>({ relay }, headerText(key), headerText(protocol), headerText(extensions), context)),
      )
    },
    thrown => end(exchange, thrown),
  )
  exchange.listen()
}

function clientSocket(ws: Talking<Side>): ClientSocket {
  return {
    send: (data, isBinary) => ws.send(data, isBinary) === 1,
    buffered: () => ws.getBufferedAmount(),
    end: (code, reason) => ws.end(code, reasonText(reason)),
  }
}
