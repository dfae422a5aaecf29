// An upstream that fails as a scenario says, on real connections: they are reset, fall silent and end early. The content in
// between is the simulator's, in the dialect of the request. It uses Node's HTTP server, because the simulator's cannot
// reset a connection.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { jsonOrText } from '../json.js'
import type { Answer } from '../simulator/answer.js'
import { type Dialect, dialects, match } from '../simulator/dialects.js'
import { filledScript } from '../simulator/grammar.js'
import { asksForStream, responder } from '../simulator/respond.js'
import type { Script } from '../simulator/script.js'
import { tasks } from '../simulator/tasks.js'
import type { Fault } from './scenarios.js'

/** One request to an upstream, and its answer. */
export interface Call {
  /** The upstream's name in the gateway's configuration. */
  upstream: string
  fault: Fault
  /** Undefined if no dialect has the path. */
  dialect: Dialect | undefined
  method: string
  path: string
  headers: Record<string, string>
  body: string
  /** The bytes that were sent before the fault; without a fault the whole answer. */
  said: string
}

/** The next action of the upstream with this name, for a request with this body. */
type Next = (upstream: string, streams: boolean, body: string) => Fault

export interface FaultyUpstream {
  /** The base URL of an upstream of a case: requests below it belong to the case. */
  baseOf(id: string, upstream: string): string
  /** Begins a case; its calls are added to the returned list, unless `isKept` is false. */
  open(id: string, next: Next, isKept?: boolean): Call[]
  close(id: string): void
  stop(): Promise<void>
}

/** Milliseconds that written bytes get to arrive before the connection is reset. */
const ARRIVAL = 15

/**
 * Starts the upstream on a free loopback port.
 *
 * @param home the folder with `simulator/` and `schemas/`
 */
export async function startFaultyUpstream(home: string): Promise<FaultyUpstream> {
  const known = dialects(home)
  const open = new Map<string, { next: Next; calls: Call[]; isKept: boolean }>()
  let script = filledScript({})
  // The responder looks its script up synchronously, so it finds the one that was set just before.
  const respond = responder({ bind: () => undefined, find: () => script }, tasks(), undefined)

  const server = createServer(async (request, response) => {
    response.on('error', () => undefined)
    const url = new URL(request.url ?? '/', 'http://upstream')
    const [, id = '', upstream = '', ...rest] = url.pathname.split('/')
    const path = `/${rest.join('/')}`
    const body = await bodyOf(request).catch(() => undefined)
    const opened = open.get(decodeURIComponent(id))
    if (body === undefined || opened === undefined) {
      request.socket.destroy()
      return
    }
    const method = request.method ?? ''
    const found = match(known, method, path, url.search.slice(1))
    const matched = Array.isArray(found) ? undefined : found
    const streams =
      matched !== undefined && (matched.path.stream ?? asksForStream(matched.dialect, jsonOrText(body.toString()), matched.query))
    const text = body.toString('utf8')
    const fault = opened.next(decodeURIComponent(upstream), streams, text)
    const call: Call = {
      upstream: decodeURIComponent(upstream),
      fault,
      dialect: matched?.dialect,
      method,
      path: path + url.search,
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      body: text,
      said: '',
    }
    if (opened.isKept) opened.calls.push(call)
    if (matched === undefined) {
      response.writeHead(404).end()
      return
    }
    script = filledScript(scriptOf(fault, matched.dialect))
    const head = { type: String(request.headers['content-type']), range: '', base: '' }
    await play(respond(matched, path, head, body), fault, call, request, response)
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    baseOf: (id, upstream) => `http://127.0.0.1:${port}/${encodeURIComponent(id)}/${encodeURIComponent(upstream)}`,
    open(id, next, isKept = true) {
      const calls: Call[] = []
      open.set(id, { next, calls, isKept })
      return calls
    },
    close: id => void open.delete(id),
    async stop() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** The simulator's part of a fault. */
function scriptOf({ reset, hang, short, refusal, as, hidden, fails, breaks, final, ...script }: Fault, dialect: Dialect): Script {
  if (refusal === undefined) return script
  const error = dialect.refusals[refusal]
  if (error === undefined) throw new Error(`simulator/${dialect.name}.yaml has no refusals.${refusal}`)
  return { ...script, status: 400, error }
}

async function play(answer: Answer, fault: Fault, call: Call, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { socket } = request
  if (fault.hang === 'before') return
  if (fault.reset === 'before') {
    socket.resetAndDestroy()
    return
  }
  if (answer.delay > 0) await wait(answer.delay)
  const whole = Buffer.concat(answer.pieces)
  for (const [name, value] of answer.headers) response.setHeader(name, value)
  if (fault.short) response.setHeader('content-length', whole.length * 2)
  else if (answer.sized) response.setHeader('content-length', whole.length)
  response.writeHead(fault.as ?? Number(answer.status.split(' ')[0]))
  response.flushHeaders()
  if (fault.hang === 'after') return
  if (fault.reset === 'after') {
    await wait(ARRIVAL)
    socket.resetAndDestroy()
    return
  }
  for (const [index, piece] of answer.pieces.entries()) {
    const time = answer.waits[Math.min(index, answer.waits.length - 1)] ?? 0
    if (time > 0) await wait(time)
    if (socket.destroyed) return
    response.write(piece)
    call.said += piece.toString('utf8')
  }
  if (fault.short) {
    await wait(ARRIVAL)
    socket.end()
  } else if (answer.then === 'destroy') {
    await wait(ARRIVAL)
    socket.resetAndDestroy()
  } else if (answer.then === 'end') response.end()
}
