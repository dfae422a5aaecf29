// Errors of the admin API as answers (RFC 9457).

import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { Logger } from 'pino'
import { Problem } from '../problem.js'
import { StoreUnreachable } from '../store/keeper.js'
import { isUnwritable } from '../store/refused.js'

export function answerError(error: FastifyError | Problem, request: FastifyRequest, reply: FastifyReply, log: Logger): FastifyReply {
  if (error instanceof Problem) return sendProblem(reply, error)
  if (error instanceof StoreUnreachable || isConnectionFailure(error)) return sendAway(reply, 'The store is unreachable.')
  if (isUnwritable(error)) return sendAway(reply, 'The store cannot be written at the moment: it may only be read, or its disk is full.')
  if (error.validation !== undefined) return sendProblem(reply, invalid(error))
  const status = error.statusCode ?? 500
  if (status < 500) return sendProblem(reply, new Problem(status, 'invalid', error.message))
  log.error({ method: request.method, path: request.routeOptions.url, cause: error.message }, 'the admin API failed')
  return sendProblem(reply, new Problem(500, 'internal', 'Internal error; the log of the gateway contains the reason.'))
}

const sendAway = (reply: FastifyReply, why: string): FastifyReply =>
  sendProblem(reply.header('retry-after', '1'), new Problem(503, 'store_away', why))

/** The first violation of the document's schema, with the path of the field. */
function invalid({ validation, validationContext }: FastifyError): Problem {
  const first = validation?.[0]
  const { missingProperty, additionalProperty } = (first?.params ?? {}) as { missingProperty?: string; additionalProperty?: string }
  const path = (first?.instancePath ?? '').split('/').slice(1)
  const field = [...path, missingProperty ?? additionalProperty].filter(part => part !== undefined).join('.')
  const place = PLACES[validationContext ?? ''] ?? validationContext ?? 'request'
  if (missingProperty !== undefined) return new Problem(422, 'invalid', `The ${place} lacks ${field}.`, field)
  if (additionalProperty !== undefined) return new Problem(422, 'invalid', `The ${place} may not have ${field}.`, field)
  const at = field === '' ? `The ${place}` : `In the ${place}, ${field}`
  return new Problem(422, 'invalid', `${at} ${wordsOf(first)}.`, field)
}

type Params = Readonly<Record<string, unknown>>

/** What is wrong with a value, by the keyword of the schema. */
const WORDS: Readonly<Record<string, (params: Params) => string>> = {
  type: ({ type }) => `must be ${[type].flat().join(' or ')}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).map(String).join(', ')}`,
  minimum: ({ limit }) => `must be ${limit} or more`,
  maximum: ({ limit }) => `must be ${limit} or less`,
  minLength: ({ limit }) => `must have ${limit} or more characters`,
  maxLength: ({ limit }) => `must have ${limit} or fewer characters`,
  minItems: ({ limit }) => `must have ${limit} or more items`,
  maxItems: ({ limit }) => `must have ${limit} or fewer items`,
  uniqueItems: () => 'must have each item once',
  minProperties: () => 'must have a member',
}

/** What is wrong with a value: a pattern is told by its title, since few people read regular expressions. */
function wordsOf(error: (FastifySchemaValidationError & { parentSchema?: { title?: string } }) | undefined): string {
  const title = error?.keyword === 'pattern' ? error.parentSchema?.title : undefined
  if (title !== undefined) return `must be ${title}`
  return WORDS[error?.keyword ?? '']?.(error?.params ?? {}) ?? error?.message ?? 'is wrong'
}

/** What Fastify calls the parts of a request. */
const PLACES: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' }

/** The error codes of Node and Postgres for an unreachable database. */
function isConnectionFailure(error: Error & { code?: string }): boolean {
  return (
    /^(ECONN|ENOENT$|EPIPE$|ETIMEDOUT$|57P0|08)/.test(error.code ?? '') ||
    /connection (terminated|timeout)|timeout exceeded when trying to connect/i.test(error.message)
  )
}

export function sendProblem(reply: FastifyReply, { status, code, message, field }: Problem): FastifyReply {
  return reply
    .code(status)
    .type('application/problem+json')
    .send(JSON.stringify({ type: 'about:blank', status, title: message, code, ...(field !== undefined && { field }) }))
}
