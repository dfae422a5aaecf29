// In the provider's own dialect, too, a JSON body that is no answer is a failure: the next target is tried, and without one
// the client gets an error instead of an empty success.

import { describe, expect, test } from 'vitest'
import { startGateway } from '../harness.js'
import { dialects, lastEvent } from './dialects.js'
import { ask, closing, ONLY_RESPONSES, requestLines, setUp } from './fake-upstreams.js'
import { routed } from './routed.js'
import { json, type Script, startUpstream, stream } from './upstream.js'

const ok =
  (body: object): Script =>
  socket =>
    json(socket, 200, body)
const sound: Script = socket => socket.write('HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\ncontent-length: 3\r\n\r\nABC')

/** Bodies that nothing was said with, by the dialect whose they are. */
const NOTHING_SAID: Readonly<Record<string, Record<string, unknown>[]>> = {
  chat: [
    { ...dialects.chat.answer, choices: [] },
    { ...dialects.chat.answer, choices: null },
    { ...dialects.chat.answer, choices: {} },
    {},
    { message: 'Try again.' },
    // An answer in an envelope.
    { data: dialects.chat.answer },
  ],
  messages: [
    { ...dialects.messages.answer, content: null, stop_reason: undefined },
    {},
    { id: 'x', usage: { input_tokens: 1 } },
    { data: dialects.messages.answer },
  ],
  generate: [
    { ...dialects.generate.answer, candidates: [] },
    { usageMetadata: { promptTokenCount: 3 } },
    {},
    { data: dialects.generate.answer },
  ],
  responses: [{ id: 'resp_1', status: 'completed' }, { usage: { input_tokens: 1 } }, {}, { data: dialects.responses.answer }],
}

/** What says little, and is an answer all the same. */
const LITTLE_SAID: Readonly<Record<string, Record<string, unknown>[]>> = {
  chat: [{ choices: [{ index: 0, message: { role: 'assistant', content: '' } }] }, { request_id: 'f15c114e' }],
  messages: [{ ...dialects.messages.answer, content: [] }, { content: [] }],
  generate: [{ promptFeedback: { blockReason: 'SAFETY' } }, { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] }],
  responses: [{ ...dialects.responses.answer, output: [] }],
}

const PROVIDERS: Readonly<Record<string, string>> = { chat: 'openai', messages: 'anthropic', generate: 'gemini', responses: 'openai' }

describe.concurrent.each(Object.keys(NOTHING_SAID))('%s', name => {
  const dialect = dialects[name as keyof typeof dialects]
  const provider = PROVIDERS[name] as string

  test('the next target is tried', async () => {
    let nothing: Record<string, unknown> = {}
    const stage = await setUp([socket => json(socket, 200, nothing), socket => json(socket, 200, dialect.answer)], {}, provider)
    for (const [index, body] of (NOTHING_SAID[name] ?? []).entries()) {
      nothing = body
      const response = await ask(stage.gateway, { dialect })
      expect({ body, status: response.status, text: await response.text() }).toMatchObject({
        status: 200,
        text: expect.stringContaining('"Hi"'),
      })
      const line = (await requestLines(stage.gateway, index + 1))[index]
      expect(line).toMatchObject({ target: 'up1/m' })
    }
  })

  test('without another target the client gets an error', async () => {
    let nothing: Record<string, unknown> = {}
    const { gateway } = await setUp([socket => json(socket, 200, nothing)], {}, provider)
    for (const body of NOTHING_SAID[name] ?? []) {
      nothing = body
      const response = await ask(gateway, { dialect })
      expect(response.status).toBe(502)
      expect(dialect.messageOf(await response.json())).toBe(body.message ?? 'The upstream sent something that is no answer.')
    }
  })

  test('a minimal answer passes unchanged, however it is written', async () => {
    let little = ''
    const { gateway } = await setUp([socket => json(socket, 200, little)], {}, provider)
    for (const body of [dialect.answer, ...(LITTLE_SAID[name] ?? [])])
      for (const indent of [0, 2]) {
        little = JSON.stringify(body, null, indent)
        const response = await ask(gateway, { dialect })
        // The ids of answers that are kept elsewhere say where.
        const text = (await response.text()).replace(/resp_[\w-]+/, 'resp_1')
        expect({ status: response.status, text }).toEqual({ status: 200, text: little })
      }
  })
})

