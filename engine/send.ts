// One upstream call at a time, under its deadlines and the client's abort, until one of the targets gives an answer.
// Until the answer is handed on nothing has been sent to the client, so a failure may go to the next target.

import type { Dispatcher } from 'undici'
import type { Choice } from './choose.js'
import { type Deadline, now, unwatch, watch } from './deadlines.js'
import { asGatewayError, GatewayError, kindOfStatus } from './errors.js'
import type { Exchange } from './exchange.js'
import { fetchAll } from './inline.js'
import { mask } from './mask.js'
import type { ErrorRead, Json, Limits } from './plan.js'
import type { Input } from './read.js'
import { contextOf, type Rendered, render } from './render.js'
import type { Route, Way, World } from './world.js'

/** Takes the body of an answer as it comes. */
export interface Receiver {
  data(chunk: Buffer): void
  end(): void
  /** The connection broke, or a deadline passed. */
  fail(error: GatewayError): void
}

/** An upstream's answer: its head is there, its body is on its way. */
export interface Upstream {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Hands over what has come and what will come. */
  receive(receiver: Receiver): void
  /** Keeps what comes from now on for the next receiver. */
  detach(): void
  pause(): void
  resume(): void
  /** Gives the call up. */
  cancel(): void
  /** Wants no more of it: what is left may come, so that the connection can be used again, but not for long. */
  release(): void
  /** From now on the time between two pieces is limited, not that to the first. */
  startIdle(): void
}

export interface Answer {
  way: Way
  rendered: Rendered
  upstream: Upstream
  /** Events that were read to see that the stream begins well, still to be handled. */
  first: Buffer | undefined
}

const ERROR_BODY_LIMIT = 1024 * 1024

/** The first good answer of the ways in their order. `begins` looks at the beginning of a stream and may reject it. */
export async function send(
  choice: Choice,
  input: Input,
  route: Route,
  call: Exchange,
  world: World,
  begins: (upstream: Upstream, way: Way) => Promise<Buffer | undefined>,
): Promise<Answer> {
  let failure: GatewayError | undefined
  for (const way of choice.ways) {
    call.log.target = way.target.name
    call.log.attempts++
    const ctx = contextOf(way, choice.model, input, call)
    try {
      const urls = way.mapping?.fetch?.(input.body, ctx)
      if (Array.isArray(urls) && urls.length > 0) ctx.fetched = await fetchAll(urls, call, world.mayFetchPrivate)
      const rendered = render(way, choice.model, input, route, call, ctx)
      const upstream = await dispatch(way, rendered, way.target.limits ? { ...route.limits, ...way.target.limits } : route.limits, call)
      if (upstream.status >= 400) throw await upstreamError(upstream, way)
      const first = input.stream ? await begins(upstream, way) : undefined
      way.target.health.failures = 0
      way.target.health.asideUntil = 0
      return { way, rendered, upstream, first }
    } catch (thrown) {
      const error = asGatewayError(thrown)
      if (call.isAborted() || !mayMoveOn(error)) throw error
      putAside(way, error)
      failure = error
    }
  }
  throw (
    failure ??
    new GatewayError('not_found', `The model '${choice.model.name}' cannot be used on this route.`, {
      param: 'model',
      code: 'model_not_supported',
    })
  )
}

/** What one target refuses for its own reasons, another may serve; what is wrong with the request is wrong everywhere. */
const FINAL: ReadonlySet<string> = new Set([
  'invalid_request',
  'too_large',
  'unsupported_media',
  'internal',
  'permission',
  'authentication',
])

function mayMoveOn(error: GatewayError): boolean {
  return !FINAL.has(error.kind)
}

const ASIDE = 5_000
const ASIDE_MOST = 120_000

function putAside(way: Way, error: GatewayError): void {
  const { health } = way.target
  health.failures++
  const asked = Number(error.more.retryAfter) * 1000
  const time = Number.isFinite(asked) && asked > 0 ? Math.min(asked, ASIDE_MOST) : Math.min(ASIDE * 2 ** (health.failures - 1), ASIDE_MOST)
  health.asideUntil = now() + time
}

