// The vendors' own clients with the simulator itself: if they accept it, it can replace their providers in tests.

import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk'
import { ApiError, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import OpenAI, { APIError as OpenAIError } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SIGNATURE, TEXT } from '../../cli/simulator/script.js'
import { type Simulator, startSimulator } from '../../cli/simulator/server.js'
import { wrong } from './schemas.js'

let simulator: Simulator
let openai: OpenAI
let anthropic: Anthropic
let google: GoogleGenAI

beforeAll(async () => {
  // Every request of the clients is held against the project's own schemas on its way.
  simulator = await startSimulator({ validate: (dialect, body) => wrong(dialect, 'request', body) })
  openai = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: 'none', maxRetries: 0, logLevel: 'off' })
  anthropic = new Anthropic({ baseURL: simulator.url, apiKey: 'none', maxRetries: 0, logLevel: 'off' })
  google = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: simulator.url } })
})
afterAll(() => simulator?.close())

const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city', 'days'],
}
const THOUGHT = 'First the question is read, then the answer is written.'
const CALLS = [
  { city: 'text', days: 2 },
  { city: 'text 1', days: 3 },
]
const ANSWERED = 'The tools answered: sunny'

describe('chat', () => {
  const messages = [{ role: 'user' as const, content: 'What is the weather?' }]
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }]
  const streamed = (model: string, more: object = {}) =>
    openai.chat.completions.stream({ model, messages, stream_options: { include_usage: true }, ...more })

  test('text', async () => {
    const answer = await openai.chat.completions.create({ model: 'sim', messages })
    expect(answer.choices[0]).toMatchObject({ message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' })
    expect(answer.usage).toMatchObject({ prompt_tokens: 12, completion_tokens: 14, total_tokens: 26 })
    const stream = streamed('sim')
    expect(await stream.finalContent()).toBe(TEXT)
    expect(await stream.totalUsage()).toMatchObject({ prompt_tokens: 12, completion_tokens: 14 })
  })

  test('several answers', async () => {
    const answer = await openai.chat.completions.create({ model: 'sim', messages, n: 3 })
    expect(answer.choices.map(({ index, message }) => [index, message.content])).toEqual([0, 1, 2].map(index => [index, TEXT]))
    const final = await streamed('sim', { n: 2 }).finalChatCompletion()
    expect(final.choices.map(({ message }) => message.content)).toEqual([TEXT, TEXT])
  })

  test('usage is reported if it is requested', async () => {
    const stream = await openai.chat.completions.create({ model: 'sim', messages, stream: true })
    for await (const chunk of stream) expect(chunk).not.toHaveProperty('usage')
  })

  test('cached tokens', async () => {
    const { usage } = await openai.chat.completions.create({ model: 'sim-cached', messages })
    expect(usage).toMatchObject({ prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 80 } })
  })

  test('tools, and their results', async () => {
    const first = await openai.chat.completions.create({ model: 'sim-tools', messages, tools })
    const call = first.choices[0]?.message.tool_calls?.[0]
    expect(first.choices[0]?.finish_reason).toBe('tool_calls')
    expect(call).toEqual({ id: 'call_1', type: 'function', function: { name: 'weather', arguments: JSON.stringify(CALLS[0]) } })
    const history = [
      ...messages,
      ...(first.choices[0] ? [first.choices[0].message] : []),
      { role: 'tool' as const, tool_call_id: 'call_1', content: 'sunny' },
    ]
    const second = await openai.chat.completions.create({ model: 'sim-tools', messages: history, tools })
    expect(second.choices[0]?.message.content).toBe(ANSWERED)
    const third = await openai.chat.completions.create({
      model: 'sim-tools',
      messages: [...history, { role: 'assistant', content: ANSWERED }, ...messages],
      tools,
    })
    expect(third.choices[0]?.message.tool_calls?.[0]?.id).toBe('call_2')
  })

  test('parallel tools', async () => {
    const final = await streamed('sim-parallel', { tools }).finalChatCompletion()
    expect(
      final.choices[0]?.message.tool_calls?.map(call => (call.type === 'function' ? JSON.parse(call.function.arguments) : call)),
    ).toEqual(CALLS)
    const serial = await streamed('sim-parallel', { tools, parallel_tool_calls: false }).finalChatCompletion()
    expect(serial.choices[0]?.message.tool_calls).toHaveLength(1)
    const none = await streamed('sim-tools', { tools, tool_choice: 'none' }).finalContent()
    expect(none).toBe('No tool was offered.')
    const named = await streamed('sim-tools', {
      tools: [...tools, { type: 'function', function: { name: 'clock' } }],
      tool_choice: { type: 'function', function: { name: 'clock' } },
    }).finalChatCompletion()
    expect(named.choices[0]?.message.tool_calls?.[0]).toMatchObject({ function: { name: 'clock', arguments: '{}' } })
  })

  test('reasoning', async () => {
    const { choices } = await openai.chat.completions.create({ model: 'sim-reasoning', messages })
    expect(choices[0]?.message).toMatchObject({
      content: TEXT,
      reasoning_content: THOUGHT,
      thinking_blocks: [{ thinking: THOUGHT, signature: SIGNATURE }],
    })
    const off = await openai.chat.completions.create({ model: 'sim-reasoning', messages, reasoning_effort: 'none' })
    expect(off.choices[0]?.message).not.toHaveProperty('reasoning_content')
    let thought = ''
    for await (const { choices } of streamed('sim-reasoning'))
      thought += (choices[0]?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? ''
    expect(thought).toBe(THOUGHT)
  })

  test('structured output', async () => {
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'weather', schema: parameters } }
    const answer = await openai.chat.completions.parse({ model: 'sim-json', messages, response_format })
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual(CALLS[0])
  })

  test('reasons to stop', async () => {
    for (const [model, reason] of [
      ['sim-length', 'length'],
      ['sim-filter', 'content_filter'],
    ] as const) {
      expect((await openai.chat.completions.create({ model, messages })).choices[0]?.finish_reason).toBe(reason)
    }
  })

  test('errors, before a stream and in it', async () => {
    await expect(openai.chat.completions.create({ model: 'sim-status-429', messages })).rejects.toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
    })
    await expect(openai.chat.completions.create({ model: 'sim-status-401', messages })).rejects.toMatchObject({
      status: 401,
      code: 'invalid_api_key',
    })
    await expect(streamed('sim-status-500').finalContent()).rejects.toMatchObject({ status: 500, type: 'server_error' })
    await expect(streamed('sim-fail-2').finalContent()).rejects.toThrow(OpenAIError)
    await expect(streamed('sim-cut-3').finalContent()).rejects.toThrow()
    await expect(streamed('sim-noend').finalContent()).rejects.toThrow()
    await expect(streamed('sim-malformed-2').finalContent()).rejects.toThrow()
  })
})