/** Bodies that another dialect could only be told of as a success without a word. */
const NEVER_SAID: Readonly<Record<string, Record<string, unknown>[]>> = {
  chat: [
    ...(NOTHING_SAID.chat ?? []),
    { data: dialects.chat.answer },
    { ...dialects.chat.answer, choices: [null] },
    { ...dialects.chat.answer, choices: [{ index: 0, message: { role: 'assistant', content: null }, finish_reason: 'error' }] },
    {
      ...dialects.chat.answer,
      choices: [{ index: 0, message: { role: 'assistant', content: 'H' }, finish_reason: 'error', error: { code: 502, message: 'Gone.' } }],
    },
  ],
  messages: [
    ...(NOTHING_SAID.messages ?? []),
    { message: dialects.messages.answer },
    { ...dialects.messages.answer, content: [], stop_reason: null },
  ],
  generate: [
    ...(NOTHING_SAID.generate ?? []),
    { candidates: [{}] },
    { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: '' }] } }] },
    { candidates: [{ index: 0, finishReason: 'FINISH_REASON_UNSPECIFIED' }] },
    { candidates: [{ index: 0, finishReason: 'TOO_MANY_TOOL_CALLS' }] },
    { candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hm', thought: true }] }, finishReason: 'OF_TOMORROW' }] },
  ],
  responses: [
    ...(NOTHING_SAID.responses ?? []),
    { response: dialects.responses.answer },
    { ...dialects.responses.answer, status: 'cancelled' },
    { ...dialects.responses.answer, status: 'in_progress' },
    { ...dialects.responses.answer, status: 'queued', output: [] },
  ],
}

describe.concurrent.each(Object.keys(NEVER_SAID))('an empty answer that is translated from %s', name => {
  const upstream = dialects[name as keyof typeof dialects]
  const clients = Object.values(dialects).filter(({ name: client }) => client !== name)

  test('the next target is tried, and the last one is an error', async () => {
    let nothing: Record<string, unknown> = {}
    const [bad, good] = await Promise.all(
      [() => nothing, () => upstream.answer].map(async body => closing(await startUpstream(socket => json(socket, 200, body())))),
    )
    const health = { consecutive_failures: 'none', failure_percentage_threshold: 'none' }
    const provider = name === 'responses' ? 'only_responses' : name === 'chat' ? 'together' : upstream.provider
    const gateway = closing(
      await startGateway(
        {
          upstreams: { bad: { provider, base: bad?.url, secret: 'x', health }, good: { provider, base: good?.url, secret: 'x' } },
          models: {
            m: { targets: [{ upstream: 'bad' }, { upstream: 'good', priority: 2 }] },
            alone: { targets: [{ upstream: 'bad' }] },
          },
        },
        ONLY_RESPONSES,
      ),
    )
    const wrong: unknown[] = []
    for (const client of clients)
      for (const body of NEVER_SAID[name] ?? []) {
        nothing = body
        const [followed, alone] = await Promise.all(['m', 'alone'].map(model => ask(gateway, { dialect: client, model })))
        const text = await followed?.text()
        if (followed?.status !== 200 || !text?.includes('"Hi"') || alone?.status !== 502)
          wrong.push({ client: client.name, body, followed: followed?.status, text, alone: alone?.status })
      }
    expect(wrong).toEqual([])
  })
})

