// Bytes → Input: a body that the route's schema accepts, and what every later stage asks of it.

import { isUtf8 } from 'node:buffer'
import { GatewayError, missingModel } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { valueAt } from '../core/members.js'
import { asciiOf, isOmitted } from '../core/text.js'
import { checkShape } from '../core/validation.js'
import { decoded } from '../http/content-coding.js'
import type { Body, Dialect, Json, Validate } from '../plan.js'
import type { Route, Snapshot } from '../snapshot/model.js'
import { type Form, type FormCheck, type FormTexts, readForm } from '../wire/form.js'
import { DEEPEST, isTooDeep } from '../wire/json/depth.js'
import { LONG, type Outline, outlineOf } from '../wire/json/outline.js'
import { parseJson } from '../wire/json/parse.js'
import type { MemberSpan } from '../wire/json/scan.js'

export interface Input {
  /** The bytes as they came; what the same dialect is sent. None where the request has no body, or it is a form. */
  bytes: Buffer
  /** The bytes as text in which each character is one of them; absent where that is not so, or after `forget`. */
  readonly ascii?: string | undefined
  readonly body: Body
  /** The body, or what there is of it without the texts of a long one: for a look at what it holds. */
  readonly outline: Body
  /** The bytes in which the beginnings of strings may be looked for. */
  readonly probeBytes: Buffer
  /** Where the members of the body are in the bytes, if that is known. */
  readonly members?: readonly MemberSpan[] | undefined
  /** The name that the client used. */
  model: string
  stream: boolean
  /** A form whose files are still on their way. */
  form?: Form
  /** There where its answer is to be kept. */
  turn?: Turn | undefined
  /** To be called when the body has been looked at, until another target may have to be asked. */
  forget?(): void
  /** From now on the body and its outline are said in the one way that the schemas know; the bytes are as they came. */
  normalise?(): void
  /** The same, and throws where the body is not all that the dialect says of it: before anything relies on that. */
  settle?(): void
}

/** A request whose answer is to be kept. */
export interface Turn {
  /** The kept answer from which it goes on. */
  previous: string | undefined
  /** The request as the client sent it. */
  own: Input
}

/**
 * What came as JSON. A long body is parsed for those alone who want all of it. While an answer is waited for, nobody does:
 * what it was parsed to would be copied from one place of the memory to the next with every collection of garbage. A
 * stream may last, and there may be thousands of them. It is parsed anew for whoever asks after all.
 */
class JsonInput implements Input {
  turn: Turn | undefined = undefined

  constructor(
    readonly bytes: Buffer,
    public ascii: string | undefined,
    /** All of it, or an outline. */
    private seen: Body | undefined,
    private isWhole: boolean,
    readonly probeBytes: Buffer,
    readonly members: readonly MemberSpan[] | undefined,
    readonly model: string,
    readonly stream: boolean,
    private readonly dialect: Dialect,
    /** Whether it is known to be all that the dialect says of a request, or its shape alone is. */
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
    if (this.dialect.validateRequest) checkShape(this.dialect.validateRequest, this.body)
    this.isValid = true
  }

  forget(): void {
    this.ascii = undefined
    if (this.stream || (this.isWhole && this.bytes.length >= LONG)) this.seen = undefined
  }
}

function normal({ normaliseRequest }: Dialect, body: Body): Body {
  return normaliseRequest ? normaliseRequest(body) : body
}

/** @param texts what is done to the texts of a form */
export async function read(route: Route, exchange: Exchange, snapshot: Snapshot, texts?: FormTexts): Promise<Input> {
  const dialect = snapshot.plan.dialects[route.dialect] as Dialect
  if (isForm(exchange) && route.bodies.includes('multipart')) {
    const form = await readForm(
      exchange,
      formPart(route, dialect),
      route.limits,
      usualModel(route, snapshot),
      checkOf(route, dialect),
      texts,
    )
    return {
      bytes: NOTHING,
      body: {},
      outline: {},
      probeBytes: NOTHING,
      model: modelName(route, form.model === '' ? undefined : form.model),
      stream: route.stream === true,
      form,
    }
  }
  if (!route.bodies.includes('json')) {
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
  const received = await exchange.body(route.limits)
  exchange.log.bytesIn = received.length
  const coding = exchange.headers['content-encoding']?.trim().toLowerCase()
  const bytes = coding === undefined || coding === 'identity' ? received : await decoded(received, coding, route.limits.body)
  checkType(exchange)
  // RFC 8259, 8.1. What a decoder would put in their place the caller has not said, and where bytes pass, they would pass.
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'The request body is not UTF-8.', { code: 'invalid_json' })
  const usual = usualModel(route, snapshot)
  const input = bytes.length >= LONG ? await readOutline(bytes, route, dialect, exchange, usual) : undefined
  return input ?? inputOf(bytes, route, exchange, dialect, usual)
}