describe('responses', () => {
  const input = 'What is the weather?'
  const tools = [{ type: 'function' as const, name: 'weather', parameters, strict: null }]
  const include = ['reasoning.encrypted_content' as const]

  test('text', async () => {
    const answer = await openai.responses.create({ model: 'sim', input })
    expect(answer).toMatchObject({ status: 'completed', output_text: TEXT, usage: { input_tokens: 12, output_tokens: 14 } })
    const final = await openai.responses.stream({ model: 'sim', input }).finalResponse()
    expect(final).toMatchObject({ status: 'completed', output_text: TEXT })
    const empty = await openai.responses.stream({ model: 'sim-empty', input }).finalResponse()
    expect(empty.output_text).toBe('')
  })

  test('tools, and their results', async () => {
    const first = await openai.responses.create({ model: 'sim-tools', input, tools })
    expect(first.output).toMatchObject([{ type: 'function_call', call_id: 'call_1', name: 'weather', arguments: JSON.stringify(CALLS[0]) }])
    const history = [
      { role: 'user' as const, content: input },
      ...first.output,
      { type: 'function_call_output' as const, call_id: 'call_1', output: 'sunny' },
    ]
    expect(
      (await openai.responses.create({ model: 'sim-tools', input: history as OpenAI.Responses.ResponseInput, tools })).output_text,
    ).toBe(ANSWERED)
  })

  test('parallel tools', async () => {
    const final = await openai.responses.stream({ model: 'sim-parallel', input, tools }).finalResponse()
    expect(final.output.map(item => (item.type === 'function_call' ? JSON.parse(item.arguments) : item))).toEqual(CALLS)
  })

  test('reasoning', async () => {
    for (const stream of [false, true]) {
      const asked = { model: 'sim-reasoning', input, include }
      const { output, output_text } = stream ? await openai.responses.stream(asked).finalResponse() : await openai.responses.create(asked)
      expect(output[0]).toMatchObject({ type: 'reasoning', summary: [{ text: THOUGHT }], encrypted_content: SIGNATURE })
      expect(output_text).toBe(TEXT)
    }
    expect((await openai.responses.create({ model: 'sim-reasoning', input })).output[0]).not.toHaveProperty('encrypted_content')
  })

  test('structured output', async () => {
    const answer = await openai.responses.create({
      model: 'sim-json',
      input,
      text: { format: { type: 'json_schema', name: 'weather', schema: parameters } },
    })
    expect(JSON.parse(answer.output_text)).toEqual(CALLS[0])
  })

  test('reasons to stop', async () => {
    expect(await openai.responses.create({ model: 'sim-length', input })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
    expect(await openai.responses.stream({ model: 'sim-filter', input }).finalResponse()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
    })
  })

  test('errors, before a stream and in it', async () => {
    await expect(openai.responses.create({ model: 'sim-status-429', input })).rejects.toMatchObject({ status: 429 })
    await expect(openai.responses.stream({ model: 'sim-status-500', input }).finalResponse()).rejects.toMatchObject({ status: 500 })
    const events: string[] = []
    for await (const event of await openai.responses.create({ model: 'sim-fail-2', input, stream: true })) events.push(event.type)
    expect(events).toEqual(['response.created', 'response.in_progress', 'error'])
    await expect(openai.responses.stream({ model: 'sim-cut-3', input }).finalResponse()).rejects.toThrow()
  })
})

