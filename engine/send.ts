// Asks one target after the other until one of them gives an answer. Until the answer is handed on nothing has been sent
// to the client, so a failure may go to the next target; what was collected is judged here, too.

import { ask, collect, type Question, type Upstream } from './call.js'
import type { Choice } from './choose.js'
import { now } from './deadlines.js'
import { keepDigitsAt } from './digits.js'
import { asGatewayError, GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import { mayMoveOn, putAside, wentWell } from './health.js'
import { dispatcherFor, fetchAll } from './inline.js'
import { describeCause } from './places.js'
import type { Body, Context, ErrorRead, Json, Limits, Mapping } from './plan.js'
import { forMapping, type Input } from './read.js'
import { errorFrom, failureFrom } from './refusal.js'
import { checkServed, contextOf, type Rendered, render } from './render.js'
import { lateMember, type MemberSpan, scanMembers } from './scan.js'
import type { Signer } from './sign.js'
import { firstEvents } from './stream.js'
import { textOf } from './text.js'
import { addUsage, readUsage } from './usage.js'
import { reshape } from './vectors.js'
import { isSurelyJson } from './well-formed.js'
import { mappedBody, passedBody, understood } from './whole.js'
import type { Route, Way, World } from './world.js'

/** What an upstream answered, so far as it has been looked at. */
export type Answer = { way: Way; rendered: Rendered } & (
  | { kind: 'stream'; upstream: Upstream /** Events that were read to see that it begins well. */; first: Buffer | undefined }
  | { kind: 'bytes'; upstream: Upstream }
  /** A whole body of JSON; `body` is what the engine needs of it, at least, and `text` the client's. */
  | { kind: 'whole'; upstream: Upstream; body: Json; text: Buffer | string }
  /** The client's answer, joined of those of several calls. */
  | { kind: 'joined'; text: string }
)

const ERROR_BODY_LIMIT = 1024 * 1024
/** The largest answer that is held to be translated, or to be sent in one piece. */
const BODY_LIMIT = 64 * 1024 * 1024

/** The first good answer of the ways in their order. */
export async function send(choice: Choice, input: Input, route: Route, call: Exchange, world: World): Promise<Answer> {
  let failure: GatewayError | undefined
  for (const way of choice.ways) {
    call.log.target = way.target.name
    call.log.way = way
    call.log.attempts++
    const limits = way.target.limits ? { ...route.limits, ...way.target.limits } : route.limits
    try {
      const answer = await attempt(way, choice, input, route, limits, call, world)
      wentWell(way.target)
      return answer
    } catch (thrown) {
      const error = asGatewayError(thrown instanceof RangeError ? tooDeep(thrown) : thrown)
      if (call.isAborted || !mayMoveOn(error)) throw error
      putAside(way.target, error)
      if (way !== choice.ways.at(-1)) noteFailure(call, way, error)
      failure = error
      // What has been sent of a form is gone, and what the exchange may take all in all is used up.
      if (input.form?.isWhole === false || (limits.total !== null && now() >= call.began + limits.total)) throw error
    }
  }
  throw (
    failure ??
    new GatewayError('not_found', `The model '${input.model}' cannot be used on this route.`, {
      param: 'model',
      code: 'model_not_supported',
    })
  )
}

function noteFailure({ log }: Exchange, way: Way, error: GatewayError): void {
  log.failed ??= []
  log.failed.push({ target: way.target.name, kind: error.kind, cause: describeCause(error.cause ?? error.message) })
}

/** Where the stack ends while a request is translated: what is an upstream's has been judged before. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}

async function attempt(
  way: Way,
  choice: Choice,
  asked: Input,
  route: Route,
  limits: Limits,
  call: Exchange,
  world: World,
): Promise<Answer> {
  const input = way.mapping ? await forMapping(asked, route, way.from) : asked
  const ctx = contextOf(way, choice, input, call)
  if (way.next && way.mapping?.refused?.(input.body, ctx)) {
    const { form, ...whole } = input
    return attempt(way.next, choice, form ? whole : input, route, limits, call, world)
  }
  const unnamed = checkServed(way, input, ctx)
  const urls = way.mapping?.fetch?.(input.body, ctx)
  if (Array.isArray(urls) && urls.length > 0) ctx.fetched = await fetchAll(urls, call, world.mayFetchPrivate)
  const parts = way.mapping?.split?.(input.body, ctx)
  if (Array.isArray(parts) && parts.length > 1) {
    const { rendered, body } = await askParts(parts, way, choice, input, route, limits, call, ctx, unnamed)
    return { kind: 'joined', way, rendered, text: understood(() => mappedBody(body(), way, route, input, call)) }
  }
  if (input.stream && way.mapping && !way.mapping.stream)
    throw new GatewayError('not_implemented', 'This model cannot stream on this route.')
  const rendered = render(way, choice, input, route, call, ctx, unnamed)
  input.forget?.()
  const upstream = await ask(questionOf(way, rendered), limits, call)
  if (isRefusal(upstream, way)) throw await refusalOf(upstream, way)
  const type = typeOf(upstream)
  if (input.stream || way.to.stream?.isOptional) {
    if (!way.to.stream?.isOptional || type === STREAM) {
      const first = await firstEvents(upstream, way)
      return { kind: 'stream', way, rendered, upstream, first }
    }
  }
  if (way.to.response === 'bytes' && type !== JSON_TYPE) return { kind: 'bytes', way, rendered, upstream }
  upstream.startIdle()
  const bytes = withinLimit(await collect(upstream, BODY_LIMIT))
  const body = understood(() => read(bytes, way))
  const { mapping } = way
  if (mapping === undefined)
    return { kind: 'whole', way, rendered, upstream, body, text: understood(() => passedBody(bytes, way, input, call)) }
  const answer = understood(() => readAnswer(body, way, ctx, rendered.carry))
  const location = understood(() => mapping.location?.(answer, ctx, rendered.carry))
  if (location !== undefined) return { kind: 'bytes', way, rendered, upstream: await locate(location, way, route, limits, call, world) }
  const text = understood(() => mappedBody(mapping.response?.(answer, ctx, rendered.carry), way, route, input, call))
  return { kind: 'whole', way, rendered, upstream, body: answer, text }
}

/** A provider's answer as a mapping may see it. Throws where it tells of a failure, and where it is none. */
function readAnswer(body: Json, way: Way, ctx: Context, carry: Json): Json {
  const failure = failureFrom(way.mapping?.failure?.(body, ctx, carry), way)
  if (failure) throw failure
  return way.to.normaliseResponse ? way.to.normaliseResponse(body) : body
}

const STREAM = 'text/event-stream'
const JSON_TYPE = 'application/json'

function typeOf(upstream: Upstream): string {
  const type = upstream.header('content-type')
  if (type === undefined || type === JSON_TYPE) return type ?? ''
  return (type.split(';')[0] as string).trim().toLowerCase()
}

function questionOf(way: Way, { question }: Rendered): Question {
  return way.signer ? signed(question, way.signer, way) : question
}

/** Where an answer leads on to is nobody's business here, and not an answer. */
function isRefusal({ status }: Upstream, way: Way): boolean {
  return status >= 300 && !(way.to.response === 'bytes' && (status === 304 || status === 416))
}

function signed(question: Question, signer: Signer, way: Way): Question {
  const { body, ...rest } = question
  if (body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body))
    throw new GatewayError('not_implemented', 'What is sent while it arrives cannot be signed, as the provider of this model wants it.')
  const proof = signer({ ...rest, ...(body !== undefined && { body }) }, way.target.host, Date.now())
  return { ...question, headers: [...question.headers, ...proof] }
}

