// The official clients of every text dialect with an upstream of Cohere's chat. All pairs but one are made of two mappings.
// Cohere's own client reads the simulator's answers.

import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { CohereClientV2 } from 'cohere-ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

const NAMES = ['sim', 'sim-parallel', 'sim-reasoning', 'sim-json', 'sim-length', 'sim-cached', 'sim-filter'].concat([
  'sim-status-429',
  'sim-status-404',
  'sim-fail-3',
  'sim-fail-0',
  'sim-cut-4',
])

let simulator: Simulator
let gateway: TestGateway
let openai: OpenAI
let anthropic: Anthropic
let google: GoogleGenAI

beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (name, body) => wrong(name, 'request', body) })
  gateway = await startGateway({
    upstreams: { cohere: { provider: 'cohere', base: simulator.url, secret: 'secret-of-cohere' } },
    models: Object.fromEntries(NAMES.map(name => [name, { targets: [{ upstream: 'cohere' }] }])),
  })
  openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  anthropic = new Anthropic({ apiKey: KEY, baseURL: gateway.url, maxRetries: 0 })
  google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.url } })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const messages = [{ role: 'user' as const, content: 'Hello' }]
const parameters = { type: 'object' as const, required: ['city'], properties: { city: { type: 'string' } } }
const last = (): Record<string, unknown> => {
  const request = simulator.requests.at(-1)
  expect(request?.path).toBe('/v2/chat')
  return JSON.parse(request?.body as string)
}

test("what the simulator plays is what Cohere's own client reads", async () => {
  const cohere = new CohereClientV2({ token: 'x', environment: simulator.url })
  const whole = await cohere.chat({ model: 'sim-reasoning', messages })
  expect(whole.message.content).toMatchObject([{ type: 'thinking' }, { type: 'text' }])
  let text = ''
  let end: string | undefined
  for await (const event of await cohere.chatStream({ model: 'sim-reasoning', messages })) {
    if (event.type === 'content-delta') text += event.delta?.message?.content?.text ?? ''
    if (event.type === 'message-end') end = event.delta?.finishReason
  }
  expect(whole.message.content?.[1]).toMatchObject({ text })
  expect(end).toBe('COMPLETE')
})

describe('on an upstream of Cohere', () => {
  test('the client of chat completions gets text, calls, thoughts and counts', async () => {
    const whole = await openai.chat.completions.create({ model: 'sim', messages })
    const final = await openai.chat.completions
      .stream({ model: 'sim', messages, stream_options: { include_usage: true } })
      .finalChatCompletion()
    expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
    expect(final.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: final.usage?.completion_tokens })
    expect((await openai.chat.completions.create({ model: 'sim-cached', messages })).usage?.prompt_tokens_details?.cached_tokens).toBe(80)
    expect((await openai.chat.completions.create({ model: 'sim-length', messages })).choices[0]?.finish_reason).toBe('length')
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }]
    const called = await openai.chat.completions
      .stream({ model: 'sim-parallel', messages, tools, tool_choice: 'required' })
      .finalChatCompletion()
    expect(last()).toMatchObject({ tool_choice: 'REQUIRED', stream: true })
    const calls = called.choices[0]?.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
    expect(calls.map(call => JSON.parse(call.function.arguments))).toEqual([{ city: expect.any(String) }, { city: expect.any(String) }])
    const end = await openai.chat.completions.create({
      model: 'sim-parallel',
      messages: [
        ...messages,
        { role: 'assistant', tool_calls: calls },
        ...calls.map(({ id }, at) => ({ role: 'tool' as const, tool_call_id: id, content: `${at} degrees` })),
      ],
      tools,
    })
    expect(end.choices[0]?.message.content).toContain('0 degrees')
    const answer = await openai.chat.completions.create({
      model: 'sim-json',
      messages,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] } },
      },
    })
    expect(JSON.parse(answer.choices[0]?.message.content as string)).toHaveProperty('a')
  })

  test('the client of messages gets text, calls and thoughts, and a budget is one', async () => {
    const whole = await anthropic.messages.create({ model: 'sim', max_tokens: 100, messages })
    const final = await anthropic.messages.stream({ model: 'sim', max_tokens: 100, messages }).finalMessage()
    expect(final.content).toEqual(whole.content)
    expect(final.usage.input_tokens).toBe(12)
    const thought = await anthropic.messages
      .stream({ model: 'sim-reasoning', max_tokens: 3000, messages, thinking: { type: 'enabled', budget_tokens: 2000 } })
      .finalMessage()
    expect(thought.content).toMatchObject([{ type: 'thinking', thinking: expect.stringMatching(/./) }, { type: 'text' }])
    const called = await anthropic.messages
      .stream({ model: 'sim-parallel', max_tokens: 100, messages, tools: [{ name: 'get_weather', input_schema: parameters }] })
      .finalMessage()
    expect(called.stop_reason).toBe('tool_use')
    expect(called.content.filter(({ type }) => type === 'tool_use')).toMatchObject([{ input: { city: expect.any(String) } }, {}])
  })

  test('the clients of responses, of generate and of completions get text', async () => {
    const whole = await openai.responses.create({ model: 'sim', input: 'Hello' })
    expect(whole.output_text).not.toBe('')
    const final = await openai.responses.stream({ model: 'sim', input: 'Hello' }).finalResponse()
    expect(final.output_text).toBe(whole.output_text)
    expect((await google.models.generateContent({ model: 'sim', contents: 'Hello' })).text).toBe(whole.output_text)
    let streamed = ''
    for await (const piece of await google.models.generateContentStream({ model: 'sim', contents: 'Hello' })) streamed += piece.text ?? ''
    expect(streamed).toBe(whole.output_text)
    expect((await openai.completions.create({ model: 'sim', prompt: 'Hello' })).choices[0]?.text).toBe(whole.output_text)
  })

  test("errors have the client's dialect, whole and in a stream", async () => {
    await expect(openai.chat.completions.create({ model: 'sim-status-429', messages })).rejects.toMatchObject({ status: 429 })
    await expect(anthropic.messages.create({ model: 'sim-status-404', max_tokens: 9, messages })).rejects.toMatchObject({ status: 404 })
    await expect(openai.chat.completions.create({ model: 'sim-filter', messages })).rejects.toMatchObject({ status: 502 })
    for (const name of ['sim-fail-3', 'sim-fail-0', 'sim-cut-4']) {
      await expect(
        (async () => {
          for await (const chunk of await openai.chat.completions.create({ model: name, messages, stream: true }))
            expect(chunk.choices[0]?.finish_reason ?? null).toBeNull()
        })(),
      ).rejects.toThrow(/./)
      await expect(anthropic.messages.stream({ model: name, max_tokens: 9, messages }).finalMessage()).rejects.toThrow(/./)
    }
  })

  test("dropped fields are reported by the client's names", async () => {
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model: 'sim', max_tokens: 9, messages, top_p: 1, metadata: { user_id: 'u' } }),
    })
    expect(answer.headers.get('x-sluice-dropped')?.split(', ').sort()).toEqual(['metadata.user_id', 'top_p'])
  })
})
