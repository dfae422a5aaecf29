// Asks one target after the other until one of them gives an answer. Until the answer is handed on nothing has been sent
// to the client, so a failure may go to the next target; what was collected is judged here, too.

import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { describeCause } from '../core/source-map.js'
import { textOf } from '../core/text.js'
import { addUsage, readUsage } from '../core/usage.js'
import type { Body, Context, ErrorRead, Json, Limits, Mapping } from '../plan.js'
import type { Signer } from '../snapshot/signer.js'
import type { Binding, Route, Snapshot } from '../snapshot/snapshot.js'
import { ask, collect, type UpstreamRequest, type UpstreamResponse } from '../upstream/call.js'
import { dispatcherFor, fetchAll } from '../upstream/fetch-media.js'
import { eject, isRetryable, recordSuccess } from '../upstream/outlier-ejection.js'
import { errorFrom, failureFrom } from '../upstream/refusal.js'
import { keepDigitsAt } from '../wire/json/digits.js'
import { lateMember, type MemberSpan, scanMembers } from '../wire/json/scan.js'
import { reshape } from '../wire/json/vectors.js'
import { isSurelyJson } from '../wire/json/well-formed.js'
import type { Choice } from './choose.js'
import { forMapping, type Input } from './read.js'
import { checkServed, contextOf, type Rendered, render } from './render.js'
import { firstEvents } from './stream.js'
import { mappedBody, passedBody, understood } from './whole-answer.js'

/** What an upstream answered, so far as it has been looked at. */
export type Answer = { binding: Binding; rendered: Rendered } & (
  | { kind: 'stream'; upstream: UpstreamResponse /** Events that were read to see that it begins well. */; first: Buffer | undefined }
  | { kind: 'bytes'; upstream: UpstreamResponse }
  /** A whole body of JSON; `body` is what the engine needs of it, at least, and `text` the client's. */
  | { kind: 'whole'; upstream: UpstreamResponse; body: Json; text: Buffer | string }
  /** The client's answer, joined of those of several calls. */
  | { kind: 'joined'; text: string }
)

const ERROR_BODY_LIMIT = 1024 * 1024
/** The largest answer that is held to be translated, or to be sent in one piece. */
const BODY_LIMIT = 64 * 1024 * 1024

