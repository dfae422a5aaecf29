// The admin API: on a Unix socket, whose user is the owner, and optionally on a network address with tokens.

import { chmodSync, rmSync } from 'node:fs'
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { asPattern } from '../../engine/core/text.js'
import type { Actor } from '../audit.js'
import { Problem } from '../problem.js'
import type { Keeper } from '../store/keeper.js'
import type { Store } from '../store/store.js'
import type { ApiDocument } from './document.js'
import { answerError, sendProblem } from './errors.js'
import type { Handler, Handlers } from './handlers/handler.js'
import { checkQuery, without } from './hidden.js'
import { IdempotentWrites } from './idempotency.js'
import { actorOf } from './tokens.js'

export interface AdminOptions {
  api: ApiDocument
  handlers: Handlers
  keeper: Keeper
  /** The metrics page, and its content type. */
  metrics(isOpenMetrics: boolean): Promise<{ type: string; text: string }>
  log: Logger
}

/** Bytes: enough for ten thousand imported keys. */
const LARGEST_BODY = 16 * 1024 * 1024

/** The operation without a token: its link contains a code. */
const FIRST = 'tokens.first'
const NOBODY: Actor = { name: 'first', via: 'link', role: 'none' }

const OWNER: Actor = { name: 'owner', via: 'socket', role: 'owner' }

/** Identifies the actor of a request. Throws if it has no valid token. */
type Authenticate = (request: FastifyRequest, store: Store) => Promise<Actor>

type Authorized = FastifyRequest & { actor: Actor }

export interface Admin {
  /** The URL of the network address beside the socket. */
  url: string | undefined
  close(): Promise<void>
}

/** Listens on the socket, and on the network address if it is given and free. Rejects if the socket cannot be opened. */
export async function serveAdmin(
  options: AdminOptions,
  socket: string,
  listen: { host: string; port: number } | undefined,
): Promise<Admin> {
  const own = build(options, async () => OWNER)
  rmSync(socket, { force: true })
  await own.listen({ path: socket })
  chmodSync(socket, 0o600)
  if (listen === undefined) return { url: undefined, close: () => own.close() }
  const open = build(options, byToken)
  open.get('/metrics', async (request, reply) => {
    const { type, text } = await options.metrics(/\bapplication\/openmetrics-text\b/i.test(request.headers.accept ?? ''))
    return reply.type(type).send(text)
  })
  try {
    const url = await open.listen(listen)
    return { url, close: async () => void (await Promise.all([own.close(), open.close()])) }
  } catch (error) {
    // Only remote access is lost: keys and usage continue.
    options.log.error({ ...listen, cause: String(error) }, 'the admin API cannot listen on its address; its socket still works')
    return { url: undefined, close: () => own.close() }
  }
}

async function byToken(request: FastifyRequest, store: Store): Promise<Actor> {
  const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const actor = token === undefined ? undefined : await actorOf(store, token)
  if (actor === undefined) throw new Problem(401, 'token', 'This API requires one of its tokens: Authorization: Bearer sk-adm_…')
  return actor
}

function build(options: AdminOptions, who: Authenticate): FastifyInstance {
  const { api, handlers, log } = options
  const writes = new IdempotentWrites()
  const app = Fastify({
    bodyLimit: LARGEST_BODY,
    forceCloseConnections: true,
    // Errors before any operation is found, such as a path that cannot be decoded.
    frameworkErrors: (error, request, reply) => void answerError(error, request, reply, log),
  })
  // Numbers and booleans of a query are texts; those of a body have their own types.
  const [texts, bodies] = [true, false].map(
    coerceTypes => new Ajv2020({ coerceTypes, useDefaults: true, allErrors: true, strict: false, verbose: true }),
  )
  app.setValidatorCompiler(({ schema, httpPart }) => atFirstUse((httpPart === 'body' ? bodies : texts) as Ajv2020, schema as object))
  app.setErrorHandler((error: FastifyError | Problem, request, reply) => answerError(error, request, reply, log))
  app.addHook('preValidation', async ({ is404, params, query, body }) => {
    if (is404) return
    for (const [place, said] of Object.entries({ path: params, query, body })) {
      const field = memberWithNull(said)
      if (field !== undefined)
        throw new Problem(422, 'invalid', `In the ${place}, ${field} has the character U+0000, which no store holds.`, field)
    }
  })
  const known = api.operations.map(({ method, url }) => ({
    method,
    path: new RegExp(`^${url.split(/:\w+/).map(asPattern).join('[^/]+')}$`),
  }))
  app.setNotFoundHandler(({ method, url }, reply) => {
    const [path = ''] = url.split('?')
    const allowed = known.filter(one => one.path.test(path)).map(one => one.method)
    if (allowed.length === 0)
      return sendProblem(
        reply,
        new Problem(404, 'not_found', 'This operation does not exist; GET /admin/v1/openapi.json lists all operations.'),
      )
    reply.header('allow', allowed.join(', '))
    return sendProblem(reply, new Problem(405, 'method_not_allowed', `${path} does not take ${method}.`))
  })
  for (const { id, method, url, schema } of api.operations) {
    const handler = handlers[id]
    if (handler === undefined) throw new Error(`the operation ${id} has no handler`)
    const hidden = (role: string): readonly string[] => api.hidden(role, id)
    const isRepeatable = method === 'POST' && id !== FIRST
    app.route({
      method,
      url,
      schema,
      // Before the body is read: without permission there is no detail about it.
      onRequest: async request => {
        ;(request as Authorized).actor = await authorize(id, request, options, who)
      },
      handler: (request, reply) =>
        execute(handler, { request: request as Authorized, reply, hidden, writes: isRepeatable ? writes : undefined }, options),
    })
  }
  return app
}

