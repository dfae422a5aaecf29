// In the provider's own dialect, too, a JSON body that is no answer is a failure: the next target is tried, and without one
// the client gets an error instead of an empty success.

import { describe, expect, test } from 'vitest'
import { dialects } from './dialects.js'
import { ask, requestLines, setUp } from './fake-upstreams.js'
import { json } from './upstream.js'

/** Bodies that nothing was said with, by the dialect whose they are. */
const NOTHING_SAID: Readonly<Record<string, Record<string, unknown>[]>> = {
  chat: [{ ...dialects.chat.answer, choices: [] }, { ...dialects.chat.answer, choices: null }, {}, { message: 'Try again.' }],
  messages: [{ ...dialects.messages.answer, content: null, stop_reason: undefined }, {}, { id: 'x', usage: { input_tokens: 1 } }],
  generate: [{ ...dialects.generate.answer, candidates: [] }, { usageMetadata: { promptTokenCount: 3 } }, {}],
  responses: [{ id: 'resp_1', status: 'completed' }, { usage: { input_tokens: 1 } }, {}],
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
      expect(dialect.messageOf(await response.json())).toBe('The upstream sent something that is no answer.')
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

test('embeddings without a vector are no answer', async () => {
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