/** What an upstream's refusal means to the caller. */
async function refusalOf(upstream: Upstream, way: Way): Promise<GatewayError> {
  const bytes = await collect(upstream, ERROR_BODY_LIMIT).catch(() => undefined)
  let read: ErrorRead | undefined
  try {
    read = way.to.error.read(JSON.parse(bytes?.toString('utf8') ?? ''), upstream.status)
  } catch {
    // Not JSON: a proxy's page, or nothing. Its status says enough.
  }
  return errorFrom(read, upstream.status, way, upstream)
}

// Whole answers --------------------------------------------------------------------------------------------------

function withinLimit(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw new GatewayError('upstream', 'The answer of the upstream is too large.')
  return bytes
}

/** What the engine needs of an answer, at least. */
function read(bytes: Buffer, way: Way): Json {
  if (way.mapping === undefined) return (isSurelyJson(bytes) ? glance(bytes, way) : undefined) ?? parse(bytes, way)
  // A mapping is shown numbers, whatever form the provider has given them.
  const kept = keepDigitsAt(bytes, way.to.verbatim?.response)
  return parse(way.to.vectors ? reshape(kept, way.to.vectors.path, false) : kept, way)
}

/** Only what the log wants of an answer that passes; nothing where the whole has to be looked at. */
function glance(bytes: Buffer, way: Way): Json | undefined {
  const members = way.to.usageMembers
  if (members === undefined) return undefined
  const [name] = members
  const found: Record<string, Json> = {}
  let isPlain = true
  try {
    // Most answers tell it at their end.
    const late = name !== undefined && members.length === 1 && !bytes.includes(ERROR) ? lateMember(bytes, name) : undefined
    if (late) return { [late.key]: parsedAt(bytes, late) }
    const end = scanMembers(bytes, member => {
      if (members.includes(member.key)) found[member.key] = parsedAt(bytes, member)
      else if (member.key === 'error') isPlain = false
    })
    return end >= 0 && isPlain ? found : undefined
  } catch {
    return undefined
  }
}

