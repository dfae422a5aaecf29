// Reads a request: bytes → Input, a body that satisfies the route's schema, and the views that later stages need.

import { isUtf8 } from 'node:buffer'
import { GatewayError, missingModel } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { FORM_TYPE, isMultipart, mediaTypeOf } from '../core/media-type.js'
import { isObject, valueAt } from '../core/members.js'
import { isOmitted } from '../core/text.js'
import { checkShape } from '../core/validation.js'
import { arriving, codingOf, decoded } from '../http/content-coding.js'
import type { Body, Dialect, Json, Member, Validate } from '../plan.js'
import type { Route, Snapshot } from '../snapshot/model.js'
import { type Form, type FormCheck, type FormTexts, readForm } from '../wire/form.js'
import { DEEPEST, isTooDeep } from '../wire/json/depth.js'
import { withNumbers } from '../wire/json/digits.js'
import { LONG, type Outline, outlineOf } from '../wire/json/outline.js'
import { parseJson } from '../wire/json/parse.js'
import { editMembers, type MemberSpan } from '../wire/json/scan.js'

export interface Input {
  /** The bytes as they arrived, which a provider of the same dialect gets. Empty if the request has no body, or is a form. */
  bytes: Buffer
  readonly body: Body
  /** The body, or its outline without the texts of a long one; enough to inspect its structure. */
  readonly outline: Body
  /** The bytes in which to search for string beginnings. */
  readonly probeBytes: Buffer
  /** The positions of the body's members in the bytes, if known. */
  readonly members?: readonly MemberSpan[] | undefined
  /** The name of the model in the client's request. */
  model: string
  stream: boolean
  /** A form whose files are still arriving. */
  form?: Form
  /** Set if its answer is to be kept. */
  turn?: Turn | undefined
  /** Frees the parsed body; call it when the body is no longer needed, unless another target is tried. */
  forget?(): void
  /** Brings the body and its outline into the schema's one form; the bytes stay as they arrived. */
  normalise?(): void
  /** The same, and throws if the body does not satisfy the whole schema: before a mapping relies on that. */
  settle?(): void
}

const NOTHING = Buffer.alloc(0)

/** The input of a request whose body is not read. */
export function withoutBody(model = ''): Input {
  return { bytes: NOTHING, body: {}, outline: {}, probeBytes: NOTHING, model, stream: false }
}

/** The value of a request's member, which the outline of a long body may lack. */
export function saidAt(member: Member, input: Input, exchange: Exchange | undefined): unknown {
  const value = valueAt(member, input.outline, exchange)
  return isOmitted(value) ? valueAt(member, input.body, exchange) : value
}

/** A request whose answer is to be kept. */
export interface Turn {
  /** The id of the kept answer that the request continues. */
  previous: string | undefined
  /** The id of the kept conversation that it continues, and that its answer becomes part of. */
  conversation: string | undefined
  /** Whether clients may refer to the answer by its id. */
  isReferable: boolean
  /** The request as the client sent it; in a conversation with the items that it refers to. */
  own: { readonly body: Body }
}

/**
 * A JSON request. A long body is parsed only for those that need all of it, and the parsed value is dropped while an answer
 * is awaited: each garbage collection would copy it, a stream may last long, and there may be thousands of them. It is
 * parsed again when it is needed.
 */
class JsonInput implements Input {
  turn: Turn | undefined = undefined

  constructor(
    readonly bytes: Buffer,
    /** The body or its outline. */
    private seen: Body | undefined,
    private isWhole: boolean,
    readonly probeBytes: Buffer,
    readonly members: readonly MemberSpan[] | undefined,
    readonly model: string,
    readonly stream: boolean,
    private readonly dialect: Dialect,
    /** Whether the body is known to satisfy the whole schema, and not only its shape. */
    private isValid: boolean,
    private isNormal: boolean,
  ) {}

  get body(): Body {
    if (this.seen === undefined || !this.isWhole) {
      const body = parseJson(this.bytes, this.dialect.verbatim?.request) as Body
      this.seen = this.isNormal ? normal(this.dialect, body) : body
      this.isWhole = true
    }
    return this.seen
  }

  get outline(): Body {
    return this.seen ?? this.body
  }

  normalise(): void {
    if (this.isNormal) return
    this.isNormal = true
    if (this.seen !== undefined) this.seen = normal(this.dialect, this.seen)
  }