/** Identifies the actor. Throws if it may not call the operation. */
async function authorize(id: string, request: FastifyRequest, { api, keeper }: AdminOptions, who: Authenticate): Promise<Actor> {
  // Whoever has the link has no token yet.
  if (id === FIRST) return NOBODY
  const actor = await who(request, keeper.get())
  if (!api.may(actor.role, id)) throw new Problem(403, 'role', `The role ${actor.role} does not permit ${id}.`)
  return actor
}

interface Execution {
  request: Authorized
  reply: FastifyReply
  /** What a role does not see of the answer. */
  hidden(role: string): readonly string[]
  /** Undefined for an operation that an `Idempotency-Key` does not apply to. */
  writes: IdempotentWrites | undefined
}

/** Runs a handler. The answer has no member that the actor's role does not see. */
async function execute(handler: Handler, execution: Execution, options: AdminOptions): Promise<unknown> {
  const { actor, query } = execution.request
  const hidden = execution.hidden(actor.role)
  if (hidden.length === 0) return executeOnce(handler, execution, options)
  checkQuery(actor.role, hidden, query as Record<string, unknown>)
  return without(await executeOnce(handler, execution, options), hidden)
}

/** Runs a handler; a write with an `Idempotency-Key` only once. */
async function executeOnce(handler: Handler, { request, reply, writes }: Execution, { keeper }: AdminOptions): Promise<unknown> {
  const { actor } = request
  const run = async (): Promise<unknown> => handler({ store: keeper.get(), actor, request, reply })
  const key = request.headers['idempotency-key']
  if (writes === undefined || typeof key !== 'string' || key === '') return run()
  const content = JSON.stringify([request.url, request.body])
  const { status, body, isRepeat } = await writes.once(`${actor.via} ${actor.name}\n${key}`, content, async () => {
    const result = await run()
    return { status: reply.statusCode, body: result }
  })
  if (isRepeat) reply.header('idempotent-replayed', 'true')
  reply.code(status)
  return body
}

interface Validator {
  (value: unknown): boolean
  errors: ErrorObject[] | null
}

/** A validator as Fastify calls them. To compile all of them takes a quarter of the time in which the process starts. */
function atFirstUse(ajv: Ajv2020, schema: object): Validator {
  let check: ValidateFunction | undefined
  const validate: Validator = Object.assign(
    (value: unknown): boolean => {
      check ??= ajv.compile(schema)
      const isValid = check(value)
      validate.errors = check.errors ?? null
      return isValid
    },
    { errors: null },
  )
  return validate
}

/** The first member of an object that has a null character, at any depth. */
function memberWithNull(object: unknown): string | undefined {
  return Object.entries(object ?? {}).find(([name, value]) => name.includes('\0') || hasNull(value))?.[0]
}

/** Without recursion: a body may be nested deeper than the stack. */
function hasNull(value: unknown): boolean {
  const waiting = [value]
  while (waiting.length > 0) {
    const one = waiting.pop()
    if (typeof one === 'string' && one.includes('\0')) return true
    if (typeof one !== 'object' || one === null) continue
    for (const [name, inner] of Object.entries(one)) waiting.push(name, inner)
  }
  return false
}
