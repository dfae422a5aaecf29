// In one dialect a provider's refusal passes to the client: status, type, code and message; one about the key is the gateway's
// own failure. For a client of another dialect it is translated.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { type Answer, ask, type RawUpstream, startRawUpstream } from '../raw-upstream.js'

let upstream: RawUpstream
let gateway: TestGateway
beforeAll(async () => {
  upstream = await startRawUpstream()
  const upstreams: Record<string, unknown> = {}
  const models: Record<string, unknown> = {}
  for (const provider of ['openai', 'anthropic', 'gemini']) {
    upstreams[provider] = { provider, base: upstream.url, secret: 'secret-of-the-upstream' }
    upstreams[`${provider}-open`] = { provider, base: upstream.url, secret: 'secret-of-the-upstream', pass_headers: true }
    upstreams[`${provider}-some`] = {
      provider,
      base: upstream.url,
      secret: 'secret-of-the-upstream',
      pass_headers: ['x-own', 'x-team-*', 'content-length'],
    }
    for (const name of [provider, `${provider}-open`, `${provider}-some`]) models[name] = { targets: [{ upstream: name }] }
  }
  gateway = await startGateway({ upstreams, models })
})
afterAll(async () => {
  await gateway.close()
  await upstream.close()
})

interface Speaker {
  provider: string
  path(model: string): string
  body(model: string): unknown
  /** The error as the official API writes it. */
  error(type: string, code: string | null, status: number): Record<string, unknown>
  types: Readonly<Record<number, [type: string, code: string | null]>>
}

const openai: Omit<Speaker, 'path' | 'body'> = {
  provider: 'openai',
  error: (type, code) => ({ error: { message: 'As it was said.', type, param: null, code } }),
  types: {
    400: ['invalid_request_error', 'context_length_exceeded'],
    402: ['invalid_request_error', null],
    404: ['invalid_request_error', 'some_code'],
    408: ['timeout', null],
    409: ['conflict', null],
    413: ['tokens', 'too_long'],
    422: ['unprocessable', null],
    429: ['insufficient_quota', 'insufficient_quota'],
    500: ['server_error', null],
    502: ['server_error', 'bad_gateway'],
    503: ['service_unavailable', null],
    504: ['server_error', null],
    529: ['server_error', 'overloaded'],
  },
}

const SPEAKERS: Readonly<Record<string, Speaker>> = {
  chat: { ...openai, path: () => '/v1/chat/completions', body: model => ({ model, messages: [{ role: 'user', content: 'Hi' }] }) },
  responses: { ...openai, path: () => '/v1/responses', body: model => ({ model, input: 'Hi' }) },
  embeddings: {
    ...openai,
    path: () => '/v1/embeddings',
    body: model => ({ model, input: 'Hi' }),
    error: (type, code, status) => ({ ...openai.error(type, code, status), detail: 'As it was said.' }),
  },
  messages: {
    provider: 'anthropic',
    path: () => '/v1/messages',
    body: model => ({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }),
    error: type => ({ type: 'error', error: { type, message: 'As it was said.' } }),
    types: {
      400: ['invalid_request_error', null],
      402: ['billing_error', null],
      404: ['not_found_error', null],
      413: ['request_too_large', null],
      422: ['invalid_request_error', null],
      429: ['rate_limit_error', null],
      500: ['api_error', null],
      503: ['api_error', null],
      504: ['timeout_error', null],
      529: ['overloaded_error', null],
    },
  },
  generate: {
    provider: 'gemini',
    path: model => `/v1beta/models/${model}:generateContent`,
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }),
    error: (status, _code, code) => ({ error: { code, message: 'As it was said.', status } }),
    types: {
      400: ['FAILED_PRECONDITION', null],
      404: ['NOT_FOUND', null],
      409: ['ALREADY_EXISTS', null],
      429: ['RESOURCE_EXHAUSTED', null],
      499: ['CANCELLED', null],
      500: ['UNKNOWN', null],
      503: ['UNAVAILABLE', null],
      504: ['DEADLINE_EXCEEDED', null],
    },
  },
}

