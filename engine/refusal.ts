// What an upstream's refusal means to the caller: a kind, in words that are safe to be told.

import { GatewayError, kindOfStatus } from './errors.js'
import { mask } from './mask.js'
import type { Dialect, ErrorRead, Json, Kind } from './plan.js'
import type { Way } from './world.js'

/** An error that an upstream told, in a body or inside a stream. */
export function errorFrom(read: ErrorRead | undefined, status: number, way: Way, retryAfter?: string | string[]): GatewayError {
  // Where the dialect's own reading says what has happened, the status does not matter.
  const said = typeof read?.kind === 'string' && Object.hasOwn(way.to.error.kinds, read.kind) ? (read.kind as Kind) : undefined
  // What it says of a key is about ours, not the caller's.
  const isOurs = said === undefined ? status === 401 || status === 403 : said === 'authentication' || said === 'permission'
  const kind = isOurs ? 'upstream' : (said ?? kindOfStatus(status))
  const words = typeof read?.message === 'string' && read.message !== '' ? mask(read.message, way.target) : undefined
  const message = isOurs ? 'The upstream refused the gateway.' : (words ?? `The upstream answered with status ${status}.`)
  const isSame = way.mapping === undefined && !isOurs
  return new GatewayError(kind, message, {
    cause: `${way.target.name} answered ${status}${words === undefined ? '' : `: ${words}`}`,
    ...(typeof read?.code === 'string' && !isOurs && { code: mask(read.code, way.target) }),
    ...(typeof read?.param === 'string' && isSame && { param: mask(read.param, way.target) }),
    ...(read?.details !== undefined && isSame && { details: masked(read.details, way) }),
    retryAfter: seconds(retryAfter),
  })
}

/** A failure that a mapping found under a good status. */
export function failureFrom(found: Json, way: Way): GatewayError | undefined {
  if (typeof found !== 'object' || found === null) return undefined
  const { kind, message, code, param } = found as Record<string, unknown>
  const known = typeof kind === 'string' && Object.hasOwn(way.from.error.kinds, kind) ? (kind as Kind) : 'upstream'
  const text = typeof message === 'string' && message !== '' ? mask(message, way.target) : 'The upstream failed.'
  return new GatewayError(known, text, {
    cause: `${way.target.name}: ${text}`,
    ...(typeof code === 'string' && { code: mask(code, way.target) }),
    ...(typeof param === 'string' && { param }),
  })
}

/** Details with every text in them masked. */
function masked(details: Json, way: Way): Json {
  return JSON.parse(JSON.stringify(details), (_key, value) => (typeof value === 'string' ? mask(value, way.target) : value))
}

/** A `retry-after`, which may be seconds or a date, as whole seconds. */
function seconds(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header === '') return undefined
  const number = Number(header)
  const wait = Number.isFinite(number) ? number : (Date.parse(header) - Date.now()) / 1000
  return Number.isFinite(wait) ? String(Math.max(0, Math.ceil(wait))) : undefined
}

/** The status that an upstream's word for an error stands for in its dialect. */
export function statusOfWord(read: { type?: unknown; code?: unknown } | undefined, dialect: Dialect): number {
  const code = Number(read?.code)
  if (Number.isInteger(code) && code >= 400 && code < 600) return code
  for (const { type, code: word, status } of Object.values(dialect.error.kinds)) {
    if (read?.code !== undefined && word !== null && word === read.code) return status
    if (read?.type !== undefined && type === read.type && status >= 429) return status
  }
  for (const { type, status } of Object.values(dialect.error.kinds)) if (read?.type !== undefined && type === read.type) return status
  return 502
}