/** The body of a request that is answered here: any object, which no schema is asked about. Throws what is wrong with it. */
export async function readObject(route: Route, exchange: Exchange): Promise<Json> {
  const bytes = await exchange.body(route.limits)
  exchange.log.bytesIn = bytes.length
  checkType(exchange)
  if (!isUtf8(bytes)) throw new GatewayError('invalid_request', 'The request body is not UTF-8.', { code: 'invalid_json' })
  const body = parse(bytes, asciiOf(bytes), undefined)
  checkDepth(body, bytes.length)
  return body as Json
}

/**
 * What bytes of JSON are to a route. Throws what is wrong with them.
 * @param usual the model of a body that names none; absent: it is refused
 */
export function inputOf(bytes: Buffer, route: Route, exchange: Exchange, dialect: Dialect, usual?: string): Input | Promise<Input> {
  // What is done to something that is there already may need no words.
  const ascii = asciiOf(bytes)
  const body = bytes.length === 0 && route.follow !== undefined ? {} : parse(bytes, ascii, dialect)
  checkDepth(body, bytes.length)
  if (usual !== undefined && namesNone(route, body)) return inputOf(naming(bytes, body, route, usual), route, exchange, dialect)
  const judged = ({ isValid, isNormal }: typeof ALL): Input => {
    const [model, stream] = [modelOf(route, body, exchange), isStream(route, body, exchange)]
    return new JsonInput(bytes, ascii, body, true, bytes, undefined, model, stream, dialect, isValid, isNormal)
  }
  // Most are, and what waits for nothing is not made to.
  const isAll = !dialect.validateRequest || dialect.validateRequest(body)
  return isAll ? judged(ALL) : judge(body, dialect).then(judged)
}

/** Whether a body could name its model, and does not. */
function namesNone({ model }: Route, body: Body): boolean {
  return model?.from === 'body' && model.path.length === 1 && body[model.path[0] as string] === undefined
}

/** The same body with a model: what follows works as if the client had said it. */
function naming(bytes: Buffer, body: Body, { model }: Route, name: string): Buffer {
  const member = `${JSON.stringify(model?.path[0])}:${JSON.stringify(name)}${Object.keys(body).length > 0 ? ',' : ''}`
  const at = bytes.indexOf('{') + 1
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(member), bytes.subarray(at)])
}

const ALL = { isValid: true, isNormal: false }

/**
 * What a body is that is not all that its dialect says. What has no more than the shape of a request, or has it when it is said
 * another way, is for a provider of the same dialect to judge: it may know words that are not known here.
 */
async function judge(body: Body, dialect: Dialect): Promise<{ isValid: boolean; isNormal: boolean }> {
  const validateShape = await dialect.shape?.()
  if (!validateShape || validateShape(body)) return { isValid: false, isNormal: false }
  normal(dialect, body)
  checkShape(validateShape, body)
  return { isValid: false, isNormal: true }
}

/** What an outline tells of a long body; nothing where the whole is needed to judge it. */
async function readOutline(
  bytes: Buffer,
  route: Route,
  dialect: Dialect,
  exchange: Exchange,
  usual: string | undefined,
): Promise<Input | undefined> {
  const outline = outlineOf(bytes)
  if (!isBody(outline?.body)) return undefined
  const { body, bytes: probeBytes, members } = outline as Outline & { body: Body }
  checkDepth(body, probeBytes.length)
  if (usual !== undefined && namesNone(route, body)) return undefined
  const isValid = dialect.validateRequest?.(body) !== false
  if (!isValid && (await dialect.shape?.())?.(body) === false) return undefined
  const model = modelOf(route, body, exchange)
  if (isOmitted(model)) return undefined
  return new JsonInput(bytes, undefined, body, false, probeBytes, members, model, isStream(route, body, exchange), dialect, isValid, false)
}

