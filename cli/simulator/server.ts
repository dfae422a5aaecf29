// A simulated provider: speaks the dialects of `simulator/*.yaml` and behaves as a script says, well or badly. Equal
// requests get equal answers, byte for byte. Nothing here names a dialect.

import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isMultipart } from '../../engine/core/media-type.js'
import type { Catalogue } from '../../engine/plan.js'
import { factsFor } from '../../engine/snapshot/catalogue.js'
import { urlOf } from '../address.js'
import { dialects, home, type Match, match } from './dialects.js'
import { partsOf } from './form.js'
import { type Line, play, stop } from './play.js'
import type { RecordedRequest } from './recorded-request.js'
import { type Head, remembered, responder, type TraitsOf, type Validate } from './respond.js'
import { type Scripts, scenes } from './scenes.js'
import { sockets } from './socket.js'
import { tasks } from './tasks.js'

export type { RecordedRequest } from './recorded-request.js'
export type { Scripts } from './scenes.js'
export type { Script } from './script.js'

export type SimulatorOptions = {
  /** `127.0.0.1:0` picks a free port. */
  listen?: string
  /** A YAML file of scenarios. */
  scenarios?: string
  /** Whether to record requests in `requests`. */
  record?: boolean
  /** The error in a body, if there is one: the answer is 400 then. */
  validate?: Validate
  /** Another folder with `simulator/` and `schemas/`. */
  home?: string
}

export type Simulator = {
  url: string
  requests: RecordedRequest[]
  scenario(name: string, scripts: Scripts): void
  close(): Promise<void>
}

/** An option of the library that its types lack: without it two servers may share a port unnoticed. */
type Listening = { listen(host: string, port: number, options: number, listening: (socket: us_listen_socket | false) => void): void }
const EXCLUSIVE = 1

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const known = dialects(options.home)
  const cast = scenes(options.scenarios)
  const requests: RecordedRequest[] = []
  const matches = new Map<string, Match | string[]>()
  const begun = tasks()
  const respond = responder(cast, begun, options.validate, await catalogueTraits())
  const find = (method: string, path: string, query: string): Match | string[] =>
    remembered(matches, `${method} ${path}?${query}`, () => match(known, method, path, query))

  const app = uws.App()
  const record = (method: string, req: HttpRequest): RecordedRequest | undefined => {
    if (options.record !== true) return undefined
    const made = {
      method,
      path: req.getUrl(),
      query: req.getQuery() ?? '',
      headers: headersOf(req),
      body: '',
      at: Date.now(),
      aborted: false,
    }
    requests.push(made)
    return made
  }
  app.ws('/*', sockets({ find, cast, record }))
  app.any('/*', (res, req) => {
    // The request is invalid after this callback, so it is read here.
    const method = req.getCaseSensitiveMethod()
    const path = req.getUrl()
    const query = req.getQuery() ?? ''
    const head: Head = { type: req.getHeader('content-type'), range: req.getHeader('range'), base: `http://${req.getHeader('host')}` }
    const line: Line = { res, closed: false, timer: undefined, destroyed: false }
    const asked = record(method, req)
    res.onAborted(() => {
      line.closed = true
      if (asked) asked.aborted = !line.destroyed
      stop(line)
    })
    collect(res, body => {
      if (asked) {
        const parts = isMultipart(head.type) ? partsOf(body, head.type) : undefined
        if (parts) asked.parts = parts
        else asked.body = body.toString()
      }
      const found = find(method, path, query)
      if (Array.isArray(found)) unknown(res, method, path, found)
      else play(respond(found, path, head, body), line)
    })
  })

  const { host, port } = address(options.listen ?? '127.0.0.1:0')
  const socket = await new Promise<us_listen_socket | false>(resolve => {
    ;(app as unknown as Listening).listen(host, port, EXCLUSIVE, resolve)
  })
  if (!socket) throw new Error(`cannot listen on ${host}:${port}`)

  return {
    url: urlOf(host, uws.us_socket_local_port(socket)),
    requests,
    scenario: cast.bind,
    async close() {
      // Closes every connection, also of stalled streams; `onAborted` tells each of them.
      app.close()
    },
  }
}

/** The catalogue's traits of models, from any provider; empty without generated data. */
async function catalogueTraits(): Promise<TraitsOf> {
  const file = join(home(), 'generated', 'models.js')
  if (!existsSync(file)) return () => ({})
  const { catalogue } = (await import(pathToFileURL(file).href)) as { catalogue: Catalogue }
  return model => remembered(knownTraits, model, () => factsFor(catalogue, '', model).traits ?? {})
}

const knownTraits = new Map<string, Readonly<Record<string, unknown>>>()

/** A chunk's bytes belong to the library again after its callback. */
function collect(res: HttpResponse, whole: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  res.onData((chunk, last) => {
    if (last && chunks.length === 0) return whole(Buffer.from(chunk))
    chunks.push(Buffer.from(chunk.slice(0)))
    if (last) whole(Buffer.concat(chunks))
  })
}

function headersOf(req: HttpRequest): Record<string, string> {
  const headers: Record<string, string> = {}
  req.forEach((name, value) => {
    headers[name] = value
  })
  return headers
}

/** Answers an unknown path or method; no dialect defines this error. */
function unknown(res: HttpResponse, method: string, path: string, others: string[]): void {
  const status = others.length > 0 ? '405 Method Not Allowed' : '404 Not Found'
  res.cork(() => {
    res.writeStatus(status)
    if (others.length > 0) res.writeHeader('allow', others.join(', '))
    if (method === 'HEAD') return res.endWithoutBody()
    return res
      .writeHeader('content-type', 'application/json')
      .end(JSON.stringify({ error: { message: `The simulator does not answer ${method} ${path}.` } }))
  })
}

function address(listen: string): { host: string; port: number } {
  const [, host, port] = /^(?:(.*):)?(\d+)$/.exec(listen) ?? []
  if (port === undefined) throw new Error(`not an address to listen on: ${listen}`)
  return { host: (host ?? '').replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: Number(port) }
}
