// An upstream that is nobody's: it speaks the dialects of `simulator/*.yaml` and says what a script tells it to, well or badly.
// The same request has the same answer, byte for byte. Nothing here knows a dialect.

import uws, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js'
import { type Answer, answer, refusal } from './answer.js'
import { type Dialect, type Match, dialects, match } from './dialects.js'
import { type Line, play, stop } from './play.js'
import { type Scripts, scenes } from './scenes.js'
import { type Asked, type Options, type Script, tell } from './script.js'

export type { Script } from './script.js'
export type { Scripts } from './scenes.js'

export type RecordedRequest = {
  method: string
  path: string
  query: string
  headers: Record<string, string>
  body: string
  /** Milliseconds since 1970 when the headers were there. */
  at: number
  /** The client hung up before it had the whole answer. */
  aborted: boolean
}

export type SimulatorOptions = {
  /** `127.0.0.1:0` picks a free port. */
  listen?: string
  /** A YAML file of scenarios. */
  scenarios?: string
  /** Keep what was asked in `requests`. */
  record?: boolean
  /** What is wrong with a body, if something is: the answer is 400 then. */
  validate?: (dialect: string, body: unknown) => string | undefined
  /** Another folder of dialect files. */
  dialects?: string
}

export type Simulator = {
  url: string
  requests: RecordedRequest[]
  scenario(name: string, scripts: Scripts): void
  close(): Promise<void>
}

/** What the server takes, and its types do not say: without the option two servers may share a port, each unaware of the other. */
type Listening = { listen(host: string, port: number, options: number, listening: (socket: us_listen_socket | false) => void): void }
const EXCLUSIVE = 1

const REMEMBERED = 1000

