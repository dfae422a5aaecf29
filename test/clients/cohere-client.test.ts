// Cohere's own client, with upstreams of every dialect of text.

import { CohereClientV2 } from 'cohere-ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

const MODELS: Record<string, string> = {
  cohere: '*',
  anthropic: '*',
  gemini: 'gemini-3-pro-*',
  groq: '*',
  ollama: '*',
  only_responses: '*',
}

let simulator: Simulator
let gateway: TestGateway
let cohere: CohereClientV2

beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (name, body) => wrong(name, 'request', body) })
  gateway = await startGateway(
    {
      upstreams: Object.fromEntries(Object.keys(MODELS).map(provider => [provider, { provider, base: simulator.url, secret: 'secret' }])),
      models: Object.fromEntries(
        Object.entries(MODELS).map(([upstream, model]) => [
          `${upstream}/*`,
          { targets: [{ upstream, model, traits: { thinking: 'budget' } }] },
        ]),
      ),
    },
    {
      'providers/only_responses.yaml':
        "title: Responses alone\nsource: none\ncredential: { header: authorization, prefix: 'Bearer ' }\nspeaks: { responses: /v1/responses }\n",
    },
  )
  cohere = new CohereClientV2({ token: KEY, environment: gateway.url })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const messages = [{ role: 'user' as const, content: 'Hello' }]
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'w',
    parameters: { type: 'object', required: ['city'], properties: { city: { type: 'string' } } },
  },
}
const none = { maxRetries: 0 }

describe.each(Object.keys(MODELS))('on %s', provider => {
  test('a text, whole and as a stream', async () => {
    const whole = await cohere.chat({ model: `${provider}/sim`, messages, temperature: 0.5, p: 0.9, maxTokens: 99 }, none)
    let text = ''
    let end: unknown
    for await (const event of await cohere.chatStream({ model: `${provider}/sim`, messages }, none)) {
      if (event.type === 'content-delta') text += event.delta?.message?.content?.text ?? ''
      if (event.type === 'message-end') end = event.delta
    }
    expect(whole.message.content).toEqual([{ type: 'text', text }])
    expect(whole.finishReason).toBe('COMPLETE')
    expect(end).toMatchObject({ finishReason: 'COMPLETE', usage: { tokens: { inputTokens: 12 } } })
  })

  test('two calls and their results, whole and as a stream', async () => {
    const whole = await cohere.chat({ model: `${provider}/sim-parallel`, messages, tools: [weather] }, none)
    const calls = whole.message.toolCalls ?? []
    expect([whole.finishReason, calls.length]).toEqual(['TOOL_CALL', 2])
    const pieces: string[] = []
    for await (const event of await cohere.chatStream({ model: `${provider}/sim-parallel`, messages, tools: [weather] }, none)) {
      if (event.type === 'tool-call-start') pieces.push('')
      if (event.type === 'tool-call-delta') pieces.push((pieces.pop() ?? '') + (event.delta?.message?.toolCalls?.function?.arguments ?? ''))
    }
    expect(pieces.map(piece => JSON.parse(piece))).toEqual(calls.map(call => JSON.parse(call.function?.arguments ?? '')))
    const next = await cohere.chat(
      {
        model: `${provider}/sim-parallel`,
        messages: [
          ...messages,
          whole.message,
          ...calls.map(({ id }, at) => ({
            role: 'tool' as const,
            toolCallId: id as string,
            content: String(22 + at),
          })),
        ],
        tools: [weather],
      },
      none,
    )
    expect(JSON.stringify(next.message.content)).toMatch(/22.*23/)
  })

  test('JSON of a schema', async () => {
    const answer = await cohere.chat(
      { model: `${provider}/sim-json`, messages, responseFormat: { type: 'json_object', jsonSchema: weather.function.parameters } },
      none,
    )
    const [block] = answer.message.content ?? []
    expect(JSON.parse(block?.type === 'text' ? block.text : '')).toHaveProperty('city')
  })

  test('refusals and failures', async () => {
    await expect(cohere.chat({ model: `${provider}/sim-status-429`, messages }, none)).rejects.toMatchObject({ statusCode: 429 })
    await expect(cohere.chat({ model: `${provider}/sim-status-400`, messages }, none)).rejects.toMatchObject({ statusCode: 400 })
    const ends: unknown[] = []
    for await (const event of await cohere.chatStream({ model: `${provider}/sim-fail-3`, messages }, none))
      if (event.type === 'message-end') ends.push(event.delta?.finishReason)
    expect(ends).toEqual(['ERROR'])
  })
})

test('thoughts come back, and go on', async () => {
  const thinking = { type: 'enabled' as const, tokenBudget: 2000 }
  const first = await cohere.chat({ model: 'anthropic/sim-reasoning', messages, thinking, maxTokens: 4000 }, none)
  expect(first.message.content?.map(({ type }) => type)).toEqual(['thinking', 'text'])
  const next = await cohere.chat({ model: 'groq/sim', messages: [...messages, first.message, ...messages] }, none)
  expect(next.finishReason).toBe('COMPLETE')
})

test('a wrong key, an unknown model, and vectors', async () => {
  const other = new CohereClientV2({ token: 'wrong-key', environment: gateway.url })
  await expect(other.chat({ model: 'cohere/sim', messages }, none)).rejects.toMatchObject({ statusCode: 401 })
  await expect(cohere.chat({ model: 'nobody', messages }, none)).rejects.toMatchObject({ statusCode: 404 })
  const { embeddings } = await cohere.embed(
    { model: 'cohere/sim', texts: ['a', 'b'], inputType: 'search_query', embeddingTypes: ['float'] },
    none,
  )
  expect(embeddings.float).toHaveLength(2)
})
