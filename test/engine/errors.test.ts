// Every kind of failure in every dialect: the status, the members that its clients read, and no others.

import { describe, expect, test } from 'vitest'
import { asGatewayError, errorEvent, GatewayError, kindOfStatus, renderError } from '../../engine/core/errors.js'
import type { Dialect, Kind } from '../../engine/plan.js'
import { plan } from './plan.js'

const STATUS: Record<Kind, number> = {
  invalid_request: 400,
  authentication: 401,
  billing: 402,
  permission: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media: 415,
  rate_limit: 429,
  internal: 500,
  not_implemented: 501,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
  overloaded: 503,
}
const KINDS = Object.keys(STATUS) as Kind[]
const ID = '0123456789abcdef0123456789abcdef'

/** The words that official clients know, by how an error body looks; written down here apart from the data. */
const openai = new Set([
  'invalid_request_error',
  'insufficient_quota',
  'permission_error',
  'conflict_error',
  'rate_limit_error',
  'server_error',
  'timeout_error',
])
const anthropic = new Set([
  'invalid_request_error',
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
  'conflict_error',
  'request_too_large',
  'rate_limit_error',
  'timeout_error',
  'api_error',
  'overloaded_error',
])
const google = new Set([
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
])

interface Told {
  object?: string
  type?: string
  request_id?: string
  error: { type?: string; message: string; status?: string; code?: unknown; param?: unknown; details?: unknown }
  code?: unknown
  message?: unknown
  id?: string
}

/** What kind of body a dialect has, judged by what it says. */
function shapeOf(told: Told): 'openai' | 'anthropic' | 'google' | 'mistral' | 'vendor' | 'plain' | 'bare' {
  // The members without an envelope.
  if (told.object === 'error') return 'mistral'
  // A text, and nothing else.
  if (typeof told.error === 'string') return 'bare'
  // A number and a text in an envelope that good answers have, too.
  if (typeof told.code === 'number') return 'vendor'
  // A message and an id, and nothing else.
  if (told.error === undefined) return 'plain'
  if (told.type === 'error') return 'anthropic'
  return typeof told.error.status === 'string' ? 'google' : 'openai'
}

function messageOf(told: Told): unknown {
  const shape = shapeOf(told)
  return shape === 'bare' ? told.error : ['mistral', 'vendor', 'plain'].includes(shape) ? told.message : told.error.message
}

const dialects = Object.values(plan.dialects)
const all = dialects.flatMap(dialect => KINDS.map((kind): [string, Kind, Dialect] => [dialect.name, kind, dialect]))

describe('every kind of error in every dialect', () => {
  test.each(all)('%s as %s', (_name, kind, dialect) => {
    const message = `What went wrong: "quotes", \\ and\nlines, é😀 </script>.`
    const { status, headers, body } = renderError(dialect, new GatewayError(kind, message), ID)
    const told = JSON.parse(body) as Told
    const shape = shapeOf(told)
    expect(messageOf(told)).toBe(message)
    expect(headers['content-type']).toBe('application/json')
    // Its own status, but where clients know another: 529 for overload, 429 for a quota that is used up, and Mistral's two.
    const other =
      kind === 'overloaded' && shape === 'anthropic'
        ? 529
        : kind === 'billing' && (shape === 'openai' || shape === 'google' || shape === 'bare')
          ? 429
          : shape === 'mistral' && kind === 'invalid_request'
            ? 422
            : shape === 'mistral' && kind === 'not_found'
              ? 400
              : undefined
    expect(status).toBe(other ?? STATUS[kind])
    if (shape === 'vendor') {
      expect(told.code).toBeGreaterThanOrEqual(1000)
      expect(told.request_id).toBe(ID)
    } else if (shape === 'mistral') {
      expect(told).toMatchObject({ type: expect.stringMatching(/^[a-z_]+$/), param: null, raw_status_code: status })
      expect(told.code === null || /^\d+$/.test(String(told.code))).toBe(true)
    } else if (shape === 'bare') {
      expect(Object.keys(told)).toEqual(['error'])
    } else if (shape === 'plain') {
      expect(told.id).toBe(ID)
    } else if (shape === 'anthropic') {
      expect(anthropic).toContain(told.error.type)
      expect(told.request_id).toBe(ID)
      expect(headers['request-id']).toBe(ID)
    } else if (shape === 'google') {
      expect(google).toContain(told.error.status)
      expect(told.error.code).toBe(status)
    } else {
      expect(openai).toContain(told.error.type)
      // SDKs read all four members; those without a value are null.
      expect(Object.keys(told.error).sort()).toEqual(['code', 'message', 'param', 'type'])
      expect(told.error.param).toBeNull()
      expect(told.error.code === null || typeof told.error.code === 'string').toBe(true)
    }
  })

  test.each(all)('%s reads its own word for %s again, in a body and in a stream', (_name, kind, dialect) => {
    const error = new GatewayError(kind, 'Told.')
    expect(dialect.error.read(JSON.parse(renderError(dialect, error, ID).body), undefined)?.message).toBe('Told.')
    const { stream } = dialect
    if (stream === undefined) return
    const event = errorEvent(dialect, error, ID)
    const text = JSON.stringify(event)
    expect(dialect.error.read(JSON.parse(text), undefined)?.message).toBe('Told.')
    // A client, or a gateway in front of this one, must see the event as a failure and never as an end.
    expect(stream.fail?.markers.some(marker => text.includes(marker))).toBe(true)
    expect(stream.fail?.read(event)).toBe(true)
    expect(stream.end?.read(event) ?? false).toBe(false)
    if (stream.sentinel !== undefined) expect(text).not.toContain(stream.sentinel)
    // One of a vendor's streams ends with the event that it always ends with, which says why.
    if (stream.eventLine !== undefined) expect(['error', 'message-end']).toContain((event as Record<string, unknown>)[stream.eventLine])
  })
})