/** The model of requests that name none, where there is one. */
export function usualModel({ defaultModel }: Route, snapshot: Snapshot): string | undefined {
  return defaultModel ?? snapshot.defaultModel
}

/** What judges the parts of a form, where the route says so. */
function checkOf({ checksFields }: Route, dialect: Dialect): FormCheck | undefined {
  if (!checksFields) return undefined
  const check = (validate: Validate | undefined, parts: Body): void => {
    if (validate) checkShape(validate, normal(dialect, structuredClone(parts)))
  }
  return { some: parts => check(dialect.validateFields, parts), all: parts => check(dialect.validateRequest, parts) }
}

const NOTHING = Buffer.alloc(0)

function isForm(exchange: Exchange): boolean {
  return exchange.headers['content-type']?.startsWith('multipart/form-data') === true
}

/** The part of a form that names the model. */
function formPart(route: Route, dialect: Dialect): string {
  return (route.model ?? dialect.model).path[0] as string
}

/** What a mapping may look at: a body that is whole, and all that the client's dialect says of it. */
export async function forMapping(input: Input, route: Route, dialect: Dialect): Promise<Input> {
  if (input.form) return wholeForm(input.form, input, route, dialect)
  input.settle?.()
  return input
}

/** The whole form as a body, for a provider that takes no forms. */
async function wholeForm(form: Form, input: Input, route: Route, dialect: Dialect): Promise<Input> {
  const body = await form.whole(FORM_LIMIT)
  if (dialect.validateRequest) checkShape(dialect.validateRequest, body)
  return { ...input, body, outline: body, stream: isStream(route, body, undefined) }
}

/** What of a form is held to be translated: bytes. */
const FORM_LIMIT = 32 * 1024 * 1024

function isStream(route: Route, body: Body, exchange: Exchange | undefined): boolean {
  const { stream } = route
  if (typeof stream !== 'object') return stream === true
  const value = valueAt(stream, body, exchange) ?? stream.isDefault
  // In a form and in a query everything is text.
  return value === true || value === 'true'
}

function modelOf(route: Route, body: Body, exchange: Exchange): string {
  return route.model === undefined ? '' : modelName(route, valueAt(route.model, body, exchange))
}

/** No model is called longer; the name is told in answers and written into the log. */
const LONGEST_NAME = 512

export function modelName(route: Route, model: unknown): string {
  if (model === '')
    throw new GatewayError('invalid_request', `Invalid 'model': expected at least 1 characters.`, {
      param: 'model',
      code: 'string_below_min_length',
    })
  if (typeof model !== 'string') throw missingModel()
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
  // A page of any site may send what is not said to be JSON without its browser asking here first.
  if (exchange.headers.origin !== undefined && !IS_JSON.test(exchange.headers['content-type'] ?? ''))
    throw new GatewayError(
      'unsupported_media',
      'A request with an origin must say that its body is JSON: set content-type to application/json.',
    )
  // Clients that set none, or curl's default, mean JSON all the same; a form is a mistake worth telling.
  if (exchange.headers['content-type']?.startsWith('multipart/'))
    throw new GatewayError('unsupported_media', 'This route takes a JSON body: set content-type to application/json.')
}

function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function checkDepth(body: Body, length: number): void {
  if (isTooDeep(body, length))
    throw new GatewayError('invalid_request', `The request body is nested more than ${DEEPEST} levels deep.`, { code: 'invalid_json' })
}

function parse(bytes: Buffer, ascii: string | undefined, dialect: Dialect | undefined): Body {
  let body: unknown
  try {
    body = parseJson(bytes, dialect?.verbatim?.request, ascii)
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
  if (!isBody(body)) throw new GatewayError('invalid_request', 'The request body must be a JSON object.', { code: 'invalid_type' })
  return body
}
