// The official OpenAI client, chat-completions, in front of every provider.

import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { providersFor, startAll } from './gateway.js'

let all: Awaited<ReturnType<typeof startAll>>
let client: OpenAI

beforeAll(async () => {
  all = await startAll()
  client = new OpenAI({ baseURL: `${all.url}/v1`, apiKey: all.key, maxRetries: 0 })
})
afterAll(() => all.close())

const hello = [{ role: 'user' as const, content: 'Hello' }]
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a place',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe.each(providersFor('chat'))('chat client on %s', provider => {
  const model = (name: string): string => `${provider}/${name}`

  test('gets a text answer with usage', async () => {
    const answer = await client.chat.completions.create({ model: model('sim'), messages: hello })
    expect(answer.object).toBe('chat.completion')
    expect(answer.choices[0]?.message.content).toMatch(/simulator/)
    expect(answer.choices[0]?.finish_reason).toBe('stop')
    expect(answer.usage?.total_tokens).toBe((answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0))
    expect(answer.usage?.total_tokens).toBeGreaterThan(0)
  })

  test('gets the same text as a stream, and usage only when it asks', async () => {
    const whole = await client.chat.completions.create({ model: model('sim'), messages: hello })
    const chunks = []
    for await (const chunk of await client.chat.completions.create({ model: model('sim'), messages: hello, stream: true }))
      chunks.push(chunk)
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant')
    expect(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join('')).toBe(whole.choices[0]?.message.content)
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
    expect(chunks.every(chunk => chunk.choices.length > 0 && !chunk.usage)).toBe(true)
    expect(new Set(chunks.map(chunk => chunk.id)).size).toBe(1)
    const asked = []
    const options = { model: model('sim'), messages: hello, stream: true as const, stream_options: { include_usage: true } }
    for await (const chunk of await client.chat.completions.create(options)) asked.push(chunk)
    expect(asked.at(-1)?.choices).toEqual([])
    expect(asked.at(-1)?.usage).toMatchObject({ total_tokens: whole.usage?.total_tokens })
  })

  test('the stream helper folds a stream of 64 chunks to the whole', async () => {
    const folded = await client.chat.completions.stream({ model: model('sim-64'), messages: hello }).finalChatCompletion()
    const whole = await client.chat.completions.create({ model: model('sim-64'), messages: hello })
    expect(folded.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
  })

  test('runs a tool and gets an answer that knows its result', async () => {
    let city: unknown
    const runner = client.chat.completions.runTools({
      model: model('sim-tools'),
      messages: [{ role: 'user', content: 'Weather?' }],
      tools: [
        {
          ...weather,
          function: {
            ...weather.function,
            parse: JSON.parse,
            function: (args: { city: string }) => {
              city = args.city
              return 'sunny-7731'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toContain('sunny-7731')
    expect(typeof city).toBe('string')
  })

  test('gets parallel tool calls as a stream, each with its own arguments', async () => {
    const options = { model: model('sim-parallel'), messages: hello, tools: [weather] }
    const whole = await client.chat.completions.create(options)
    const calls = whole.choices[0]?.message.tool_calls ?? []
    expect(whole.choices[0]?.finish_reason).toBe('tool_calls')
    expect(calls.length).toBe(2)
    expect(new Set(calls.map(call => call.id)).size).toBe(2)
    const folded = await client.chat.completions.stream(options).finalChatCompletion()
    const argumentsOf = (list: typeof calls) =>
      list.map(call => (call.type === 'function' ? JSON.parse(call.function.arguments) : undefined))
    expect(argumentsOf(folded.choices[0]?.message.tool_calls ?? [])).toEqual(argumentsOf(calls))
  })

  test('sends an image in base64', async () => {
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${PNG}` } },
    ]
    await client.chat.completions.create({ model: model('sim'), messages: [{ role: 'user', content }] })
    expect(all.simulator.requests.at(-1)?.body).toContain(PNG)
  })

  test('gets structured output that its schema accepts', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
      additionalProperties: false,
    }
    const answer = await client.chat.completions.create({
      model: model('sim-json'),
      messages: hello,
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
    })
    const person = JSON.parse(answer.choices[0]?.message.content ?? '')
    expect(typeof person.name).toBe('string')
    expect(Number.isInteger(person.age)).toBe(true)
  })

  test('gets reasoning beside the text', async () => {
    const answer = await client.chat.completions.create({ model: model('sim-reasoning'), messages: hello, reasoning_effort: 'high' })
    const message = answer.choices[0]?.message as { content: string; reasoning_content?: string }
    expect(message.reasoning_content).toBeTruthy()
    expect(message.content).not.toContain(message.reasoning_content)
  })

  test.each([
    ['sim-length', 'length'],
    ['sim-filter', 'content_filter'],
  ])('%s ends with %s, streamed or not', async (name, reason) => {
    const whole = await client.chat.completions.create({ model: model(name), messages: hello })
    expect(whole.choices[0]?.finish_reason).toBe(reason)
    let last: string | null | undefined
    for await (const chunk of await client.chat.completions.create({ model: model(name), messages: hello, stream: true })) {
      last = chunk.choices[0]?.finish_reason ?? last
    }
    expect(last).toBe(reason)
  })

  test('cached tokens are part of the prompt', async () => {
    const { usage } = await client.chat.completions.create({ model: model('sim-cached'), messages: hello })
    const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0
    expect(cached).toBeGreaterThan(0)
    expect(usage?.prompt_tokens).toBeGreaterThanOrEqual(cached)
  })

  test.each([
    ['sim-status-400', 400],
    ['sim-status-429', 429],
    ['sim-status-500', 502],
    ['sim-status-401', 502],
  ])('%s before the stream is a real status', async (name, status) => {
    for (const stream of [false, true]) {
      const failure = await client.chat.completions.create({ model: model(name), messages: hello, stream }).then(
        () => undefined,
        error => error,
      )
      expect(failure).toBeInstanceOf(OpenAI.APIError)
      expect(failure.status).toBe(status)
      if (status === 429) expect(failure.headers.get('retry-after')).toBeTruthy()
    }
  })

  test.each(['sim-fail-2', 'sim-cut-3', 'sim-malformed-2', 'sim-noend'])('%s is never a complete answer', async name => {
    const read = async () => {
      let isFinished = false
      for await (const chunk of await client.chat.completions.create({ model: model(name), messages: hello, stream: true })) {
        if (chunk.choices[0]?.finish_reason) isFinished = true
      }
      return isFinished
    }
    await expect(read()).rejects.toThrow()
  })

  test('giving up cancels the upstream call', async () => {
    const stream = await client.chat.completions.create({ model: model('sim-1000-20ms'), messages: hello, stream: true })
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break
    }
    stream.controller.abort()
    await expect.poll(() => all.simulator.requests.at(-1)?.aborted, { timeout: 3000 }).toBe(true)
  })
})

test('a wrong key, an unknown model, a bad body and a missing route are told as the official API tells them', async () => {
  const stranger = new OpenAI({ baseURL: `${all.url}/v1`, apiKey: 'nobody', maxRetries: 0 })
  await expect(stranger.chat.completions.create({ model: 'openai/sim', messages: hello })).rejects.toMatchObject({
    status: 401,
    code: 'invalid_api_key',
  })
  await expect(client.chat.completions.create({ model: 'nothing', messages: hello })).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
  })
  await expect(
    client.chat.completions.create({ model: 'openai/sim', messages: [{ role: 'nobody' as 'user', content: 'x' }] }),
  ).rejects.toMatchObject({ status: 400, param: 'messages[0].role' })
  await expect(client.chat.completions.create({ model: 'anthropic/sim', messages: hello, n: 2 })).rejects.toMatchObject({
    status: 400,
    code: 'unsupported_parameter',
    param: 'n',
  })
  const before = Date.now()
  const eager = new OpenAI({ baseURL: `${all.url}/v1`, apiKey: all.key })
  await expect(eager.files.list()).rejects.toMatchObject({ status: 501 })
  expect(Date.now() - before).toBeLessThan(400)
})

test('lists models and retrieves one', async () => {
  const names = []
  for await (const model of client.models.list()) names.push(model.id)
  expect(names).toContain('openai/sim')
  expect(names).toEqual([...names].sort())
  expect((await client.models.retrieve('openai/sim')).id).toBe('openai/sim')
  await expect(client.models.retrieve('nothing')).rejects.toMatchObject({ status: 404 })
})
