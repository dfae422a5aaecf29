// The only file that knows uWebSockets.js. Turns its callbacks into exchanges, and what the stages do with an exchange
// into its calls. A request's `req` is dead after the callback: everything in it is read before.

import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js'
import { randomBytes } from 'node:crypto'
import { presentedKey } from './admit.js'
import { type Deadline, now, unwatch, watch } from './deadlines.js'
import { asGatewayError, GatewayError, renderError } from './errors.js'
import type { Exchange, Facts, Sink } from './exchange.js'
import { handle } from './gateway.js'
import { describeCause } from './places.js'
import type { Dialect } from './plan.js'
import type { OtherMethods, RequestHead } from './routing.js'
import type { Route, World } from './world.js'

export interface ServerOptions {
  host: string
  port: number
  /** Several processes share the port. */
  isShared: boolean
  /** The world of the moment; each exchange keeps the one it began with. */
  world(): World
  /** Called once for each exchange, when it is over. */
  onOver(call: Exchange, total: number): void
}

export interface Server {
  host: string
  port: number
  /** Stops accepting, waits for exchanges up to `grace` milliseconds, then ends those that are left. */
  close(grace: number): Promise<void>
}

const EXCLUSIVE = 1

/** Rejects with an error where the address cannot be listened on. */
export function serve(options: ServerOptions): Promise<Server> {
  const live = new Set<Exchange>()
  const app = uws.App()
  app.any('/*', (res, req) => accept(res, req, options, live))
  return new Promise((resolve, reject) => {
    const listening = (socket: us_listen_socket | false): void => {
      if (!socket) {
        reject(new Error(`cannot listen on ${options.host}:${options.port}`))
        return
      }
      resolve({
        host: options.host,
        port: uws.us_socket_local_port(socket),
        async close(grace) {
          uws.us_listen_socket_close(socket)
          const until = now() + grace
          while (live.size > 0 && now() < until) await new Promise(done => setTimeout(done, 20))
          for (const call of live) call.endWith(new GatewayError('unavailable', 'The gateway is shutting down.'))
          // What was just written still has to leave.
          await new Promise(done => setTimeout(done, 50))
          app.close()
        },
      })
    }
    // The types know only some of the forms that listen has.
    ;(app.listen as unknown as (host: string, port: number, flags: number, callback: typeof listening) => void).call(
      app,
      options.host,
      options.port,
      options.isShared ? 0 : EXCLUSIVE,
      listening,
    )
  })
}

/** How much of a body that nobody wants is still read so that the connection can be used again: bytes. */
const LONG_REST = 1024 * 1024
/** uWebSockets.js ends a connection on which nothing moved for ten seconds, also where we hold it: a sign of life. */
const TOUCH = 2_000

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze({})
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

function parseQuery(text: string): Readonly<Record<string, string>> {
  return text === '' ? NO_QUERY : Object.fromEntries(new URLSearchParams(text))
}

function accept(res: HttpResponse, req: HttpRequest, options: ServerOptions, live: Set<Exchange>): void {
  const world = options.world()
  const headers: Record<string, string> = {}
  req.forEach((name, value) => {
    headers[name] = value
  })
  const rawQuery = req.getQuery() ?? ''
  const query = parseQuery(rawQuery)
  const head: RequestHead = {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query,
    headers,
    hasKeyIn: places => presentedKey(places, world.plan.places, headers, query) !== undefined,
  }
  const found = world.router(head)
  const route = found && 'params' in found ? found.route : undefined
  const dialect = world.plan.dialects[(found?.route ?? world.plan.routes[0])?.dialect as string] as Dialect
  const call = createExchange(res, head, rawQuery, found && 'params' in found ? found.params : NO_QUERY, dialect, options, live)
  if (route) call.log.route = route
  void run(route, found, call, world)
}

async function run(
  route: Route | undefined,
  found: { route: Route } | OtherMethods | undefined,
  call: Exchange,
  world: World,
): Promise<void> {
  try {
    if (route === undefined) throw unrouted(found as OtherMethods | undefined, call)
    await handle(route, call, world)
  } catch (thrown) {
    const error = asGatewayError(thrown)
    call.log.error = { kind: error.kind, message: error.message, ...(error.cause !== undefined && { cause: describeCause(error.cause) }) }
    call.endWith(error)
  }
}

function unrouted(found: OtherMethods | undefined, call: Exchange): GatewayError {
  if (found === undefined) return new GatewayError('not_found', `There is no ${call.path} here.`, { code: 'unknown_url' })
  return new GatewayError('method_not_allowed', `${call.path} does not take ${call.method}.`, {
    headers: { allow: found.allow.join(', ') },
  })
}