/** What a client sees of one answer of the provider. */
async function told(speaker: Speaker, answer: Answer, model = speaker.provider): ReturnType<typeof ask> {
  upstream.script([answer])
  return ask(gateway.url, {
    method: 'POST',
    path: speaker.path(model),
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(speaker.body(model)),
  })
}

/** Without what each exchange has of its own. */
function plain(text: string): unknown {
  const { request_id: _, ...body } = JSON.parse(text)
  return body
}

describe.each(Object.entries(SPEAKERS))('%s', (_name, speaker) => {
  test.each(Object.entries(speaker.types))('an error with status %s reaches the client unchanged', async (text, [type, code]) => {
    const status = Number(text)
    const body = speaker.error(type, code, status)
    const seen = await told(speaker, { status, body, headers: { 'x-should-retry': 'false', 'x-ratelimit-limit-requests': '5' } })
    expect([seen.status, plain(seen.body)]).toEqual([status, body])
    expect(seen.headers['x-should-retry']).toBe('false')
    expect(seen.headers['x-ratelimit-limit-requests']).toBeUndefined()
  })

  test.each([401, 403])('status %s means that the upstream rejected the key of the gateway', async status => {
    const seen = await told(speaker, { status, body: speaker.error('x', 'y', status), headers: { 'x-should-retry': 'true' } })
    expect(seen.status).toBe(502)
    expect(seen.body).toContain('The upstream rejected the credentials of the gateway.')
    expect(seen.headers['x-should-retry']).toBe('false')
  })

  test('an error that is not JSON keeps its status and gets a message of the gateway', async () => {
    const seen = await told(speaker, { status: 503, body: '<html>' })
    expect([seen.status, seen.body.includes('The upstream answered with status 503.')]).toEqual([503, true])
  })

  test('a status that is neither success nor an error is a failure of the upstream', async () => {
    expect((await told(speaker, { status: 302, headers: { location: '/' } })).status).toBe(502)
  })
})

test('an error for a client of another dialect has the status and type of that dialect', async () => {
  upstream.script([{ status: 503, body: { type: 'error', error: { type: 'overloaded_error', message: 'As it was said.' } } }])
  const seen = await told(
    SPEAKERS.chat as Speaker,
    { status: 529, body: { type: 'error', error: { type: 'overloaded_error', message: 'So.' } } },
    'anthropic',
  )
  expect([seen.status, JSON.parse(seen.body).error.type]).toEqual([503, 'server_error'])
})

describe('headers of the provider', () => {
  const headers = {
    'x-ratelimit-remaining-tokens': '7',
    'anthropic-ratelimit-requests-limit': '8',
    'x-own': 'a',
    'x-team-limit': 'b',
    'x-other': 'c',
  }
  const chat = SPEAKERS.chat as Speaker
  const good: Answer = {
    body: {
      id: 'x',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    },
    headers,
  }
  const chunk = {
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }],
  }
  const seenOf = (seen: Record<string, string>): string[] => Object.keys(headers).filter(name => seen[name] !== undefined)

  test.each<[string, Answer]>([
    ['a whole answer', good],
    ['a refusal', { status: 429, body: chat.error('x', null, 429), headers }],
    ['a stream', { events: [`data: ${JSON.stringify(chunk)}`, 'data: [DONE]'], headers }],
  ])('pass with %s as the upstream allows', async (name, answer) => {
    const speaker: Speaker = name === 'a stream' ? { ...chat, body: model => ({ ...(chat.body(model) as object), stream: true }) } : chat
    expect(seenOf((await told(speaker, answer)).headers)).toEqual([])
    expect(seenOf((await told(speaker, answer, 'openai-open')).headers)).toEqual([
      'x-ratelimit-remaining-tokens',
      'anthropic-ratelimit-requests-limit',
    ])
    const some = await told(speaker, answer, 'openai-some')
    expect([seenOf(some.headers), some.status]).toEqual([['x-own', 'x-team-limit'], answer.status ?? 200])
  })

  test('pass to clients of another dialect, too', async () => {
    const seen = await told(SPEAKERS.messages as Speaker, good, 'openai-open')
    expect([seen.status, seenOf(seen.headers)]).toEqual([200, ['x-ratelimit-remaining-tokens', 'anthropic-ratelimit-requests-limit']])
  })
})