describe('messages', () => {
  const messages = [{ role: 'user' as const, content: 'What is the weather?' }]
  const tools = [{ name: 'weather', input_schema: parameters }]
  const asked = (model: string, more: object = {}) => ({ model, max_tokens: 2000, messages, ...more })

  test('text', async () => {
    const answer = await anthropic.messages.create(asked('sim'))
    expect(answer).toMatchObject({
      content: [{ type: 'text', text: TEXT }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 12, output_tokens: 14 },
    })
    const final = await anthropic.messages.stream(asked('sim')).finalMessage()
    expect(final).toMatchObject({
      content: [{ type: 'text', text: TEXT }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 12, output_tokens: 14 },
    })
  })

  test('cached tokens', async () => {
    for (const { usage } of [
      await anthropic.messages.create(asked('sim-cached')),
      await anthropic.messages.stream(asked('sim-cached')).finalMessage(),
    ]) {
      expect(usage).toMatchObject({ input_tokens: 10, cache_read_input_tokens: 80, cache_creation_input_tokens: 10 })
    }
  })

  test('tools, and their results', async () => {
    const first = await anthropic.messages.create(asked('sim-tools', { tools }))
    expect(first).toMatchObject({
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: CALLS[0] }],
      stop_reason: 'tool_use',
    })
    const turn = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'sunny' }] }] }
    const second = await anthropic.messages.create(
      asked('sim-tools', { tools, messages: [...messages, { role: 'assistant', content: first.content }, turn] }),
    )
    expect(second.content).toMatchObject([{ text: ANSWERED }])
  })

  test('parallel tools', async () => {
    const { content } = await anthropic.messages.stream(asked('sim-parallel', { tools })).finalMessage()
    expect(content.map(block => (block.type === 'tool_use' ? block.input : block))).toEqual(CALLS)
    const serial = await anthropic.messages.create(
      asked('sim-parallel', { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
    )
    expect(serial.content).toHaveLength(1)
  })

  test('reasoning', async () => {
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    for (const { content } of [
      await anthropic.messages.create(asked('sim-reasoning', { thinking })),
      await anthropic.messages.stream(asked('sim-reasoning', { thinking })).finalMessage(),
    ]) {
      expect(content).toMatchObject([
        { type: 'thinking', thinking: THOUGHT, signature: SIGNATURE },
        { type: 'text', text: TEXT },
      ])
    }
    const sealed = await anthropic.messages
      .stream(asked('sim-reasoning', { thinking: { type: 'adaptive', display: 'omitted' } }))
      .finalMessage()
    expect(sealed.content[0]).toMatchObject({ thinking: '', signature: SIGNATURE })
    const off = await anthropic.messages.create(asked('sim-reasoning', { thinking: { type: 'disabled' } }))
    expect(off.content).toHaveLength(1)
  })

  test('structured output', async () => {
    const { content } = await anthropic.messages.create(
      asked('sim-json', { output_config: { format: { type: 'json_schema', schema: parameters } } }),
    )
    expect(content[0]?.type === 'text' && JSON.parse(content[0].text)).toEqual(CALLS[0])
  })

  test('reasons to stop', async () => {
    expect((await anthropic.messages.create(asked('sim-length'))).stop_reason).toBe('max_tokens')
    expect((await anthropic.messages.stream(asked('sim-filter')).finalMessage()).stop_reason).toBe('refusal')
  })

  test('counting', async () => {
    expect(await anthropic.messages.countTokens({ model: 'sim', messages })).toEqual({ input_tokens: 12 })
  })

  test('errors, before a stream and in it', async () => {
    await expect(anthropic.messages.create(asked('sim-status-529'))).rejects.toMatchObject({
      status: 529,
      error: { error: { type: 'overloaded_error' } },
    })
    await expect(anthropic.messages.create(asked('sim-status-401'))).rejects.toMatchObject({ status: 401, requestID: 'req_simulator' })
    await expect(anthropic.messages.stream(asked('sim-status-500')).finalMessage()).rejects.toMatchObject({ status: 500 })
    await expect(anthropic.messages.stream(asked('sim-fail-2')).finalMessage()).rejects.toThrow(AnthropicError)
    await expect(anthropic.messages.stream(asked('sim-cut-3')).finalMessage()).rejects.toThrow()
    await expect(anthropic.messages.stream(asked('sim-noend')).finalMessage()).rejects.toThrow()
  })
})

