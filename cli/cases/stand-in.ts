// What stands in for providers and services while the exchanges and scenarios of a folder are run: a server on a port of this
// machine, which notes what it is asked and answers as the case says.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayConfig } from '../../engine/snapshot/config.js'

/** What it was asked. */
export interface Asked {
  /** The upstream, or the call. */
  name: string
  method: string
  /** As it would be at the provider, with its query. */
  path: string
  headers: Readonly<Record<string, string>>
  body: string
}

export interface Answered {
  status: number
  headers: Readonly<Record<string, string>>
  /** A list is a stream: each piece is a write of its own. */
  body: string | readonly string[]
  /** Milliseconds before the status. */
  wait?: number
  /** Milliseconds before each piece. Default 2, so that each arrives alone. */
  delays?: readonly number[]
  /** Whether the connection breaks after the last piece; without pieces, before the status. */
  isCut?: boolean
}

export interface StandIn {
  /** The address at which it stands in for an upstream. */
  at(upstream: string): string
  /** A configuration whose upstreams and services are all here. */
  redirected(gateway: GatewayConfig, bases: Readonly<Record<string, string | undefined>>): GatewayConfig
  close(): Promise<void>
}

/** The longest body that it reads: bytes. */
const LARGEST = 64 * 1024 * 1024

/** Milliseconds. */
const USUAL_DELAY = 2
/** Milliseconds between the last piece and the end of the connection, so that the piece arrives. */
const BEFORE_CUT = 10

/** Begins each path: for whom it stands in. */
const UPSTREAM = '/upstream/'
const CALL = '/call/'

/** Listens on a free port. */
export async function startStandIn(answer: { upstream(asked: Asked): Answered; call(asked: Asked): Answered }): Promise<StandIn> {
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url ?? '/'
    const isCall = url.startsWith(CALL)
    const rest = url.slice((isCall ? CALL : UPSTREAM).length)
    const end = rest.search(/[/?]|$/)
    const asked = {
      name: decodeURIComponent(rest.slice(0, end)),
      method: request.method ?? 'GET',
      path: rest.slice(end) || '/',
      headers: request.headers as Record<string, string>,
      body: await bodyOf(request),
    }
    await give(response, isCall ? answer.call(asked) : answer.upstream(asked))
  }
  await listening(server)
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const at = (name: string): string => `${origin}${UPSTREAM}${encodeURIComponent(name)}`
  return {
    at,
    redirected: (gateway, bases) => ({
      ...gateway,
      upstreams: Object.fromEntries(
        Object.entries(gateway.upstreams).map(([name, one]) => [
          name,
          { ...one, base: at(name) + prefixOf(one.base ?? bases[one.provider]) },
        ]),
      ),
      proxies: Object.fromEntries(
        Object.entries(gateway.proxies ?? {}).map(([name, one]) => [name, { ...one, to: new URL(at(one.upstream)).pathname + one.to }]),
      ),
      calls: Object.fromEntries(
        Object.entries(gateway.calls ?? {}).map(([name, one]) => [name, { ...one, url: `${origin}${CALL}${encodeURIComponent(name)}` }]),
      ),
    }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Answers as the case says, and adds only what HTTP needs. */
export async function give(response: ServerResponse, answer: Answered): Promise<void> {
  const { status, headers, body, wait = 0, delays = [], isCut = false } = answer
  if (wait > 0) await sleep(wait, undefined, { ref: false })
  if (response.destroyed) return
  if (typeof body === 'string') {
    if (isCut) response.socket?.resetAndDestroy()
    else response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body)
    return
  }
  response.writeHead(status, { ...headers })
  response.flushHeaders()
  for (const [index, piece] of body.entries()) {
    await sleep(delays[index] ?? USUAL_DELAY, undefined, { ref: false })
    if (response.destroyed) return
    response.write(piece)
  }
  if (isCut) {
    await sleep(BEFORE_CUT, undefined, { ref: false })
    response.socket?.resetAndDestroy()
  } else response.end()
}

/** What stands before every path of a base, without a slash at its end. */
export function prefixOf(base: string | undefined): string {
  return base !== undefined && URL.canParse(base) ? new URL(base).pathname.replace(/\/$/, '') : ''
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
}

/** Reads a whole body. Throws where it is longer than any case needs. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > LARGEST) throw new Error('the body is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
