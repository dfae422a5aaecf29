// The official Anthropic client in front of every provider.

import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { providersFor, startAll } from './gateway.js'

let all: Awaited<ReturnType<typeof startAll>>
let client: Anthropic

beforeAll(async () => {
  all = await startAll()
  client = new Anthropic({ baseURL: all.url, apiKey: all.key, maxRetries: 0 })
})
afterAll(() => all.close())

const messages = [{ role: 'user' as const, content: 'Hello' }]
const tools = [
  {
    name: 'get_weather',
    description: 'The weather',
    input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
  },
]
const textOf = (content: { type: string }[]): string =>
  content.map(block => (block.type === 'text' ? (block as unknown as { text: string }).text : '')).join('')

describe.each(providersFor('messages'))('messages client on %s', provider => {
  const ask = (name: string) => ({ model: `${provider}/${name}`, max_tokens: 4096, messages })

  test('gets a text answer with usage, whole and as a stream', async () => {
    const whole = await client.messages.create(ask('sim'))
    expect(whole).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
    expect(textOf(whole.content)).toMatch(/simulator/)
    expect(whole.usage.output_tokens).toBeGreaterThan(0)
    const folded = await client.messages.stream(ask('sim')).finalMessage()
    expect(textOf(folded.content)).toBe(textOf(whole.content))
    expect(folded.usage.output_tokens).toBe(whole.usage.output_tokens)
    expect(folded.usage.input_tokens).toBe(whole.usage.input_tokens)
    expect(folded.stop_reason).toBe('end_turn')
  })

  test('every block begins before its deltas and ends once', async () => {
    const open = new Map<number, boolean>()
    let next = 0
    for await (const event of await client.messages.create({ ...ask('sim-parallel'), tools, stream: true })) {
      if (event.type === 'content_block_start') {
        expect(event.index).toBe(next++)
        open.set(event.index, true)
      } else if (event.type === 'content_block_delta') {
        expect(open.get(event.index)).toBe(true)
      } else if (event.type === 'content_block_stop') {
        expect(open.get(event.index)).toBe(true)
        open.set(event.index, false)
      }
    }
    expect(next).toBeGreaterThan(0)
    expect([...open.values()].every(isOpen => !isOpen)).toBe(true)
  })

  test('calls a tool, takes its result and an error, and goes on', async () => {
    const first = await client.messages.stream({ ...ask('sim-tools'), tools }).finalMessage()
    expect(first.stop_reason).toBe('tool_use')
    const call = first.content.find(block => block.type === 'tool_use')
    expect(call?.name).toBe('get_weather')
    expect(typeof (call?.input as { city: string } | undefined)?.city).toBe('string')
    for (const is_error of [false, true]) {
      const second = await client.messages.create({
        ...ask('sim-tools'),
        tools,
        messages: [
          ...messages,
          { role: 'assistant', content: first.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: 'sunny-7731', is_error }] },
        ],
      })
      expect(textOf(second.content)).toContain('sunny-7731')
    }
  })

  test('thinking is kept apart from text and can be sent back', async () => {
    const ask2 = { ...ask('sim-reasoning'), thinking: { type: 'enabled' as const, budget_tokens: 2048 } }
    const first = await client.messages.stream(ask2).finalMessage()
    const thinking = first.content.find(block => block.type === 'thinking')
    expect(thinking?.thinking).toBeTruthy()
    expect(textOf(first.content)).not.toContain(thinking?.thinking)
    const second = await client.messages.create({
      ...ask2,
      messages: [...messages, { role: 'assistant', content: first.content }, { role: 'user', content: 'And?' }],
    })
    expect(second.stop_reason).toBe('end_turn')
  })

  test('structured output is what its schema accepts', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false }
    const answer = await client.messages.create({ ...ask('sim-json'), output_config: { format: { type: 'json_schema', schema } } })
    expect(typeof JSON.parse(textOf(answer.content)).name).toBe('string')
  })

  test('a limit and a refusal end as such', async () => {
    expect((await client.messages.create(ask('sim-length'))).stop_reason).toBe('max_tokens')
    expect((await client.messages.stream(ask('sim-filter')).finalMessage()).stop_reason).toBe('refusal')
  })

  test('counts tokens', async () => {
    const { input_tokens } = await client.messages.countTokens({ model: `${provider}/sim`, messages })
    expect(input_tokens).toBeGreaterThan(0)
  })

  test.each([
    ['sim-status-400', 400, 'invalid_request_error'],
    ['sim-status-429', 429, 'rate_limit_error'],
    ['sim-status-500', 502, 'api_error'],
    ['sim-status-529', 529, 'overloaded_error'],
    ['sim-status-401', 502, 'api_error'],
  ])('%s is told as %i %s', async (name, status, type) => {
    for (const stream of [false, true]) {
      const failure = await client.messages.create({ ...ask(name), stream }).then(
        () => undefined,
        error => error,
      )
      expect(failure).toBeInstanceOf(Anthropic.APIError)
      expect(failure.status).toBe(status)
      expect(failure.error.error.type).toBe(type)
    }
  })

  test.each(['sim-fail-2', 'sim-cut-3', 'sim-malformed-2', 'sim-noend'])('%s is never a complete answer', async name => {
    await expect(client.messages.stream(ask(name)).finalMessage()).rejects.toThrow()
  })

  test('giving up cancels the upstream call', async () => {
    const stream = client.messages.stream(ask('sim-1000-20ms'))
    stream.on('text', () => stream.abort())
    await stream.done().catch(() => undefined)
    await expect.poll(() => all.simulator.requests.at(-1)?.aborted, { timeout: 3000 }).toBe(true)
  })
})

test('a wrong key, an unknown model and a bad body are told as the official API tells them', async () => {
  const stranger = new Anthropic({ baseURL: all.url, apiKey: 'nobody', maxRetries: 0 })
  await expect(stranger.messages.create({ model: 'openai/sim', max_tokens: 9, messages })).rejects.toMatchObject({ status: 401 })
  await expect(client.messages.create({ model: 'nothing', max_tokens: 9, messages })).rejects.toMatchObject({ status: 404 })
  const bad = client.messages.create({
    model: 'openai/sim',
    max_tokens: 9,
    messages,
    temperature: 1.5,
  } as Anthropic.MessageCreateParamsNonStreaming)
  await expect(bad).rejects.toMatchObject({
    status: 400,
    error: { type: 'error', error: { type: 'invalid_request_error', message: expect.stringContaining('temperature') } },
  })
})

test('pages through the models', async () => {
  const names = []
  for await (const model of client.models.list({ limit: 7 })) names.push(model.id)
  expect(names.length).toBeGreaterThan(20)
  expect(new Set(names).size).toBe(names.length)
})