  settle(): void {
    this.normalise()
    if (this.isValid) return
    if (this.dialect.validateRequest) checkBody(this.dialect.validateRequest, this.body)
    this.isValid = true
  }

  forget(): void {
    if (this.stream || (this.isWhole && this.bytes.length >= LONG)) this.seen = undefined
  }
}

function normal({ normaliseRequest }: Dialect, body: Body): Body {
  return normaliseRequest ? normaliseRequest(body) : body
}

/** @param texts what is done to the texts of a form */
export function read(route: Route, exchange: Exchange, snapshot: Snapshot, texts?: FormTexts): Input | Promise<Input> {
  const dialect = snapshot.plan.dialects[route.dialect] as Dialect
  if (route.bodies.includes('multipart') && isForm(exchange)) return formInput(route, exchange, snapshot, dialect, texts)
  // A chain of promises: a suspended function would hold all of its variables until the body has arrived.
  if (route.bodies.includes('json'))
    return exchange
      .body(route.limits)
      .then(received => jsonInput(received, route, exchange, dialect, unsaid(route, dialect, exchange, snapshot)))
  if (route.bodies.length > 0)
    throw new GatewayError('unsupported_media', 'This route takes a form: set content-type to multipart/form-data.')
  return {
    bytes: NOTHING,
    body: {},
    outline: {},
    probeBytes: NOTHING,
    model: modelOf(route, {}, exchange),
    stream: isStream(route, {}, exchange),
  }
}

async function formInput(
  route: Route,
  exchange: Exchange,
  snapshot: Snapshot,
  dialect: Dialect,
  texts: FormTexts | undefined,
): Promise<Input> {
  const usual = unsaid(route, dialect, exchange, snapshot)
  const form = await readForm(exchange, arriving(exchange), formPart(route, dialect), route.limits, usual, checkOf(route, dialect), texts)
  return {
    bytes: NOTHING,
    body: {},
    outline: {},
    probeBytes: NOTHING,
    model: isApartFrom(route, dialect) ? modelOf(route, {}, exchange) : modelName(route, form.model === '' ? undefined : form.model),
    stream: route.stream === true,
    form,
  }
}

function jsonInput(
  received: Buffer,
  route: Route,
  exchange: Exchange,
  dialect: Dialect,
  usual: string | undefined,
): Input | Promise<Input> {
  const bytes = textIn(received, route, exchange)
  return bytes instanceof Promise
    ? bytes.then(plain => plainInput(plain, route, exchange, dialect, usual))
    : plainInput(bytes, route, exchange, dialect, usual)
}

/** The bytes of a JSON body, without its coding. Throws if they cannot be JSON. */
function textIn(received: Buffer, { limits }: Route, exchange: Exchange): Buffer | Promise<Buffer> {
  exchange.log.bytesIn = received.length
  checkType(exchange)
  const coding = exchange.headers['content-encoding'] === undefined ? undefined : codingOf(exchange)
  return coding === undefined ? utf8(received) : decoded(received, coding, limits.body, exchange).then(utf8)
}

/**
 * RFC 8259, 8.1. A decoder would insert characters that the caller did not send, and bytes that pass would pass unchanged.
 */
function utf8(bytes: Buffer): Buffer {
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'The request body is not UTF-8.', { code: 'invalid_json' })
  return bytes
}

function plainInput(bytes: Buffer, route: Route, exchange: Exchange, dialect: Dialect, usual: string | undefined): Input | Promise<Input> {
  if (bytes.length < LONG) return inputOf(bytes, route, exchange, dialect, usual)
  return readOutline(bytes, route, dialect, exchange, usual).then(input => input ?? inputOf(bytes, route, exchange, dialect, usual))
}

/** The body of a request that the gateway answers itself: any object, without a schema. Throws what is wrong with it. */
export async function readObject(route: Route, exchange: Exchange): Promise<Json> {
  const bytes = await textIn(await exchange.body(route.limits), route, exchange)
  const body = parse(bytes, undefined)
  checkDepth(body, bytes.length)
  return body as Json
}

/**
 * Reads JSON bytes for a route. Throws what is wrong with them.
 * @param usual the model of a body that names none; undefined: such a body is refused
 */