describe('generate', () => {
  const contents = 'What is the weather?'
  const tools = [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: parameters }] }]
  const streamed = async (model: string, config = {}): Promise<GenerateContentResponse[]> => {
    const found: GenerateContentResponse[] = []
    for await (const event of await google.models.generateContentStream({ model, contents, config })) found.push(event)
    return found
  }

  test('text', async () => {
    const answer = await google.models.generateContent({ model: 'sim', contents })
    expect(answer.text).toBe(TEXT)
    expect(answer.candidates?.[0]?.finishReason).toBe('STOP')
    expect(answer.usageMetadata).toMatchObject({ promptTokenCount: 12, candidatesTokenCount: 14, totalTokenCount: 26 })
    const events = await streamed('sim')
    expect(events.map(event => event.text ?? '').join('')).toBe(TEXT)
    expect(events.at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }], usageMetadata: { totalTokenCount: 26 } })
  })

  test('a chat keeps its history', async () => {
    const chat = google.chats.create({ model: 'sim' })
    for await (const event of await chat.sendMessageStream({ message: 'Hello.' })) expect(event.candidates).toHaveLength(1)
    const answer = await chat.sendMessage({ message: 'Again.' })
    expect(answer.text).toBe(TEXT)
    expect(chat.getHistory(true).filter(({ role }) => role === 'user')).toHaveLength(2)
  })

  test('cached tokens', async () => {
    expect((await google.models.generateContent({ model: 'sim-cached', contents })).usageMetadata).toMatchObject({
      promptTokenCount: 100,
      cachedContentTokenCount: 80,
    })
  })

  test('tools, and their results', async () => {
    const first = await google.models.generateContent({ model: 'sim-tools', contents, config: { tools } })
    expect(first.functionCalls).toEqual([{ id: 'fc-1', name: 'weather', args: CALLS[0] }])
    const history = [
      { role: 'user', parts: [{ text: contents }] },
      { role: 'model', parts: [{ functionCall: first.functionCalls?.[0] ?? {} }] },
      { role: 'user', parts: [{ functionResponse: { id: 'fc-1', name: 'weather', response: { output: 'sunny' } } }] },
    ]
    expect((await google.models.generateContent({ model: 'sim-tools', contents: history, config: { tools } })).text).toBe(ANSWERED)
  })

  test('parallel tools', async () => {
    const events = await streamed('sim-parallel', { tools })
    expect(events.flatMap(event => event.functionCalls ?? []).map(call => call.args)).toEqual(CALLS)
  })

  test('reasoning', async () => {
    const { candidates, usageMetadata } = await google.models.generateContent({
      model: 'sim-reasoning',
      contents,
      config: { thinkingConfig: { includeThoughts: true } },
    })
    expect(candidates?.[0]?.content?.parts).toMatchObject([
      { text: THOUGHT, thought: true },
      { text: TEXT, thoughtSignature: SIGNATURE },
    ])
    expect(usageMetadata).toMatchObject({ candidatesTokenCount: 14, thoughtsTokenCount: 10, totalTokenCount: 36 })
    const parts = (await streamed('sim-reasoning-tools', { tools })).flatMap(event => event.candidates?.[0]?.content?.parts ?? [])
    expect(
      parts
        .filter(part => part.thought)
        .map(part => part.text)
        .join(''),
    ).toBe(THOUGHT)
    expect(parts.find(part => part.functionCall)?.thoughtSignature).toBe(SIGNATURE)
  })

  test('structured output', async () => {
    const config = { responseMimeType: 'application/json', responseJsonSchema: parameters }
    expect(JSON.parse((await google.models.generateContent({ model: 'sim-json', contents, config })).text ?? '')).toEqual(CALLS[0])
  })

  test('reasons to stop', async () => {
    expect((await google.models.generateContent({ model: 'sim-length', contents })).candidates?.[0]?.finishReason).toBe('MAX_TOKENS')
    expect((await streamed('sim-filter')).at(-1)?.candidates?.[0]?.finishReason).toBe('SAFETY')
  })

  test('counting', async () => {
    expect((await google.models.countTokens({ model: 'sim', contents })).totalTokens).toBe(12)
  })

  test('errors, before a stream and in it', async () => {
    await expect(google.models.generateContent({ model: 'sim-status-400', contents })).rejects.toMatchObject({ status: 400 })
    await expect(streamed('sim-status-503')).rejects.toThrow(ApiError)
    await expect(streamed('sim-fail-2')).rejects.toThrow('as its scenario says')
    await expect(streamed('sim-cut-3')).rejects.toThrow()
    await expect(streamed('sim-torn-3')).rejects.toThrow()
  })
})