describe('other parts of an error', () => {
  const shown = (dialect: Dialect, error: GatewayError): Told => JSON.parse(renderError(dialect, error, ID).body) as Told
  test.each(dialects.map((dialect): [string, Dialect] => [dialect.name, dialect]))('%s: field, code and details', (_name, dialect) => {
    const error = new GatewayError('invalid_request', 'No.', { param: 'a[0].b', code: 'my_code', details: { why: 'x' } })
    const told = shown(dialect, error)
    if (['vendor', 'plain', 'bare'].includes(shapeOf(told))) expect(messageOf(told)).toBe('No.')
    else if (shapeOf(told) === 'mistral') expect(told.message).toEqual({ why: 'x' })
    else if (shapeOf(told) === 'openai') expect(told.error).toMatchObject({ param: 'a[0].b', code: 'my_code' })
    else expect(JSON.stringify(told.error.details)).toContain('"why":"x"')
  })

  test.each(dialects.map((dialect): [string, Dialect] => [dialect.name, dialect]))('%s: headers', (_name, dialect) => {
    const error = new GatewayError('rate_limit', 'Wait.', { retryAfter: '7', headers: { allow: 'GET' } })
    expect(renderError(dialect, error, ID).headers).toMatchObject({ 'retry-after': '7', allow: 'GET' })
    expect(renderError(dialect, new GatewayError('rate_limit', 'Wait.'), ID).headers).not.toHaveProperty('retry-after')
  })

  test('SDKs must not retry `not_implemented`, and may retry everything else', () => {
    for (const [, kind, dialect] of all) {
      const { headers } = renderError(dialect, new GatewayError(kind, 'x'), ID)
      expect(headers['x-should-retry']).toBe(kind === 'not_implemented' ? 'false' : undefined)
    }
  })

  test('a status that is kept is in the answer', () => {
    for (const dialect of dialects) expect(renderError(dialect, new GatewayError('upstream', 'x', { status: 418 }), ID).status).toBe(418)
  })
})

describe('asGatewayError', () => {
  test('makes an exception of another class an internal error, whose message no client sees', () => {
    const error = asGatewayError(new TypeError('secret of /etc/passwd'))
    expect(error.kind).toBe('internal')
    for (const dialect of dialects) {
      const { status, body } = renderError(dialect, error, ID)
      expect(status).toBe(500)
      expect(body).not.toMatch(/secret|passwd|TypeError/)
    }
    expect(error.cause).toBeInstanceOf(TypeError)
  })

  test('keeps an error that has a kind', () => {
    const error = new GatewayError('conflict', 'x')
    expect(asGatewayError(error)).toBe(error)
  })
})

test.each<[number, Kind]>([
  [400, 'invalid_request'],
  [401, 'upstream'],
  [402, 'billing'],
  [403, 'upstream'],
  [404, 'not_found'],
  [405, 'invalid_request'],
  [408, 'timeout'],
  [409, 'conflict'],
  [410, 'not_found'],
  [413, 'too_large'],
  [415, 'invalid_request'],
  [418, 'invalid_request'],
  [422, 'invalid_request'],
  [429, 'rate_limit'],
  [500, 'upstream'],
  [501, 'not_implemented'],
  [502, 'upstream'],
  [503, 'overloaded'],
  [504, 'timeout'],
  [520, 'upstream'],
  [529, 'overloaded'],
  [599, 'upstream'],
  [302, 'upstream'],
])("an upstream's %i is %s to the caller", (status, kind) => {
  expect(kindOfStatus(status)).toBe(kind)
})