const ERROR = Buffer.from('"error"')

function parsedAt(bytes: Buffer, { valueStart, valueEnd }: MemberSpan): Json {
  return JSON.parse(bytes.toString('utf8', valueStart, valueEnd))
}

function parse(bytes: Buffer, way: Way): Json {
  let body: Json
  try {
    body = JSON.parse(textOf(bytes))
  } catch {
    throw new GatewayError('upstream', 'The upstream sent something that is not valid.', {
      cause: `${way.target.name}: the body is not JSON`,
    })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError('upstream', 'The upstream sent something that is not valid.', {
      cause: `${way.target.name}: the body is no object`,
    })
  // Some upstreams answer 200 and an error.
  if ('error' in body && way.to.stream?.fail?.read(body)) throw errorFrom(way.to.error.read(body, undefined), 502, way)
  return body
}

// Several calls for one request ------------------------------------------------------------------------------------

const MOST_PARTS = 64
/** How many of them run at a time. */
const WIDTH = 4

async function askParts(
  parts: readonly Json[],
  way: Way,
  choice: Choice,
  input: Input,
  route: Route,
  limits: Limits,
  call: Exchange,
  ctx: Context,
  unnamed: readonly string[],
): Promise<{ rendered: Rendered; body: () => Json }> {
  if (parts.length > MOST_PARTS)
    throw new GatewayError(
      'invalid_request',
      `This model would have to be asked ${parts.length} times for one request; ${MOST_PARTS} is the most.`,
    )
  if (input.stream)
    throw new GatewayError('invalid_request', 'This cannot be streamed by this model: it has to be asked several times.', {
      param: 'stream',
    })
  const mapping = way.mapping as Mapping
  const answers: Json[] = new Array(parts.length)
  const rendered: Rendered[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < parts.length) {
      const index = next++
      const part = { ...input, body: parts[index] as Body, outline: parts[index] as Body }
      const id = `${ctx.id.slice(4)}${String(index).padStart(4, '0')}`
      const one = render(way, choice, part, route, call, { ...ctx, id }, unnamed)
      rendered[index] = one
      const upstream = await ask(questionOf(way, one), limits, call)
      if (isRefusal(upstream, way)) throw await refusalOf(upstream, way)
      upstream.startIdle()
      const bytes = withinLimit(await collect(upstream, BODY_LIMIT))
      answers[index] = understood(() => {
        const body = readAnswer(read(bytes, way), way, one.ctx, one.carry)
        noteUsage(call, way, body)
        return mapping.response?.(body, one.ctx, one.carry)
      })
    }
  }
  const failures = await Promise.allSettled(Array.from({ length: Math.min(WIDTH, parts.length) }, work))
  const failed = failures.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
  const carry = mapping.carry?.(input.body, ctx)
  return { rendered: rendered[0] as Rendered, body: () => mapping.join?.(answers, ctx, carry) }
}

function noteUsage(call: Exchange, way: Way, body: Json): void {
  addUsage(call.log, readUsage(way.to.usage, body))
}

// Answers that lie elsewhere ---------------------------------------------------------------------------------------

const MOST_HOPS = 3

/** The bytes at an address that the provider named. Its credential is not sent there. */
async function locate(location: Json, way: Way, route: Route, limits: Limits, call: Exchange, world: World): Promise<Upstream> {
  const nowhere = (why: string): GatewayError =>
    new GatewayError('upstream', 'The upstream named an address that cannot be read.', { cause: `${way.target.name}: ${why}` })
  const headers = ['accept', '*/*', 'user-agent', 'sluice']
  for (const name of route.forward) if (call.headers[name] !== undefined) headers.push(name, call.headers[name])
  let at: URL
  try {
    at = new URL(String(location))
  } catch {
    throw nowhere('the address is none')
  }
  for (let hops = 0; hops <= MOST_HOPS; hops++) {
    // What lies beside the provider itself may be private, as that is.
    const dispatcher = dispatcherFor(at, world.mayFetchPrivate || at.host === way.target.host)
    if (dispatcher === undefined) throw nowhere('it is not a public address')
    const upstream = await ask(
      { dispatcher, origin: at.origin, method: 'GET', path: at.pathname + at.search, headers, name: way.target.name },
      limits,
      call,
    )
    if (upstream.status < 300 || upstream.status === 304 || upstream.status === 416) return upstream
    upstream.release()
    const next = upstream.header('location')
    if (upstream.status >= 400 || next === undefined) throw nowhere(`it answered with status ${upstream.status}`)
    at = new URL(next, at)
  }
  throw nowhere('it leads on too often')
}