export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const known = dialects(options.dialects)
  const cast = scenes(options.scenarios)
  const requests: RecordedRequest[] = []
  const lines = new Set<Line>()
  const matches = new Map<string, Match | string[]>()
  const respond = responder(cast.find, options.validate)

  const app = uws.App().any('/*', (res, req) => {
    // The request dies with this callback: all that is asked of it is asked here.
    const method = req.getCaseSensitiveMethod()
    const path = req.getUrl()
    const query = req.getQuery() ?? ''
    const type = req.getHeader('content-type')
    const line: Line = { res, closed: false, timer: undefined, destroyed: false, ended: false }
    const record = options.record === true ? { method, path, query, headers: headersOf(req), body: '', at: Date.now(), aborted: false } : undefined
    if (record) requests.push(record)
    lines.add(line)
    res.onAborted(() => {
      line.closed = true
      if (record) record.aborted = !line.destroyed
      stop(line)
      lines.delete(line)
    })
    collect(res, body => {
      if (record) record.body = body.toString()
      const found = remembered(matches, `${method} ${path}?${query}`, () => match(known, method, path, new URLSearchParams(query)))
      if (Array.isArray(found)) unknown(res, method, path, found)
      else play(respond(found, path, query, type, body), line)
      if (line.ended) lines.delete(line)
    })
  })

  const { host, port } = address(options.listen ?? '127.0.0.1:0')
  const socket = await new Promise<us_listen_socket | false>(resolve => {
    ;(app as unknown as Listening).listen(host, port, EXCLUSIVE, resolve)
  })
  if (!socket) throw new Error(`cannot listen on ${host}:${port}`)

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${uws.us_socket_local_port(socket)}`,
    requests,
    scenario: cast.bind,
    async close() {
      // Streams that were stalled would keep their connections for ever; this ends them all.
      app.close()
      for (const line of lines) stop(line)
    },
  }
}

/** Whole answers are kept by their script, so that one that comes again costs a look-up and not its making. */
function responder(find: (model: string, path: string, asked: () => Asked) => Script | undefined, validate: SimulatorOptions['validate']) {
  const made = new WeakMap<Script, Map<string, Answer>>()

  return (found: Match, path: string, query: string, type: string, body: Buffer): Answer => {
    const { dialect } = found
    try {
      const input = parsed(dialect, body, type)
      if (input === undefined) return refused(dialect, 'The body could not be read.')
      const model = nameOf(dialect, found, input, query)
      if (model === undefined) return refused(dialect, 'The model is missing.')
      const wrong = validate?.(dialect.name, input)
      if (wrong !== undefined) return refused(dialect, wrong)

      const bindings = { path: found.variables, query: Object.fromEntries(new URLSearchParams(query)) }
      let read: Asked | undefined
      const asked = (): Asked => (read ??= askedOf(dialect.read(input, bindings)))
      const script = find(model, path, asked)
      if (!script) {
        const message = `The simulator has no model ${model}. Its names begin with sim; other names need a scenario.`
        return refusal(dialect, { error: { message } }, 404)
      }
      const streams = found.path.stream ?? (dialect.flag !== undefined && member(input, dialect.flag.split('.').slice(1)) === true)
      const options = (dialect.options(input, bindings) ?? {}) as Options
      const calls = script.tools ? asked().calls : 0
      const framing = found.path.framing
      const key = `${dialect.name} ${streams ? framing?.kind : ''} ${calls} ${model} ${JSON.stringify(options)}`
      let answers = made.get(script)
      if (!answers) made.set(script, (answers = new Map()))
      return remembered(answers, key, () => answer(dialect, framing, script, tell(script, model, options, calls), streams))
    } catch (error) {
      // A dialect file that stumbles over a request, or a script over its dialect: seen by whom it concerns, at once.
      return refusal(dialect, { error: { message: `The simulator failed: ${error instanceof Error ? error.message : String(error)}` } }, 500)
    }
  }
}

function refused(dialect: Dialect, message: string): Answer {
  return refusal(dialect, { error: { message } }, 400)
}

function parsed(dialect: Dialect, body: Buffer, type: string): unknown {
  if (dialect.body === 'none') return {}
  if (dialect.body === 'multipart') {
    const parts = uws.getParts(body, type)
    return parts && Object.fromEntries(parts.map(({ name, data, filename, type: kind }) => [name, filename === undefined ? Buffer.from(data).toString() : { filename, type: kind, size: data.byteLength }]))
  }
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The model, from where the dialect has it; a dialect without a place for it has no name, which is one, too. */
function nameOf(dialect: Dialect, found: Match, input: unknown, query: string): string | undefined {
  if (dialect.model === undefined) return ''
  const [place, ...steps] = dialect.model.split('.')
  const name = place === 'path' ? found.variables.model : place === 'query' ? new URLSearchParams(query).get(steps.join('.')) : member(input, steps)
  return typeof name === 'string' ? name : undefined
}

function member(value: unknown, steps: string[]): unknown {
  return steps.reduce<unknown>((at, step) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[step] : undefined), value)
}

function askedOf(read: unknown): Asked {
  const given = (read ?? {}) as Partial<Asked>
  const { tools = [], results = [], calls = 0, serial = false, schema, text = '' } = given
  return { tools, results, calls, serial, schema, text }
}

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  const found = known.get(key)
  if (found !== undefined) return found
  if (known.size >= REMEMBERED) known.clear()
  const made = make()
  known.set(key, made)
  return made
}

/** The bytes of a chunk belong to the server again when its callback is over. */
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

/** A path that no dialect has, or not by this method; there is no dialect to say it in. */
function unknown(res: HttpResponse, method: string, path: string, others: string[]): void {
  const status = others.length > 0 ? '405 Method Not Allowed' : '404 Not Found'
  res.cork(() => {
    res.writeStatus(status)
    if (others.length > 0) res.writeHeader('allow', others.join(', '))
    if (method === 'HEAD') return res.endWithoutBody()
    return res.writeHeader('content-type', 'application/json').end(JSON.stringify({ error: { message: `The simulator does not answer ${method} ${path}.` } }))
  })
}

function address(listen: string): { host: string; port: number } {
  const [, host, port] = /^(?:(.*):)?(\d+)$/.exec(listen) ?? []
  if (port === undefined) throw new Error(`not an address to listen on: ${listen}`)
  return { host: (host ?? '').replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: Number(port) }
}