/** The words with which a provider breaks off an answer, and with which it says that an answer is not whole, or was refused. */
const ENDS: Readonly<Record<'chat' | 'generate', Record<'broken' | 'cut' | 'filtered', readonly string[]>>> = {
  chat: {
    broken: ['abort', 'error', 'insufficient_system_resource', 'network_error'],
    cut: ['length', 'max_tokens', 'model_length', 'model_context_window_exceeded'],
    filtered: ['content_filter', 'sensitive'],
  },
  generate: {
    broken: ['MALFORMED_FUNCTION_CALL', 'MALFORMED_RESPONSE', 'MISSING_THOUGHT_SIGNATURE', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'],
    cut: ['MAX_TOKENS', 'CONTINUATION', 'OTHER', 'FINISH_REASON_UNSPECIFIED', 'OF_TOMORROW'],
    filtered: ['SAFETY', 'RECITATION'],
  },
}

/** What each client is told of an answer that is not whole, and of one that was refused. */
const TOLD: Readonly<Record<string, Record<'cut' | 'filtered', string>>> = {
  chat: { cut: '"finish_reason":"length"', filtered: '"finish_reason":"content_filter"' },
  messages: { cut: '"stop_reason":"max_tokens"', filtered: '"stop_reason":"refusal"' },
  responses: { cut: '"incomplete_details":{"reason":"max_output_tokens"}', filtered: '"incomplete_details":{"reason":"content_filter"}' },
  generate: { cut: '"finishReason":"', filtered: '"finishReason":"SAFETY"' },
}

/** The provider's dialects with an answer that says `Hi` and ends with this word. */
const ENDING = {
  chat: (word: string) => ({
    answer: { ...dialects.chat.answer, choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: word }] },
    end: dialects.chat.end.replace('"stop"', JSON.stringify(word)),
  }),
  generate: (word: string) => ({
    answer: {
      ...dialects.generate.answer,
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: word }],
    },
    end: dialects.generate.end.replace('"STOP"', JSON.stringify(word)),
  }),
}

describe.concurrent.each(['chat', 'generate'] as const)('an answer with content that a provider of %s did not finish', name => {
  const upstream = dialects[name]
  const clients = Object.values(dialects).filter(({ name: client }) => client !== name)
  /** A gateway whose first target ends its answers with the current word, and whose second answers well. */
  const staged = async (): Promise<{ url: string; end(word: string): void }> => {
    let now = ENDING[name]('')
    const ending = closing(
      await startUpstream((socket, request) =>
        /"stream":true|streamGenerate/.test(request.text)
          ? stream(upstream.begin, upstream.text('Hi'), now.end)(socket, request)
          : json(socket, 200, now.answer),
      ),
    )
    const good = closing(await startUpstream(socket => json(socket, 200, upstream.answer)))
    const provider = name === 'chat' ? 'together' : upstream.provider
    const health = { consecutive_failures: 'none', failure_percentage_threshold: 'none' }
    const gateway = closing(
      await startGateway({
        upstreams: { ending: { provider, base: ending.url, secret: 'x', health }, good: { provider, base: good.url, secret: 'x' } },
        models: {
          m: { targets: [{ upstream: 'ending' }, { upstream: 'good', priority: 2 }] },
          alone: { targets: [{ upstream: 'ending' }] },
        },
      }),
    )
    return { url: gateway.url, end: word => (now = ENDING[name](word)) }
  }

  test('fails if it was broken off: whole, the next target is tried; a stream ends with an error and without its end', async () => {
    const gateway = await staged()
    const wrong: unknown[] = []
    for (const client of clients)
      for (const word of ENDS[name].broken) {
        gateway.end(word)
        const [followed, alone, streamed] = await Promise.all([
          ask(gateway, { dialect: client }),
          ask(gateway, { dialect: client, model: 'alone' }),
          ask(gateway, { dialect: client, model: 'alone', stream: true }),
        ])
        const [whole, events] = await Promise.all([followed.text(), streamed.text()])
        const message = client.messageOf(lastEvent(events)) ?? ''
        if (
          followed.status !== 200 ||
          !whole.includes('"Hi"') ||
          alone.status !== 502 ||
          !events.includes('"Hi"') ||
          !message ||
          client.proof.test(events)
        )
          wrong.push({ client: client.name, word, followed: followed.status, alone: alone.status, events })
      }
    expect(wrong).toEqual([])
  })

  test.each(['cut', 'filtered'] as const)('says so if it is %s', async kind => {
    const gateway = await staged()
    const wrong: unknown[] = []
    for (const client of clients)
      for (const word of ENDS[name][kind]) {
        gateway.end(word)
        const texts = await Promise.all(
          [false, true].map(async isStream => (await ask(gateway, { dialect: client, model: 'alone', stream: isStream })).text()),
        )
        for (const text of texts)
          if (!text.includes('Hi') || !text.includes(TOLD[client.name]?.[kind] ?? '?') || text.includes('"finishReason":"STOP"'))
            wrong.push({ client: client.name, word, text })
      }
    expect(wrong).toEqual([])
  })
})