/** Calls an upstream; resolves when the head of its answer is there. */
export function dispatch(way: Way, rendered: Rendered, limits: Limits, call: Exchange): Promise<Upstream> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined
    let receiver: Receiver | undefined
    let waiting: Buffer[] | undefined
    let phase: 'connect' | 'headers' | 'first event' | 'idle' | 'released' = 'connect'
    let isOver = false
    let isPaused = false
    let failure: GatewayError | undefined
    // All targets together: what an earlier one took is gone.
    const total = limits.total === null ? Number.POSITIVE_INFINITY : call.began + limits.total
    const deadline: Deadline = {
      due: 0,
      fire: () =>
        finish(
          new GatewayError(
            'timeout',
            now() >= total ? 'The upstream took longer than the whole request may take.' : (WORDS[phase] as string),
          ),
        ),
    }
    const arm = (time: number): void => {
      deadline.due = Math.min(now() + time, total)
    }
    arm(limits.connect)
    watch(deadline)

    const finish = (error: GatewayError | undefined): void => {
      if (isOver) return
      isOver = true
      unwatch(deadline)
      failure = error
      if (error && controller && !controller.aborted) controller.abort(error)
      if (phase === 'connect' || phase === 'headers') reject(error)
      else if (receiver && !waiting) error ? receiver.fail(error) : receiver.end()
    }
    call.onAbort(() => finish(new GatewayError('upstream', 'The client went away.')))

    const keptBack = (chunk: Buffer): void => {
      waiting?.push(chunk)
    }
    const upstream: Upstream = {
      status: 0,
      headers: {},
      receive(taker) {
        receiver = taker
        const chunks = waiting ?? []
        waiting = undefined
        for (const chunk of chunks) {
          // A taker that has what it wants detaches itself; the rest is for the next one.
          if (receiver === taker) taker.data(chunk)
          else keptBack(chunk)
        }
        if (receiver !== taker) return
        if (isOver) failure ? taker.fail(failure) : taker.end()
      },
      detach() {
        receiver = undefined
        waiting = []
      },
      pause() {
        if (isPaused || isOver) return
        isPaused = true
        // While the client is slow, the upstream is not the one who is late.
        deadline.due = total
        controller?.pause()
      },
      resume() {
        if (!isPaused || isOver) return
        isPaused = false
        arm(limits.idle)
        controller?.resume()
      },
      cancel() {
        if (isOver) return
        isOver = true
        unwatch(deadline)
        if (controller && !controller.aborted) controller.abort(CANCELLED)
      },
      release() {
        if (isOver) return
        receiver = NOBODY
        waiting = undefined
        if (isPaused) {
          isPaused = false
          controller?.resume()
        }
        deadline.due = now() + RELEASE
        phase = 'released'
      },
      startIdle() {
        phase = 'idle'
        if (!isOver) arm(limits.idle)
      },
    }

    way.pool.dispatch(
      { method: 'POST', path: rendered.path, headers: rendered.headers, body: rendered.body, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart(given) {
          controller = given
          if (isOver) return given.abort(failure ?? CANCELLED)
          phase = 'headers'
          arm(limits.headers)
        },
        onResponseStart(_controller, status, headers) {
          if (status < 200 || isOver) return
          phase = 'first event'
          arm(limits.first_event)
          upstream.status = status
          upstream.headers = headers
          waiting = []
          resolve(upstream)
        },
        onResponseData(_controller, chunk) {
          if (isOver) return
          if (phase === 'idle' && !isPaused) deadline.due = Math.min(now() + limits.idle, total)
          if (receiver && !waiting) receiver.data(chunk)
          else waiting?.push(chunk)
        },
        onResponseEnd() {
          if (receiver && !waiting) finish(undefined)
          else if (!isOver) {
            isOver = true
            unwatch(deadline)
          }
        },
        onResponseError(_controller, error) {
          finish(transportError(error, way))
        },
      },
    )
  })
}

/** How long the rest of an answer may take that nobody waits for: milliseconds. */
const RELEASE = 1_000
const NOBODY: Receiver = { data: () => {}, end: () => {}, fail: () => {} }

const CANCELLED = new Error('the call is not needed any more')
CANCELLED.stack = ''

const WORDS: Readonly<Record<string, string>> = {
  connect: 'The upstream could not be reached in time.',
  headers: 'The upstream did not answer in time.',
  'first event': 'The upstream did not begin its answer in time.',
  idle: 'The upstream fell silent in the middle of its answer.',
}

function transportError(error: Error, way: Way): GatewayError {
  const code = (error as { code?: string }).code ?? error.name
  return new GatewayError('upstream', 'The connection to the upstream failed.', { cause: `${way.target.name}: ${code} ${error.message}` })
}

/** Collects a body up to a limit; over it, `undefined`. */
export function collect(upstream: Upstream, limit: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    upstream.receive({
      data(chunk) {
        length += chunk.length
        if (length > limit) {
          upstream.cancel()
          resolve(undefined)
        } else {
          chunks.push(chunk)
        }
      },
      end: () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)),
      fail: reject,
    })
  })
}

/** What an upstream's refusal means to the caller. */
async function upstreamError(upstream: Upstream, way: Way): Promise<GatewayError> {
  const bytes = await collect(upstream, ERROR_BODY_LIMIT).catch(() => undefined)
  let read: ErrorRead | undefined
  try {
    read = way.to.error.read(JSON.parse(bytes?.toString('utf8') ?? ''))
  } catch {
    // Not JSON: a proxy's page, or nothing. Its status says enough.
  }
  return errorFrom(read, upstream.status, way, upstream.headers['retry-after'])
}

/** Details with every text in them masked. */
function masked(details: Json, way: Way): Json {
  return JSON.parse(JSON.stringify(details), (_key, value) => (typeof value === 'string' ? mask(value, way.target) : value))
}

/** An error that an upstream told, in a body or inside a stream. */
export function errorFrom(read: ErrorRead | undefined, status: number, way: Way, retryAfter?: string | string[]): GatewayError {
  const kind = kindOfStatus(status)
  const isOurs = status === 401 || status === 403
  const said = typeof read?.message === 'string' && read.message !== '' ? mask(read.message, way.target) : undefined
  const message = isOurs ? 'The upstream refused the gateway.' : (said ?? `The upstream answered with status ${status}.`)
  const isSame = way.mapping === undefined && !isOurs
  return new GatewayError(kind, message, {
    cause: `${way.target.name} answered ${status}${said === undefined ? '' : `: ${said}`}`,
    ...(typeof read?.code === 'string' && !isOurs && { code: mask(read.code, way.target) }),
    ...(typeof read?.param === 'string' && isSame && { param: mask(read.param, way.target) }),
    ...(read?.details !== undefined && isSame && { details: masked(read.details, way) }),
    ...(typeof retryAfter === 'string' && /^\d+$/.test(retryAfter) && { retryAfter }),
  })
}
