// Failures by kind, and their form in each dialect. An error of any other class is `internal`: its message shows only the
// request id.

import type { Dialect, ErrorFields, Json, Kind, Member, RoutePlan } from '../plan.js'
import { LONGEST_ID } from './text.js'

export interface ErrorMore {
  /** The exact path of the field at fault. */
  param?: string | undefined
  /** A code of the dialect that is more specific than its kind's; null for none. */
  code?: string | null | undefined
  /** The provider's own error type, if it speaks the client's dialect. */
  type?: string | undefined
  details?: Json
  /** The event of a stream in which a provider of the client's dialect reported the failure. */
  event?: Json
  /** Seconds. */
  retryAfter?: string | undefined
  headers?: Record<string, string>
  /** Details for the log only. */
  cause?: unknown
  /** What a refusal is for, if its kind does not say it: a meter of limits, or `budget`. For metrics and the log. */
  reason?: string
  /** The request is too long for the model. */
  isTooLong?: boolean
  /** The status to answer with, if it is the upstream's own. */
  status?: number | undefined
}

/** A failure with a message that is safe to show to the caller. */
export class GatewayError extends Error {
  constructor(
    readonly kind: Kind,
    message: string,
    readonly more: ErrorMore = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
  }
}

export function asGatewayError(error: unknown): GatewayError {
  return error instanceof GatewayError
    ? error
    : new GatewayError('internal', 'The gateway failed to handle this request.', { cause: error })
}

/** An error in a dialect: the status, headers and body of the answer to request `id`. */
export function renderError(
  dialect: Dialect,
  error: GatewayError,
  id: string,
): { status: number; headers: Record<string, string>; body: string } {
  const facts = fieldsOf(dialect, error, id)
  const { requestIdHeader } = dialect.error
  const headers: Record<string, string> = { 'content-type': dialect.error.type ?? 'application/json', ...error.more.headers }
  if (requestIdHeader !== undefined) headers[requestIdHeader] = id
  if (error.more.retryAfter !== undefined) headers['retry-after'] = error.more.retryAfter
  // Clients retry any 5xx, but a retry cannot help here.
  if (error.kind === 'not_implemented') headers['x-should-retry'] = 'false'
  return { status: facts.status, headers, body: JSON.stringify(said(dialect, facts, dialect.error.body)) }
}

/** A failure in the dialect's form; if that expression fails, in a plain form. */
function said(dialect: Dialect, facts: ErrorFields, say: (facts: ErrorFields) => Json): Json {
  try {
    const words = say(facts)
    if (words !== undefined) return words
  } catch {
    // The expression failed for these fields; the client gets the plain form.
  }
  return { error: { message: facts.message, type: facts.type, param: facts.param, code: facts.code ?? `${dialect.name}_error` } }
}

/** The event, or list of events, that reports a failure inside a stream; `told` holds the first and the last event before it. */
export function errorEvent(dialect: Dialect, error: GatewayError, id: string, told?: { first: Json; last: Json }): Json {
  const facts = { ...fieldsOf(dialect, error, id), ...told, failed: error.more.event }
  return said(dialect, facts, dialect.error.event ?? dialect.error.body)
}

function fieldsOf(dialect: Dialect, error: GatewayError, id: string): ErrorFields {
  const word = dialect.error.kinds[error.kind]
  return {
    kind: error.kind,
    status: error.more.status ?? word.status,
    type: error.more.type ?? word.type,
    message: error.message,
    code: error.more.code === undefined ? word.code : error.more.code,
    param: error.more.param ?? null,
    ...(error.more.details !== undefined && { details: error.more.details }),
    // A provider of the client's dialect has a type, and has said it in its own words.
    ...(error.more.isTooLong && error.more.type === undefined && { reason: 'context_length' as const }),
    request_id: id,
  }
}

/** The caller's id of something that is not its own, whether or not it is another caller's. */
export function unknownId(route: Pick<RoutePlan, 'follow' | 'unknownId'>, id: Json): GatewayError {
  const param = route.follow?.path.at(-1) ?? 'id'
  const { status, code = 'not_found', message } = route.unknownId ?? {}
  const text = message?.split('{id}').join(String(id).slice(0, LONGEST_ID)) ?? `No task of yours has the id in '${param}'.`
  return new GatewayError('not_found', text, { param, code, status })
}

/** The id is the caller's, so it is not unknown: its provider has nothing like this route. */
export function unservedTask({ follow }: Pick<RoutePlan, 'follow'>, id: string): GatewayError {
  return new GatewayError('invalid_request', `The provider of '${id.slice(0, LONGEST_ID)}' does not serve this route.`, {
    param: follow?.path.at(-1) ?? 'id',
    code: 'not_supported',
  })
}

/** A list of an account does not say which of the gateway's models made a task, so what more of it costs is unknown. */
export function modelUnknown({ follow }: Pick<RoutePlan, 'follow'>, id: string): GatewayError {
  const text = `The model of '${id.slice(0, LONGEST_ID)}' is unknown, because the id is from a list: use the id that was returned when it was made.`
  return new GatewayError('invalid_request', text, { param: follow?.path.at(-1) ?? 'id', code: 'not_supported' })
}

/** A request about a task is for its provider, and the model that it names has none there. */
export function elsewhere({ follow }: Pick<RoutePlan, 'follow'>, id: string, model: string): GatewayError {
  const text = `The model '${model}' is not served by the provider that has '${id.slice(0, LONGEST_ID)}': only models of that provider can continue it.`
  return new GatewayError('invalid_request', text, { param: follow?.path.at(-1) ?? 'id', code: 'invalid_value' })
}

/** The failure of what was under way when an exchange ended early; nobody gets it. */
export function nobodyWaits(): GatewayError {
  return new GatewayError('invalid_request', 'The request was ended before it was answered.')
}

/** `member`: where the request names its model. In an address it is easily forgotten, and its dialect may not demand one. */
export function missingModel(member?: Member): GatewayError {
  const how =
    member?.from === 'query' ? ` Add ${member.path.join('.')}=… to the address, or let the operator set default_model in gateway.yaml.` : ''
  return new GatewayError('invalid_request', `Missing required parameter: 'model'.${how}`, {
    param: 'model',
    code: 'missing_required_parameter',
  })
}

/** No target of the model serves the dialect of the route. */
export function unsupportedModel(model: string): GatewayError {
  return new GatewayError('not_found', `The model '${model}' cannot be used on this route.`, {
    param: 'model',
    code: 'model_not_supported',
  })
}

/** What an upstream's status means to a caller. A 401 or 403 is about the gateway's key, not the caller's. */
export function kindOfStatus(status: number): Kind {
  switch (status) {
    case 400:
    case 405:
    case 406:
    case 415:
    case 422:
      return 'invalid_request'
    case 401:
    case 403:
      return 'upstream'
    case 402:
      return 'billing'
    case 404:
    case 410:
      return 'not_found'
    case 408:
    case 504:
      return 'timeout'
    case 409:
      return 'conflict'
    case 413:
      return 'too_large'
    case 429:
      return 'rate_limit'
    case 501:
      return 'not_implemented'
    case 503:
    case 529:
      return 'overloaded'
    default:
      return status >= 400 && status < 500 ? 'invalid_request' : 'upstream'
  }
}