test('embeddings without a vector are a failure of the upstream', async () => {
  const good = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], model: 'm', usage: { prompt_tokens: 1 } }
  const { gateway } = await setUp([socket => json(socket, 200, { ...good, data: [] }), socket => json(socket, 200, good)])
  const response = await fetch(`${gateway.url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...dialects.chat.headers },
    body: JSON.stringify({ model: 'm', input: 'x', encoding_format: 'float' }),
  })
  expect({ status: response.status, body: await response.json() }).toMatchObject({ status: 200, body: { data: good.data } })
  expect((await requestLines(gateway))[0]).toMatchObject({ target: 'up1/m' })
})

/** Families without a conversation: what a client asks, and what a provider answers if it is good. */
const OTHERS: readonly [provider: string, path: string, asked: object, answer: Script][] = [
  ['openai', '/v1/audio/speech', { input: 'x', voice: 'a' }, sound],
  ['openai', '/v1/embeddings', { input: 'x' }, ok({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1] }] })],
  ['gemini', '/v1/embeddings', { input: 'x' }, ok({ embeddings: [{ values: [1] }], embedding: { values: [1] } })],
  ['cohere', '/v1/embeddings', { input: 'x' }, ok({ id: '1', embeddings: { float: [[1]] }, meta: {} })],
  ['openai', '/v1/images/generations', { prompt: 'x' }, ok({ created: 1, data: [{ b64_json: 'aa' }] })],
  ['siliconflow', '/v1/images/generations', { prompt: 'x' }, ok({ images: [{ url: 'https://x.example/a.png' }], seed: 1 })],
  ['jina', '/v1/rerank', { query: 'q', documents: ['a'] }, ok({ results: [{ index: 0, relevance_score: 0.9 }] })],
  ['voyage', '/v1/rerank', { query: 'q', documents: ['a'] }, ok({ data: [{ index: 0, relevance_score: 0.9 }] })],
  ['cohere', '/v1/rerank', { query: 'q', documents: ['a'] }, ok({ id: '1', results: [{ index: 0, relevance_score: 0.9 }] })],
  ['kling', '/v1/videos', { prompt: 'x' }, ok({ code: 0, data: { task_id: 't1', task_status: 'submitted' } })],
]

describe.concurrent.each(OTHERS)('%s before %s', (provider, path, asked, answer) => {
  const errors = [{ error: { message: 'Overloaded.', type: 'server_error', code: 500 } }, { detail: 'Overloaded.' }]
  // What servers that put sound into JSON call it is not known, so only an `error` is none.
  test.each(path === '/v1/audio/speech' ? errors.slice(0, 1) : errors)('an error with status 200 is a failure: %j', async error => {
    const { gateway, counts } = await routed({
      a: { script: ok(error), provider },
      b: { script: answer, provider, target: { priority: 2 } },
    })
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...dialects.chat.headers },
      body: JSON.stringify({ model: 'm', ...asked }),
    })
    expect({ status: response.status, text: await response.text(), counts: counts() }).toMatchObject({
      status: 200,
      counts: { a: 1, b: 1 },
    })
  })
})
