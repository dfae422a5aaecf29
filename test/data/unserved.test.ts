// What is not served is refused in the caller's dialect, which the location of the key, the version header and the path show, on
// routes that are served and on others.

import { afterAll, describe, expect, test } from 'vitest'
import { KEY, startGateway } from '../harness.js'

const gateway = await startGateway({ upstreams: { one: { provider: 'openai', secret: 'none', models: ['m'] } } })
afterAll(() => gateway.close())

const WAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'no key': {},
  bearer: { authorization: `Bearer ${KEY}` },
  'x-api-key': { 'x-api-key': KEY },
  'bearer and version': { authorization: `Bearer ${KEY}`, 'anthropic-version': '2023-06-01' },
  'x-goog-api-key': { 'x-goog-api-key': KEY },
}

/** Which dialect an error's body is in. */
function formOf(body: unknown): string {
  const { type, error } = body as { type?: string; error: Record<string, unknown> }
  if (type === 'error' && typeof error.type === 'string') return 'messages'
  if (typeof error.status === 'string' && typeof error.code === 'number') return 'generate'
  return 'param' in error ? 'chat' : 'nothing that is known'
}

async function ask(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(gateway.url + path, { method, headers })
  return { status: answer.status, body: await answer.json() }
}

/** Who asks, and in which words the answer is where the path says nothing. */
const BY_KEY: [string, string][] = [
  ['bearer', 'chat'],
  ['x-api-key', 'messages'],
  ['bearer and version', 'messages'],
  ['x-goog-api-key', 'generate'],
]

describe.each([
  ['POST', '/v1/files'],
  ['GET', '/v1/files'],
  ['GET', '/v1/files/file_1/content'],
  ['DELETE', '/v1/files/file_1'],
  ['POST', '/v1/fine-tunes'],
  ['GET', '/v1/fine_tuning/jobs'],
  ['POST', '/v1/images/variations'],
  ['DELETE', '/v1/models/m'],
])('a request for an endpoint that is not implemented: %s %s', (method, path) => {
  test.each(BY_KEY)('is 501 with %s, in the form of %s', async (who, form) => {
    const { status, body } = await ask(method, path, WAYS[who] as Record<string, string>)
    expect([status, formOf(body)]).toEqual([501, form])
  })

  test('is 501 with the key in the query, in the form of generate', async () => {
    const { status, body } = await ask(method, `${path}?key=${KEY}`, {})
    expect([status, formOf(body)]).toEqual([501, 'generate'])
  })

  test('is 401 without a key', async () => {
    expect((await ask(method, path, {})).status).toBe(401)
  })
})

describe.each([
  ['POST', '/v1/batches'],
  ['GET', '/v1/skills'],
  ['POST', '/v1/assistants'],
  ['GET', '/'.padEnd(12, 'x')],
])('a request for an unknown path: %s %s', (method, path) => {
  test.each([['no key', 'chat'] as [string, string], ...BY_KEY])('is 404 with %s, in the form of %s', async (who, form) => {
    const { status, body } = await ask(method, path, WAYS[who] as Record<string, string>)
    expect([status, formOf(body)]).toEqual([404, form])
  })
})

describe.each([
  ['generate', 'POST', '/v1/cachedContents'],
  ['generate', 'GET', '/v1beta/cachedContents/c'],
  ['generate', 'POST', '/v1alpha/cachedContents'],
  ['generate', 'POST', '/v1beta/batches'],
  ['generate', 'POST', '/upload/v1/files'],
  ['generate', 'POST', '/upload/v1beta/files'],
  ['generate', 'POST', '/v1/interactions'],
  ['generate', 'GET', '/v1/interactions/i'],
  ['generate', 'GET', '/v1/tunedModels'],
  ['generate', 'POST', '/v1/tunedModels/t:generateContent'],
  ['generate', 'POST', '/v1/models/m:predict'],
  ['generate', 'POST', '/v1beta/models/m:predict'],
  ['generate', 'POST', '/v1/models/m:predictLongRunning'],
  ['generate', 'POST', '/v1beta/models/m:batchGenerateContent'],
  ['generate', 'POST', '/v1beta/models/m:computeTokens'],
  ['generate', 'POST', '/v1alpha/models/m:computeTokens'],
  ['messages', 'POST', '/v1/complete'],
  ['messages', 'POST', '/v1/v1/messages'],
  ['messages', 'POST', '/v1/messages/batches'],
  ['messages', 'GET', '/v1/messages/batches/b/results'],
])('a request for an endpoint that only the API of %s has: %s %s', (form, method, path) => {
  test.each(Object.keys(WAYS))('is 404 with %s, in the form of that API', async who => {
    const { status, body } = await ask(method, path, WAYS[who] as Record<string, string>)
    expect([status, formOf(body)]).toEqual([404, form])
  })
})

describe.each([
  ['PUT', '/v1/models'],
  ['PUT', '/v1/models/m'],
])('a request with a wrong method for a path of several dialects: %s %s', (method, path) => {
  // Model lists are in the shape of chat for this key where the version header is missing.
  test.each(BY_KEY.map(([who, form]) => [who, who === 'x-api-key' ? 'chat' : form]))(
    'is 405 with %s, in the form of %s',
    async (who, form) => {
      const { status, body } = await ask(method, path, WAYS[who] as Record<string, string>)
      expect([status, formOf(body)]).toEqual([405, form])
    },
  )
})