export function inputOf(bytes: Buffer, route: Route, exchange: Exchange, dialect: Dialect, usual?: string): Input | Promise<Input> {
  // An action on an existing resource may need no body.
  const body = bytes.length === 0 && (route.follow ?? route.conversation) !== undefined ? {} : parse(bytes, dialect)
  checkDepth(body, bytes.length)
  const place = placeIn(route, dialect)
  if (usual !== undefined && namesNone(place, body)) return inputOf(naming(bytes, body, place, usual), route, exchange, dialect)
  const judged = ({ isValid, isNormal }: typeof ALL): Input => {
    const [model, stream] = [modelOf(route, body, exchange), isStream(route, body, exchange)]
    return new JsonInput(bytes, body, true, bytes, undefined, model, stream, dialect, isValid, isNormal)
  }
  // Most bodies satisfy the whole schema; this path avoids a promise for them.
  const isAll = !dialect.validateRequest || dialect.validateRequest(body)
  return isAll ? judged(ALL) : judge(body, dialect).then(judged)
}

/** Whether a body could name its model, but does not. */
function namesNone(model: Member | undefined, body: Body): boolean {
  return model?.from === 'body' && model.path.length === 1 && (body[model.path[0] as string] ?? null) === null
}

/** The same body with a model, as if the client had sent it. */
function naming(bytes: Buffer, body: Body, model: Member | undefined, name: string): Buffer {
  const key = model?.path[0] as string
  const said = body[key] === null ? editMembers(bytes, new Map([[key, { value: JSON.stringify(name) }]])) : undefined
  if (said !== undefined) return said
  const member = `${JSON.stringify(key)}:${JSON.stringify(name)}${Object.keys(body).length > 0 ? ',' : ''}`
  const at = bytes.indexOf('{') + 1
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(member), bytes.subarray(at)])
}

const ALL = { isValid: true, isNormal: false }

/**
 * How much of its schema a body satisfies. A body that has only the shape of a request, or has it after normalising, is
 * left to a provider of the same dialect: it may know values that the schema does not.
 */
async function judge(body: Body, dialect: Dialect): Promise<{ isValid: boolean; isNormal: boolean }> {
  const validateShape = await dialect.shape?.()
  if (!validateShape || validateShape(body)) return { isValid: false, isNormal: false }
  normal(dialect, body)
  checkBody(validateShape, body)
  return { isValid: false, isNormal: true }
}

/** Throws what is wrong with a body. A number whose digits are kept is a marked text in it, and is judged as a number. */
function checkBody(validate: Validate, body: Body): void {
  if (!validate(body)) checkShape(validate, withNumbers(body))
}

/** The outline of a long body; undefined if only the whole body can be judged. */
async function readOutline(
  bytes: Buffer,
  route: Route,
  dialect: Dialect,
  exchange: Exchange,
  usual: string | undefined,
): Promise<Input | undefined> {
  const outline = outlineOf(bytes)
  if (!isObject(outline?.body)) return undefined
  const { body, bytes: probeBytes, members } = outline as Outline & { body: Body }
  checkDepth(body, probeBytes.length)
  if (usual !== undefined && namesNone(placeIn(route, dialect), body)) return undefined
  const isValid = dialect.validateRequest?.(body) !== false
  if (!isValid && (await dialect.shape?.())?.(body) === false) return undefined
  const model = modelOf(route, body, exchange)
  if (isOmitted(model)) return undefined
  return new JsonInput(bytes, body, false, probeBytes, members, model, isStream(route, body, exchange), dialect, isValid, false)
}

/** Whether requests of the dialect name their model in their body or form, and those of the route elsewhere. */
function isApartFrom({ model }: Route, dialect: Dialect): boolean {
  return model !== undefined && !isInside(model) && isInside(dialect.model)
}

function isInside({ from }: Member): boolean {
  return from === 'body' || from === 'form'
}

/** Where a body or a form of the route names its model. A name that the route finds elsewhere counts, whatever they say. */
function placeIn(route: Route, dialect: Dialect): Member | undefined {
  return isApartFrom(route, dialect) ? dialect.model : route.model
}

/** The model of bodies and forms that name none, if there is one. */
function unsaid(route: Route, dialect: Dialect, exchange: Exchange, snapshot: Snapshot): string | undefined {
  if (!isApartFrom(route, dialect)) return usualModel(route, snapshot)
  const said = valueAt(route.model as Member, {}, exchange)
  return typeof said === 'string' && said !== '' ? said : usualModel(route, snapshot)
}