/** The first good answer of the bindings in their order. */
export async function send(choice: Choice, input: Input, route: Route, exchange: Exchange, snapshot: Snapshot): Promise<Answer> {
  let failure: GatewayError | undefined
  for (const binding of choice.bindings) {
    exchange.log.target = binding.target.name
    exchange.log.binding = binding
    exchange.log.attempts++
    const limits = binding.target.limits ? { ...route.limits, ...binding.target.limits } : route.limits
    try {
      const answer = await attempt(binding, choice, input, route, limits, exchange, snapshot)
      recordSuccess(binding.target)
      return answer
    } catch (thrown) {
      const error = asGatewayError(thrown instanceof RangeError ? tooDeep(thrown) : thrown)
      if (exchange.isAborted || !isRetryable(error)) throw error
      eject(binding.target, error)
      if (binding !== choice.bindings.at(-1)) noteFailure(exchange, binding, error)
      failure = error
      // What has been sent of a form is gone, and what the exchange may take all in all is used up.
      if (input.form?.isWhole === false || (limits.total !== null && now() >= exchange.began + limits.total)) throw error
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

function noteFailure({ log }: Exchange, binding: Binding, error: GatewayError): void {
  log.failed ??= []
  log.failed.push({ target: binding.target.name, kind: error.kind, cause: describeCause(error.cause ?? error.message) })
}

/** Where the stack ends while a request is translated: what is an upstream's has been judged before. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}

async function attempt(
  binding: Binding,
  choice: Choice,
  asked: Input,
  route: Route,
  limits: Limits,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<Answer> {
  const input = binding.mapping ? await forMapping(asked, route, binding.from) : asked
  const ctx = contextOf(binding, choice, input, exchange)
  if (binding.next && binding.mapping?.refused?.(input.body, ctx)) {
    const { form, ...whole } = input
    return attempt(binding.next, choice, form ? whole : input, route, limits, exchange, snapshot)
  }
  const unnamed = checkServed(binding, input, ctx)
  const urls = binding.mapping?.fetch?.(input.body, ctx)
  if (Array.isArray(urls) && urls.length > 0) ctx.fetched = await fetchAll(urls, exchange, snapshot.mayFetchPrivate)
  const parts = binding.mapping?.split?.(input.body, ctx)
  if (Array.isArray(parts) && parts.length > 1) {
    const { rendered, body } = await askParts(parts, binding, choice, input, route, limits, exchange, ctx, unnamed)
    return { kind: 'joined', binding, rendered, text: understood(() => mappedBody(body(), binding, route, input, exchange)) }
  }
  if (input.stream && binding.mapping && !binding.mapping.stream)
    throw new GatewayError('not_implemented', 'This model cannot stream on this route.')
  const rendered = render(binding, choice, input, route, exchange, ctx, unnamed)
  input.forget?.()
  const upstream = await ask(signedRequest(binding, rendered), limits, exchange)
  if (isRefusal(upstream, binding)) throw await refusalOf(upstream, binding)
  const type = typeOf(upstream)
  if (input.stream || binding.to.stream?.isOptional) {
    if (!binding.to.stream?.isOptional || type === STREAM) {
      const first = await firstEvents(upstream, binding)
      return { kind: 'stream', binding, rendered, upstream, first }
    }
  }
  if (binding.to.response === 'bytes' && type !== JSON_TYPE) return { kind: 'bytes', binding, rendered, upstream }
  upstream.startIdle()
  const bytes = withinLimit(await collect(upstream, BODY_LIMIT))
  const body = understood(() => read(bytes, binding))
  const { mapping } = binding
  if (mapping === undefined)
    return { kind: 'whole', binding, rendered, upstream, body, text: understood(() => passedBody(bytes, binding, input, exchange)) }
  const answer = understood(() => readAnswer(body, binding, ctx, rendered.carry))
  const location = understood(() => mapping.location?.(answer, ctx, rendered.carry))
  if (location !== undefined)
    return { kind: 'bytes', binding, rendered, upstream: await locate(location, binding, route, limits, exchange, snapshot) }
  const text = understood(() => mappedBody(mapping.response?.(answer, ctx, rendered.carry), binding, route, input, exchange))
  return { kind: 'whole', binding, rendered, upstream, body: answer, text }
}

/** A provider's answer as a mapping may see it. Throws where it tells of a failure, and where it is none. */
function readAnswer(body: Json, binding: Binding, ctx: Context, carry: Json): Json {
  const failure = failureFrom(binding.mapping?.failure?.(body, ctx, carry), binding)
  if (failure) throw failure
  return binding.to.normaliseResponse ? binding.to.normaliseResponse(body) : body
}

const STREAM = 'text/event-stream'
const JSON_TYPE = 'application/json'

function typeOf(upstream: UpstreamResponse): string {
  const type = upstream.header('content-type')
  if (type === undefined || type === JSON_TYPE) return type ?? ''
  return (type.split(';')[0] as string).trim().toLowerCase()
}

function signedRequest(binding: Binding, { request }: Rendered): UpstreamRequest {
  return binding.signer ? signed(request, binding.signer, binding) : request
}

/** Where an answer leads on to is nobody's business here, and not an answer. */
function isRefusal({ status }: UpstreamResponse, binding: Binding): boolean {
  return status >= 300 && !(binding.to.response === 'bytes' && (status === 304 || status === 416))
}

function signed(request: UpstreamRequest, signer: Signer, binding: Binding): UpstreamRequest {
  const { body, ...rest } = request
  if (body !== undefined && typeof body !== 'string' && !Buffer.isBuffer(body))
    throw new GatewayError('not_implemented', 'What is sent while it arrives cannot be signed, as the provider of this model wants it.')
  const proof = signer({ ...rest, ...(body !== undefined && { body }) }, binding.target.host, Date.now())
  return { ...request, headers: [...request.headers, ...proof] }
}

/** What an upstream's refusal means to the caller. */
async function refusalOf(upstream: UpstreamResponse, binding: Binding): Promise<GatewayError> {
  const bytes = await collect(upstream, ERROR_BODY_LIMIT).catch(() => undefined)
  let read: ErrorRead | undefined
  try {
    read = binding.to.error.read(JSON.parse(bytes?.toString('utf8') ?? ''), upstream.status)
  } catch {
    // Not JSON: a proxy's page, or nothing. Its status says enough.
  }
  return errorFrom(read, upstream.status, binding, upstream)
}

// Whole answers --------------------------------------------------------------------------------------------------

function withinLimit(bytes: Buffer | undefined): Buffer {
  if (bytes === undefined) throw new GatewayError('upstream', 'The answer of the upstream is too large.')
  return bytes
}

/** What the engine needs of an answer, at least. */
function read(bytes: Buffer, binding: Binding): Json {
  if (binding.mapping === undefined) return (isSurelyJson(bytes) ? peekUsage(bytes, binding) : undefined) ?? parse(bytes, binding)
  // A mapping is shown numbers, whatever form the provider has given them.
  const kept = keepDigitsAt(bytes, binding.to.verbatim?.response)
  return parse(binding.to.vectors ? reshape(kept, binding.to.vectors.path, false) : kept, binding)
}

/** Only what the log wants of an answer that passes; nothing where the whole has to be looked at. */
function peekUsage(bytes: Buffer, binding: Binding): Json | undefined {
  const members = binding.to.usageMembers
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

function parse(bytes: Buffer, binding: Binding): Json {
  let body: Json
  try {
    body = JSON.parse(textOf(bytes))
  } catch {
    throw new GatewayError('upstream', 'The upstream sent something that is not valid.', {
      cause: `${binding.target.name}: the body is not JSON`,
    })
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError('upstream', 'The upstream sent something that is not valid.', {
      cause: `${binding.target.name}: the body is no object`,
    })
  // Some upstreams answer 200 and an error.
  if ('error' in body && binding.to.stream?.fail?.read(body)) throw errorFrom(binding.to.error.read(body, undefined), 502, binding)
  return body
}

// Several calls for one request ------------------------------------------------------------------------------------

const MOST_PARTS = 64
/** How many of them run at a time. */
const WIDTH = 4

async function askParts(
  parts: readonly Json[],
  binding: Binding,
  choice: Choice,
  input: Input,
  route: Route,
  limits: Limits,
  exchange: Exchange,
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
  const mapping = binding.mapping as Mapping
  const answers: Json[] = new Array(parts.length)
  const rendered: Rendered[] = []
  let next = 0
  const work = async (): Promise<void> => {
    while (next < parts.length) {
      const index = next++
      const part = { ...input, body: parts[index] as Body, outline: parts[index] as Body }
      const id = `${ctx.id.slice(4)}${String(index).padStart(4, '0')}`
      const one = render(binding, choice, part, route, exchange, { ...ctx, id }, unnamed)
      rendered[index] = one
      const upstream = await ask(signedRequest(binding, one), limits, exchange)
      if (isRefusal(upstream, binding)) throw await refusalOf(upstream, binding)
      upstream.startIdle()
      const bytes = withinLimit(await collect(upstream, BODY_LIMIT))
      answers[index] = understood(() => {
        const body = readAnswer(read(bytes, binding), binding, one.ctx, one.carry)
        noteUsage(exchange, binding, body)
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

function noteUsage(exchange: Exchange, binding: Binding, body: Json): void {
  addUsage(exchange.log, readUsage(binding.to.usage, body))
}

// Answers that lie elsewhere ---------------------------------------------------------------------------------------

const MOST_HOPS = 3

/** The bytes at an address that the provider named. Its credential is not sent there. */
async function locate(
  location: Json,
  binding: Binding,
  route: Route,
  limits: Limits,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<UpstreamResponse> {
  const notFound = (why: string): GatewayError =>
    new GatewayError('upstream', 'The upstream named an address that cannot be read.', { cause: `${binding.target.name}: ${why}` })
  const headers = ['accept', '*/*', 'user-agent', 'sluice']
  for (const name of route.forward) if (exchange.headers[name] !== undefined) headers.push(name, exchange.headers[name])
  let at: URL
  try {
    at = new URL(String(location))
  } catch {
    throw notFound('the address is none')
  }
  for (let hops = 0; hops <= MOST_HOPS; hops++) {
    // What lies beside the provider itself may be private, as that is.
    const dispatcher = dispatcherFor(at, snapshot.mayFetchPrivate || at.host === binding.target.host)
    if (dispatcher === undefined) throw notFound('it is not a public address')
    const upstream = await ask(
      { dispatcher, origin: at.origin, method: 'GET', path: at.pathname + at.search, headers, name: binding.target.name },
      limits,
      exchange,
    )
    if (upstream.status < 300 || upstream.status === 304 || upstream.status === 416) return upstream
    upstream.release()
    const next = upstream.header('location')
    if (upstream.status >= 400 || next === undefined) throw notFound(`it answered with status ${upstream.status}`)
    at = new URL(next, at)
  }
  throw notFound('it leads on too often')
}
