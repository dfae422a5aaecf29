// Failures by kind, and how a dialect says them. An error of any other class is `internal` and says nothing but its id.

import type { Dialect, ErrorFields, Json, Kind } from '../plan.js'

export interface ErrorMore {
  /** The exact path of the field that is meant. */
  param?: string | undefined
  /** A word of the dialect for this case, where its kind's own is too wide; null for none at all. */
  code?: string | null | undefined
  /** The provider's own word for the kind of failure, where it speaks the client's dialect. */
  type?: string | undefined
  details?: Json
  /** Seconds. */
  retryAfter?: string | undefined
  headers?: Record<string, string>
  /** What the log should say beside the message. */
  cause?: unknown
  /** The request is too long for the model that was asked. */
  isTooLong?: boolean
  /** The status to answer with, where an upstream's is kept. */
  status?: number | undefined
}

/** A failure that the caller is told of, in words that are safe to be told. */
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

/** An error in a dialect: the status, headers and body of an answer to request `id`. */
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
  // Clients try again after any 5xx; what is not implemented will not be by then.
  if (error.kind === 'not_implemented') headers['x-should-retry'] = 'false'
  return { status: facts.status, headers, body: JSON.stringify(said(dialect, facts, dialect.error.body)) }
}

/** A failure in a dialect's words; where those fail themselves, in plain ones. */
function said(dialect: Dialect, facts: ErrorFields, say: (facts: ErrorFields) => Json): Json {
  try {
    const words = say(facts)
    if (words !== undefined) return words
  } catch {
    // The expression is wrong for these facts; the client is to be told all the same.
  }
  return { error: { message: facts.message, type: facts.type, param: facts.param, code: facts.code ?? `${dialect.name}_error` } }
}

/** The event that tells of a failure inside a stream, or a list of them; `told` are the first and the last one before it. */
export function errorEvent(dialect: Dialect, error: GatewayError, id: string, told?: { first: Json; last: Json }): Json {
  const facts = { ...fieldsOf(dialect, error, id), ...told }
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
    request_id: id,
  }
}

/** What the caller names is no task of its own, whether or not it is somebody else's. */
export function unknownTask(param: string): GatewayError {
  return new GatewayError('not_found', `There is no task of yours with the id given as '${param}'.`, { param, code: 'not_found' })
}

export function missingModel(): GatewayError {
  return new GatewayError('invalid_request', `Missing required parameter: 'model'.`, { param: 'model', code: 'missing_required_parameter' })
}

/** No target of the model serves the dialect of the route. */
export function unsupportedModel(model: string): GatewayError {
  return new GatewayError('not_found', `The model '${model}' cannot be used on this route.`, {
    param: 'model',
    code: 'model_not_supported',
  })
}

/** What an upstream's status means to a caller. Its 401 and 403 are about our key, not the caller's. */
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
