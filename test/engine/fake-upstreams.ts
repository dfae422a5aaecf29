// Upstreams that do what a test defines, a gateway in front of them, and clients: the set-up of the tests of the engine's
// guarantees.

import { connect, type Socket } from 'node:net'
import { afterAll } from 'vitest'
import { startGateway, type TestGateway } from '../harness.js'
import { PATIENCE, settle, sleep, still } from '../polling.js'
import { type Dialect, dialects, type Pair } from './dialects.js'
import { type Script, startUpstream, type Upstream } from './upstream.js'

export { settle, sleep, still }

export const SECRET = 'upstream-secret-1234'

// Closed together at the end of a file, since its tests run side by side.
const open: { close(): Promise<unknown> }[] = []
afterAll(async () => {
  await Promise.all(open.splice(0).map(one => one.close()))
})

export function closing<One extends { close(): Promise<unknown> }>(one: One): One {
  open.push(one)
  return one
}

export interface Stage {
  gateway: TestGateway
  upstreams: Upstream[]
}

/** An ejection outlasts the requests of a test, on a busy machine, too. */
const health = { base_ejection_time: '10m', max_ejection_time: '10m' }

/** One model, `m`, with a target for each script, in their order; a script may also be an upstream that is there already. */
export async function setUp(
  scripts: readonly (Script | Upstream)[],
  more: Record<string, unknown> = {},
  provider = 'openai',
): Promise<Stage> {
  const upstreams = await Promise.all(
    scripts.map(async script => (typeof script === 'function' ? closing(await startUpstream(script)) : script)),
  )
  const gateway = closing(
    await startGateway({
      upstreams: Object.fromEntries(upstreams.map(({ url }, index) => [`up${index}`, { provider, base: url, secret: SECRET, health }])),
      models: { m: { targets: upstreams.map((_, index) => ({ upstream: `up${index}`, priority: index + 1 })) } },
      ...more,
    }),
  )
  return { gateway, upstreams }
}

/** The same in the dialects of a pair. */
export const setUpPair = (pair: Pair, scripts: readonly (Script | Upstream)[], more: Record<string, unknown> = {}): Promise<Stage> =>
  setUp(scripts, more, pair.upstream.provider)

export interface Asked {
  dialect?: Dialect
  stream?: boolean
  model?: string
  signal?: AbortSignal
  headers?: Record<string, string>
  body?: string
}

export function ask(
  gateway: { url: string },
  { dialect = dialects.chat, stream = false, model, signal, headers, body }: Asked = {},
): Promise<Response> {
  return fetch(gateway.url + dialect.path(stream, model), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...dialect.headers, ...headers },
    body: body ?? JSON.stringify(dialect.body(stream, model)),
    ...(signal && { signal }),
  })
}

/** The lines of the access log, once there are so many. */
export async function requestLines(gateway: TestGateway, count = 1): Promise<Record<string, unknown>[]> {
  const until = performance.now() + PATIENCE
  for (;;) {
    const lines = gateway.log.filter(line => line.msg === 'request')
    if (lines.length >= count || performance.now() > until) return lines
    await sleep(20)
  }
}

/** A client of bytes. */
export interface Wire {
  socket: Socket
  /** What was received. */
  text(): string
  length(): number
  isClosed(): boolean
  write(text: string): void
  /** Waits until what was received matches. */
  until(pattern: RegExp): Promise<string>
  closed: Promise<void>
}

export async function dial(gateway: { url: string }): Promise<Wire> {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let text = ''
  let length = 0
  let isClosed = false
  const closed = new Promise<void>(done =>
    socket.on('close', () => {
      isClosed = true
      done()
    }),
  )
  socket.on('error', () => undefined)
  socket.on('data', part => {
    length += part.length
    text += part.toString('latin1')
  })
  closing({
    close: async () => {
      socket.destroy()
    },
  })
  return {
    socket,
    text: () => text,
    length: () => length,
    isClosed: () => isClosed,
    write: part => void socket.write(part, 'latin1'),
    async until(pattern) {
      const end = performance.now() + PATIENCE
      while (!pattern.test(text)) {
        if (isClosed || performance.now() > end)
          throw new Error(`${isClosed ? 'closed' : 'too late'} before ${String(pattern)}; received ${JSON.stringify(text.slice(-300))}`)
        await sleep(10)
      }
      return text
    },
    closed,
  }
}

/** Writes a piece again and again, as fast as it is taken, until the connection is closed; gives the bytes, `most` at most. */
export async function flood({ socket, isClosed, closed }: Wire, piece: string, most = 10 ** 9): Promise<number> {
  let sent = 0
  while (!isClosed() && sent < most) {
    sent += piece.length
    if (!socket.write(piece, 'latin1')) await Promise.race([closed, new Promise(done => socket.once('drain', done))])
  }
  return sent
}

/** A request as bytes. */
export function bytesOf(path: string, headers: Record<string, string>, body = '', method = 'POST'): string {
  const lines = Object.entries({ host: 'gateway', ...headers, ...(body !== '' && { 'content-length': String(Buffer.byteLength(body)) }) })
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}

export const statusesIn = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

/** Files beside gateway.yaml: a provider that speaks responses alone, so that all other clients are translated. */
export const ONLY_RESPONSES = {
  'providers/only_responses.yaml':
    'title: Responses alone\nbase: http://127.0.0.1:9\ncredential: { header: authorization }\nspeaks: { responses: /v1/responses }\n',
}