function createExchange(
  res: HttpResponse,
  head: RequestHead,
  rawQuery: string,
  params: Readonly<Record<string, string>>,
  dialect: Dialect,
  options: ServerOptions,
  live: Set<Exchange>,
): Exchange {
  const began = now()
  const aborts: (() => void)[] = []
  const endings: ((failure: GatewayError) => void)[] = []
  let isAborted = false
  let hasBegun = false
  let isOver = false
  let chunks: Buffer[] = []
  let length = 0
  let isWhole = false
  let limit = Number.POSITIVE_INFINITY
  let wake: (() => void) | undefined

  const over = (): void => {
    if (isOver) return
    isOver = true
    live.delete(call)
    options.onOver(call, now() - began)
  }

  res.onAborted(() => {
    isAborted = true
    if (!isOver) {
      if (call.log.status === 0) call.log.status = 499
      call.log.isPartial = true
    }
    for (const run of aborts) run()
    wake?.()
    over()
  })
  let touched = began
  res.onData((chunk, isLast) => {
    length += chunk.byteLength
    if (!isLast && now() - touched > TOUCH) {
      touched = now()
      res.pause()
      res.resume()
    }
    // The bytes belong to the server again after this call.
    if (length <= limit && !hasBegun) chunks.push(copyOf(chunk))
    else chunks = []
    isWhole = isLast
    if (isLast || length > limit) wake?.()
  })

  const call: Exchange = {
    id: newId(),
    method: head.method,
    path: head.path,
    rawQuery,
    query: head.query,
    headers: head.headers,
    params,
    began,
    startedAt: Date.now(),
    log: { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 } satisfies Facts,
    isAborted: () => isAborted,
    onAbort(run) {
      if (isAborted) run()
      else aborts.push(run)
    },
    onEnding(run) {
      endings.push(run)
    },
    endWith(failure) {
      if (isAborted || isOver) return
      for (const run of endings) run(failure)
      if (isOver) return
      if (!hasBegun) {
        const { status, headers, body } = renderError(dialect, failure, call.id)
        call.send(status, headers, body)
      } else {
        res.close()
      }
      for (const run of aborts) run()
    },
    async body(most) {
      limit = most
      const declared = Number(head.headers['content-length'])
      if (declared > most || length > most) throw tooLarge(most)
      if (!isWhole) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
        wake = undefined
      }
      if (isAborted) throw new GatewayError('invalid_request', 'The client went away.')
      if (length > most) throw tooLarge(most)
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
      chunks = []
      return body
    },
    send(status, headers, body) {
      if (isAborted || isOver) return
      hasBegun = true
      call.log.status = status
      call.log.bytesOut = typeof body === 'string' ? Buffer.byteLength(body) : body.length
      call.log.firstByte = now() - began
      res.cork(() => {
        writeHead(res, status, headers, call.id)
        if (head.method === 'HEAD') res.endWithoutBody(call.log.bytesOut)
        // What is still on its way of a body that nobody reads would be taken for the next request.
        else res.end(body, !isWhole && (status === 413 || Number(head.headers['content-length'] ?? 0) > LONG_REST))
      })
      over()
    },
    open(status, headers) {
      hasBegun = true
      call.log.status = status
      return openSink(
        res,
        call,
        () => isAborted,
        over,
        () => writeHead(res, status, headers, call.id),
      )
    },
  }
  live.add(call)
  return call
}

/** A copy in pooled memory: an ArrayBuffer of its own costs more than the bytes. */
function copyOf(chunk: ArrayBuffer): Buffer {
  const copy = Buffer.allocUnsafe(chunk.byteLength)
  copy.set(new Uint8Array(chunk))
  return copy
}

function tooLarge(most: number): GatewayError {
  return new GatewayError('too_large', `The request body is larger than ${most} bytes.`)
}

function writeHead(res: HttpResponse, status: number, headers: Readonly<Record<string, string>>, id: string): void {
  res.writeStatus(STATUS_LINES[status] ?? String(status))
  res.writeHeader('x-request-id', id)
  for (const name in headers) res.writeHeader(name, headers[name] as string)
}

function openSink(res: HttpResponse, call: Exchange, isAborted: () => boolean, over: () => void, head: () => void): Sink {
  let drain: (() => void) | undefined
  let isDone = false
  res.onWritable(() => {
    unwatch(held)
    drain?.()
    return true
  })
  // A client that reads slowly is not one that has gone; the whole time that an answer may take bounds it.
  const held: Deadline = {
    due: Number.POSITIVE_INFINITY,
    fire() {
      if (isAborted() || isDone) return unwatch(held)
      res.pause()
      res.resume()
      held.due = now() + TOUCH
    },
  }
  let isHeadWritten = false
  const count = (chunk: Buffer | string): void => {
    if (call.log.firstByte === undefined) call.log.firstByte = now() - call.began
    call.log.bytesOut += typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length
  }
  const sink: Sink = {
    write(chunk) {
      if (isAborted() || isDone) return true
      count(chunk)
      let isTaken = true
      res.cork(() => {
        if (!isHeadWritten) {
          isHeadWritten = true
          head()
        }
        isTaken = res.write(chunk)
      })
      if (!isTaken) {
        held.due = now() + TOUCH
        watch(held)
      }
      return isTaken
    },
    end(chunk) {
      if (isAborted() || isDone) return
      isDone = true
      if (chunk !== undefined) count(chunk)
      res.cork(() => {
        if (!isHeadWritten) {
          isHeadWritten = true
          head()
        }
        // `end` with a body would be a whole answer with a length, which a stream is not.
        if (chunk !== undefined) res.write(chunk)
        res.end()
      })
      over()
    },
    destroy() {
      if (isAborted() || isDone) return
      isDone = true
      res.close()
      over()
    },
    onDrain(resume) {
      drain = resume
    },
  }
  return sink
}

const STATUS_LINES: Readonly<Record<number, string>> = Object.freeze({
  200: '200 OK',
  201: '201 Created',
  204: '204 No Content',
  206: '206 Partial Content',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  402: '402 Payment Required',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  409: '409 Conflict',
  413: '413 Payload Too Large',
  415: '415 Unsupported Media Type',
  429: '429 Too Many Requests',
  499: '499 Client Closed Request',
  500: '500 Internal Server Error',
  501: '501 Not Implemented',
  502: '502 Bad Gateway',
  503: '503 Service Unavailable',
  504: '504 Gateway Timeout',
  529: '529 Overloaded',
})
