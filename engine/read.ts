// Bytes → Input: a body that the route's schema accepts, and what every later stage asks of it.

import { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import { type Form, readForm } from './form.js'
import { LONG, type Parsed, parseJson } from './json.js'
import type { Body, Dialect, Member } from './plan.js'
import type { MemberSpan } from './scan.js'
import { checkShape } from './validation.js'
import type { Route, World } from './world.js'

export interface Input {
  /** The bytes as they came; what the same dialect is sent. None where the request has no body, or it is a form. */
  bytes: Buffer
  readonly body: Body
  /** Where the members of the body are in the bytes, if that is known. */
  readonly members?: readonly MemberSpan[] | undefined
  /** The name that the client used. */
  model: string
  stream: boolean
  /** A form whose files are still on their way. */
  form?: Form
  /** To be called when the body has been looked at, until another target may have to be asked. */
  forget?(): void
}

/**
 * What came as JSON. While an answer is waited for, nobody needs what a long body was parsed to: it would be copied from
 * one place of the memory to the next with every collection of garbage. A stream may last, and there may be thousands of
 * them. It is parsed anew for whoever does ask.
 */
class JsonInput implements Input {
  constructor(
    readonly bytes: Buffer,
    private parsed: Body | undefined,
    readonly members: readonly MemberSpan[] | undefined,
    readonly model: string,
    readonly stream: boolean,
  ) {}

  get body(): Body {
    this.parsed ??= parseJson(this.bytes).value as Body
    return this.parsed
  }

  forget(): void {
    if (this.stream || this.bytes.length >= LONG) this.parsed = undefined
  }
}

export async function read(route: Route, call: Exchange, world: World): Promise<Input> {
  const dialect = world.plan.dialects[route.dialect] as Dialect
  if (isForm(call) && route.bodies.includes('multipart')) {
    const form = await readForm(call, formPart(route, dialect), route.limits.body)
    return { bytes: NOTHING, body: {}, model: modelName(route, form.model), stream: route.stream === true, form }
  }
  if (!route.bodies.includes('json')) {
    if (route.bodies.length > 0)
      throw new GatewayError('unsupported_media', 'This route takes a form: set content-type to multipart/form-data.')
    return { bytes: NOTHING, body: {}, model: modelOf(route, {}, call), stream: isStream(route, {}, call) }
  }
  const bytes = await call.body(route.limits.body)
  call.log.bytesIn = bytes.length
  // What is done to something that is there already may need no words.
  const { body, members } = bytes.length === 0 && route.follow !== undefined ? { body: {}, members: undefined } : parse(bytes, call)
  if (dialect.validateRequest) checkShape(dialect.validateRequest, body)
  return new JsonInput(bytes, body, members, modelOf(route, body, call), isStream(route, body, call))
}

const NOTHING = Buffer.alloc(0)

function isForm(call: Exchange): boolean {
  return call.headers['content-type']?.startsWith('multipart/form-data') === true
}

/** The part of a form that names the model. */
function formPart(route: Route, dialect: Dialect): string {
  return (route.model ?? dialect.model).path[0] as string
}

/** The whole form as a body, for a provider that takes no forms. */
export async function wholeForm(form: Form, input: Input, route: Route, dialect: Dialect): Promise<Input> {
  const body = await form.whole(FORM_LIMIT)
  if (dialect.validateRequest) checkShape(dialect.validateRequest, body)
  return { ...input, body, stream: isStream(route, body, undefined) }
}

/** What of a form is held to be translated: bytes. */
const FORM_LIMIT = 32 * 1024 * 1024

function isStream(route: Route, body: Body, call: Exchange | undefined): boolean {
  const { stream } = route
  if (typeof stream !== 'object') return stream === true
  const value = valueAt(stream, body, call)
  // In a form and in a query everything is text.
  return value === true || value === 'true'
}

function modelOf(route: Route, body: Body, call: Exchange): string {
  return route.model === undefined ? '' : modelName(route, valueAt(route.model, body, call))
}

function modelName(route: Route, model: unknown): string {
  if (typeof model !== 'string' || model === '')
    throw new GatewayError('invalid_request', `Missing required parameter: 'model'.`, {
      param: 'model',
      code: 'missing_required_parameter',
    })
  const strip = route.model?.strip
  return strip !== undefined && model.startsWith(strip) ? model.slice(strip.length) : model
}

function parse(bytes: Buffer, call: Exchange): { body: Body; members: readonly MemberSpan[] | undefined } {
  const type = call.headers['content-type']
  // Clients that set none, or curl's default, mean JSON all the same; a form is a mistake worth telling.
  if (type?.startsWith('multipart/'))
    throw new GatewayError('unsupported_media', 'This route takes a JSON body: set content-type to application/json.')
  let parsed: Parsed
  try {
    parsed = parseJson(bytes)
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
  const { value, members } = parsed
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new GatewayError('invalid_request', 'The request body must be a JSON object.', { code: 'invalid_type' })
  return { body: value as Body, members }
}

export function valueAt(member: Member, body: Body, call: Exchange | undefined): unknown {
  const source: unknown = member.from === 'path' ? call?.params : member.from === 'query' ? call?.query : body
  return member.path.reduce<unknown>(
    (value, name) => (typeof value === 'object' && value !== null ? (value as Body)[name] : undefined),
    source,
  )
}
