// Answer → client: bytes where both speak alike, a mapped body where not, a stream as a stream.

import { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import type { Dialect, Json } from './plan.js'
import type { Input } from './read.js'
import { scanMembers } from './scan.js'
import { type Answer, collect, errorFrom } from './send.js'
import { relayStream } from './stream.js'
import { mergeUsage } from './usage.js'
import type { Route } from './world.js'

/** The largest answer that is held to be translated, or to be sent in one piece. */
const BODY_LIMIT = 64 * 1024 * 1024

export async function reply(route: Route, input: Input, answer: Answer, call: Exchange): Promise<void> {
  const headers = headersOf(route, answer)
  if (input.stream) {
    const framing = route.framing ?? answer.way.from.stream?.framing ?? 'sse'
    return relayStream(answer, framing, headers, call)
  }
  const { way, rendered, upstream } = answer
  upstream.startIdle()
  const bytes = await collect(upstream, BODY_LIMIT)
  if (bytes === undefined) throw new GatewayError('upstream', 'The answer of the upstream is too large.')
  if (way.mapping === undefined) {
    const body = glance(bytes, way.to) ?? parse(bytes, answer)
    const usage = mergeUsage(undefined, way.to.usage?.(body))
    if (usage) call.log.usage = usage
    call.send(upstream.status, { 'content-type': 'application/json', ...headers }, bytes)
    return
  }
  const body = parse(bytes, answer)
  const usage = mergeUsage(undefined, way.to.usage?.(body))
  if (usage) call.log.usage = usage
  const mapped: Json = way.mapping.response?.(body, rendered.ctx, rendered.carry)
  if (mapped === undefined) throw new GatewayError('upstream', 'The answer of the upstream could not be translated.')
  call.send(200, { 'content-type': 'application/json', ...headers }, JSON.stringify(mapped))
}

/** Only what the log wants of an answer that passes; nothing where the whole has to be looked at. */
function glance(bytes: Buffer, dialect: Dialect): Json | undefined {
  const members = dialect.usageMembers
  if (members === undefined) return undefined
  const found: Record<string, Json> = {}
  let isPlain = true
  const isObject = scanMembers(bytes, ({ key, valueStart, valueEnd }) => {
    if (members.includes(key)) found[key] = JSON.parse(bytes.toString('utf8', valueStart, valueEnd))
    else if (key === 'error') isPlain = false
  })
  return isObject && isPlain ? found : undefined
}

function parse(bytes: Buffer, answer: Answer): Json {
  let body: Json
  try {
    body = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new GatewayError('upstream', 'The upstream sent something that is not valid.', {
      cause: `${answer.way.target.name}: the body is not JSON`,
    })
  }
  if (typeof body !== 'object' || body === null) throw new GatewayError('upstream', 'The upstream sent something that is not valid.')
  // Some upstreams answer 200 and an error.
  if ('error' in body && answer.way.to.stream?.fail?.read(body)) throw errorFrom(answer.way.to.error.read(body), 502, answer.way)
  return body
}

function headersOf(route: Route, answer: Answer): Record<string, string> {
  const headers: Record<string, string> = {}
  const { rendered, way, upstream } = answer
  if (rendered.dropped.length > 0) headers['x-sluice-dropped'] = rendered.dropped.join(', ')
  if (way.mapping === undefined) {
    for (const name of route.mirror) {
      const value = upstream.headers[name]
      if (typeof value === 'string') headers[name] = value
    }
  }
  return headers
}
