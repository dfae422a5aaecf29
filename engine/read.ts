// Bytes → Input: a body that the route's schema accepts, and what every later stage asks of it.

import { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import type { Body, Dialect, Member } from './plan.js'
import { checkShape } from './validation.js'
import type { Route, World } from './world.js'

export interface Input {
  /** The bytes as they came; what the same dialect is sent. */
  bytes: Buffer
  body: Body
  /** The name that the client used. */
  model: string
  stream: boolean
}

export async function read(route: Route, call: Exchange, world: World): Promise<Input> {
  const dialect = world.plan.dialects[route.dialect] as Dialect
  const bytes = await call.body(route.limits.body)
  call.log.bytesIn = bytes.length
  const body = parse(bytes, call)
  if (dialect.validateRequest) checkShape(dialect.validateRequest, body)
  const model = valueAt(route.model as Member, body, call)
  if (typeof model !== 'string' || model === '')
    throw new GatewayError('invalid_request', `Missing required parameter: 'model'.`, {
      param: 'model',
      code: 'missing_required_parameter',
    })
  const strip = route.model?.strip
  const name = strip !== undefined && model.startsWith(strip) ? model.slice(strip.length) : model
  const stream = typeof route.stream === 'object' ? valueAt(route.stream, body, call) === true : route.stream === true
  return { bytes, body, model: name, stream }
}

function parse(bytes: Buffer, call: Exchange): Body {
  const type = call.headers['content-type']
  // Clients that set none, or curl's default, mean JSON all the same; a form is a mistake worth telling.
  if (type?.startsWith('multipart/'))
    throw new GatewayError('unsupported_media', 'This route takes a JSON body: set content-type to application/json.')
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8', bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0))
  } catch (error) {
    const where = /position (\d+)/.exec(String(error))?.[1]
    throw new GatewayError(
      'invalid_request',
      bytes.length === 0
        ? 'The request has no body.'
        : `The request body is not valid JSON${where === undefined ? '' : ` (at byte ${where})`}.`,
      { code: 'invalid_json' },
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new GatewayError('invalid_request', 'The request body must be a JSON object.', { code: 'invalid_type' })
  return value as Body
}

export function valueAt(member: Member, body: Body, call: Exchange): unknown {
  const source: unknown = member.from === 'body' ? body : member.from === 'path' ? call.params : call.query
  return member.path.reduce<unknown>(
    (value, name) => (typeof value === 'object' && value !== null ? (value as Body)[name] : undefined),
    source,
  )
}
