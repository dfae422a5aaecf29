// A client for each dialect: the routes define where the model, the key and the stream flag are, the simulator the rest
// of the request.

import { type IncomingMessage, request as send } from 'node:http'
import type { FramingName, KeyLocation, Plan, RoutePlan } from '../../engine/plan.js'
import { jsonOrText } from '../json.js'
import type { Dialect } from '../simulator/dialects.js'

export type Mode = 'json' | FramingName

/** A dialect, and the mode of its answer. */
export interface Client {
  dialect: string
  mode: Mode
  route: RoutePlan
  says: NonNullable<Dialect['ask']>
}

export interface Request {
  method: string
  path: string
  headers: Record<string, string>
  body: string
}

/** A client's result. `isCut`: the connection broke before the answer was complete. */
export interface Heard {
  status: number
  headers: Record<string, string>
  text: string
  isCut: boolean
}

/** The clients of all dialects that the simulator speaks, each with its first route. */
export function clientsOf(plan: Plan, known: readonly Dialect[]): Client[] {
  const clients = new Map<string, Client>()
  for (const route of plan.routes) {
    const says = known.find(({ name }) => name === route.dialect)?.ask
    if (says === undefined || route.model === undefined || route.answer || route.fail || route.estimate || route.relay) continue
    for (const mode of modesOf(plan, route)) {
      const key = `${route.dialect} ${mode}`
      if (!clients.has(key)) clients.set(key, { dialect: route.dialect, mode, route, says })
    }
  }
  return [...clients.values()]
}

function modesOf(plan: Plan, { stream, framing, dialect }: RoutePlan): Mode[] {
  const streamed = framing ?? plan.dialects[dialect]?.stream?.framing ?? 'sse'
  if (stream === true) return [streamed]
  return stream === undefined || stream === false ? ['json'] : ['json', streamed]
}

/** A request for a model with a text. */
export function requestOf(client: Client, plan: Plan, model: string, text: string, key: string): Request {
  const { route, mode } = client
  const body = client.says({ text }) as Record<string, unknown>
  const query = new URLSearchParams(route.when?.query)
  let path = route.paths[0] as string
  const member = route.model as NonNullable<RoutePlan['model']>
  if (member.from === 'path') path = path.replace(/\{\+?model\}/, encodeURIComponent(model))
  else if (member.from === 'query') query.set(member.path[0] as string, model)
  else put(body, member.path, model)
  if (typeof route.stream === 'object' && (mode !== 'json' || route.stream.isDefault)) put(body, route.stream.path, mode !== 'json')
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const credential = plan.keyLocations[route.auth[0] as string] as KeyLocation
  if (credential.header !== undefined) headers[credential.header] = (credential.prefix ?? '') + key
  else if (credential.query !== undefined) query.set(credential.query, key)
  const search = query.toString()
  return { method: route.methods[0] ?? 'POST', path: path + (search && `?${search}`), headers, body: JSON.stringify(body) }
}

function put(body: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = body
  for (const name of path.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>
  at[path.at(-1) as string] = value
}

/** Sends a request on its own connection. Rejects if no answer begins within `limit` milliseconds of silence. */
export function ask(url: string, { method, path, headers, body }: Request, limit: number): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const request = send(url + path, { method, headers: { ...headers, 'content-length': Buffer.byteLength(body) }, agent: false })
    request.setTimeout(limit, () => request.destroy(new Error(`no answer in ${limit} ms`)))
    request.on('error', reject)
    request.on('response', response => resolve(heard(response)))
    request.end(body)
  })
}

/** Resolves when the answer is complete, or its connection is closed. */
export function heard(response: IncomingMessage): Promise<Heard> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    const finish = (isCut: boolean): void =>
      resolve({
        status: response.statusCode ?? 0,
        headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
        text: Buffer.concat(chunks).toString('utf8'),
        isCut,
      })
    response.on('data', chunk => chunks.push(chunk))
    response.on('end', () => finish(false))
    response.on('error', () => finish(true))
  })
}

/** The data of an answer's events as JSON; other data, such as a sentinel, as text. Throws if an array is invalid. */
export function eventsOf(text: string, mode: Mode): unknown[] {
  if (mode === 'json_array') {
    const list: unknown = JSON.parse(text)
    if (!Array.isArray(list)) throw new SyntaxError('the stream is not an array')
    return list
  }
  if (mode === 'ndjson') return text.split('\n').flatMap(line => (line.trim() === '' ? [] : [jsonOrText(line)]))
  return text
    .split(/\r?\n\r?\n/)
    .map(block => block.split(/\r?\n/).flatMap(line => (line.startsWith('data:') ? [line.slice('data:'.length).trim()] : [])))
    .filter(data => data.length > 0)
    .map(data => jsonOrText(data.join('\n')))
}