/** The default model of requests that name none, if there is one. */
export function usualModel({ defaultModel }: Route, snapshot: Snapshot): string | undefined {
  return defaultModel ?? snapshot.defaultModel
}

/** The check for the parts of a form, if the route has one. */
function checkOf({ checksFields }: Route, dialect: Dialect): FormCheck | undefined {
  if (!checksFields) return undefined
  const check = (validate: Validate | undefined, parts: Body): void => {
    if (validate) checkShape(validate, normal(dialect, structuredClone(parts)))
  }
  return { some: parts => check(dialect.validateFields, parts), all: parts => check(dialect.validateRequest, parts) }
}

function isForm(exchange: Exchange): boolean {
  return mediaTypeOf(exchange.headers['content-type']) === FORM_TYPE
}

/** The name of the form part that names the model. */
function formPart(route: Route, dialect: Dialect): string {
  return (placeIn(route, dialect) ?? dialect.model).path[0] as string
}

/** The part of an attempt that reading needs. */
interface Asked {
  input: Input
  route: Route
  exchange: Exchange
  binding: { from: Dialect }
}

/** A request that a mapping may read: the whole body, which satisfies the client's whole schema. */
export async function forMapping(asked: Asked): Promise<Input> {
  const { input } = asked
  if (input.form) return wholeForm(input.form, asked)
  input.settle?.()
  return input
}

/** The form as one body, for a provider that takes no forms. */
async function wholeForm(form: Form, { input, route, binding, exchange }: Asked): Promise<Input> {
  const body = await form.whole(FORM_LIMIT, exchange)
  const { validateRequest } = binding.from
  if (validateRequest) checkShape(validateRequest, body)
  return { ...input, body, outline: body, stream: isStream(route, body, undefined) }
}

/** The largest form that is held for translation: bytes. */
const FORM_LIMIT = 32 * 1024 * 1024

function isStream(route: Route, body: Body, exchange: Exchange | undefined): boolean {
  const { stream } = route
  if (typeof stream !== 'object') return stream === true
  const value = valueAt(stream, body, exchange) ?? stream.isDefault
  // Forms and queries hold only text.
  return value === true || value === 'true'
}

function modelOf(route: Route, body: Body, exchange: Exchange): string {
  return route.model === undefined ? '' : modelName(route, valueAt(route.model, body, exchange))
}

/** Characters. No model has a longer name, and the name appears in answers and in the log. */
export const LONGEST_NAME = 512

export function modelName(route: Route, model: unknown): string {
  if (model === '')
    throw new GatewayError('invalid_request', `Invalid 'model': expected at least 1 characters.`, {
      param: 'model',
      code: 'string_below_min_length',
    })
  if (typeof model !== 'string') throw missingModel(route.model)
  if (model.length > LONGEST_NAME)
    throw new GatewayError('invalid_request', `Invalid 'model': expected at most ${LONGEST_NAME} characters.`, {
      param: 'model',
      code: 'string_above_max_length',
    })
  const strip = route.model?.strip
  return strip !== undefined && model.startsWith(strip) ? model.slice(strip.length) : model
}

const IS_JSON = /^application\/(?:[\w.-]+\+)?json(?:\s*;|$)/i

function checkType(exchange: Exchange): void {
  // A web page of any site may send a request whose content type is not JSON without a CORS preflight.
  if (exchange.headers.origin !== undefined && !IS_JSON.test(exchange.headers['content-type'] ?? ''))
    throw new GatewayError(
      'unsupported_media',
      'A request with an origin must say that its body is JSON: set content-type to application/json.',
    )
  // Clients that set no content type, or curl's default, mean JSON; a form is a mistake that the error should name.
  if (isMultipart(exchange.headers['content-type']))
    throw new GatewayError('unsupported_media', 'This route takes a JSON body: set content-type to application/json.')
}

function checkDepth(body: Body, length: number): void {
  if (isTooDeep(body, length))
    throw new GatewayError('invalid_request', `The request body is nested more than ${DEEPEST} levels deep.`, { code: 'invalid_json' })
}

function parse(bytes: Buffer, dialect: Dialect | undefined): Body {
  let body: unknown
  try {
    body = parseJson(bytes, dialect?.verbatim?.request)
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
  if (!isObject(body)) throw new GatewayError('invalid_request', 'The request body must be a JSON object.', { code: 'invalid_type' })
  return body
}