describe('a refusal on a path of one dialect', () => {
  test.each([
    ['GET', '/v1/messages', 'messages'],
    ['GET', '/v1/chat/completions', 'chat'],
    ['GET', '/v1beta/models/m:generateContent', 'generate'],
    ['PUT', '/v1beta/models/m', 'generate'],
    ['PUT', '/v1alpha/models', 'generate'],
  ])('has the form of that dialect: %s %s', async (method, path, form) => {
    // What comes behind a colon may be a part of a model's name, where it is only asked for.
    const { status, body } = await ask(method, path, { 'x-goog-api-key': KEY })
    expect([status < 500 && status >= 404, formOf(body)]).toEqual([true, form])
  })
})

describe('a path of the official API beside one with a parameter', () => {
  test.each([
    ['GET', '/v1/chat/completions/chatcmpl-1'],
    ['POST', '/v1/videos/edits'],
    ['POST', '/v1/videos/extensions'],
    ['POST', '/v1/videos/characters'],
  ])('is unknown, and no wrong method: %s %s', async (method, path) => {
    const { status, body } = await ask(method, path, { authorization: `Bearer ${KEY}` })
    expect([status, formOf(body)]).toEqual([404, 'chat'])
  })
})

describe('/v1alpha is served as /v1beta', () => {
  test.each([
    ['GET', '/models', undefined],
    ['GET', '/models/m', undefined],
    ['POST', '/models/none:generateContent', { contents: [{ parts: [{ text: 'x' }] }] }],
    ['POST', '/models/none:streamGenerateContent', { contents: [{ parts: [{ text: 'x' }] }] }],
    ['POST', '/models/none:streamGenerateContent?alt=sse', { contents: [{ parts: [{ text: 'x' }] }] }],
    ['POST', '/models/none:countTokens', { contents: [{ parts: [{ text: 'x' }] }] }],
    ['POST', '/models/none:embedContent', { content: { parts: [{ text: 'x' }] } }],
    ['POST', '/models/none:batchEmbedContents', { requests: [] }],
  ])('%s %s', async (method, path, body) => {
    const seen = await Promise.all(
      ['/v1alpha', '/v1beta'].map(async version => {
        const answer = await fetch(gateway.url + version + path, {
          method,
          headers: { 'x-goog-api-key': KEY, 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        })
        return [answer.status, await answer.json()]
      }),
    )
    expect(seen[0]).toEqual(seen[1])
    expect(JSON.stringify(seen[0])).not.toContain('Unknown URL')
  })
})

// AI SDK's and LangChain's packages for Google take a name with a slash for a whole path.
describe('the path of a name with a slash needs no models/', () => {
  const contents = [{ parts: [{ text: 'x' }] }]
  test.each([
    ['generateContent', { contents }],
    ['streamGenerateContent', { contents }],
    ['streamGenerateContent?alt=sse', { contents }],
    ['countTokens', { contents }],
    ['embedContent', { content: contents[0] }],
    ['batchEmbedContents', { requests: [{ model: 'open/none', content: contents[0] }] }],
  ])('%s', async (method, body) => {
    const answer = await fetch(`${gateway.url}/v1beta/open/none:${method}`, {
      method: 'POST',
      headers: { 'x-goog-api-key': KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining("'open/none' does not exist")])
  })
})

describe('a refusal of an unknown path', () => {
  test.each([
    ['POST', '/chat/completions', '/v1/chat/completions'],
    ['POST', '/v1/v1/messages', '/v1/messages'],
    ['POST', '/messages', '/v1/messages'],
    ['POST', '/v1/v1/messages/count_tokens', '/v1/messages/count_tokens'],
    ['POST', '/v1/chat/completions/chat/completions', '/v1/chat/completions'],
    ['POST', '/proxy/v1/responses', '/v1/responses'],
    ['POST', '/models/m:generateContent', '/v1/models/m:generateContent'],
    ['POST', '/v1beta/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
    ['POST', '/v1beta/v1/models/m:streamGenerateContent', '/v1/models/m:streamGenerateContent'],
    ['POST', '/google/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
    ['POST', '/v1beta/models/v1beta/models/m:generateContent', undefined],
    ['GET', '/models', '/v1/models'],
    ['GET', '/rerank', '/v1/rerank'],
    ['POST', '/v1/chat/completions/', '/v1/chat/completions'],
    ['POST', '/messages/', '/v1/messages'],
    ['POST', '/v1/files/v1/files', undefined],
    ['POST', '/v1/nothing', undefined],
    ['GET', `/${'x/'.repeat(500)}`, undefined],
  ])('suggests the path that was meant, if one is near: %s %s', async (method, path, meant) => {
    const { status, body } = await ask(method, path, { authorization: 'Bearer none' })
    const words = JSON.stringify(body)
    if (meant === undefined) expect(words).not.toContain('did you mean')
    else expect([status, words]).toEqual([404, expect.stringContaining(`Unknown URL: ${path}: did you mean ${meant}?`)])
    expect(words.length).toBeLessThan(600)
  })
})
