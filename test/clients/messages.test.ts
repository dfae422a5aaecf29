// The official Anthropic client with every provider: what the common table does not cover.

import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { partsOf } from './conversation.js'
import { CALLS, PARAMETERS, SIGNATURE, TEXT, THOUGHT } from './facts.js'
import { DECLARED, failureOf, KEYS, lanesFor, modelOf, PNG, type Stage, startStage } from './gateway.js'
import { messages as speaker } from './sdks/messages.js'
import { table } from './table.js'

let stage: Stage
let client: Anthropic

beforeAll(async () => {
  stage = await startStage()
  client = clientWith(KEYS.good)
})
afterAll(() => stage?.close())

const clientWith = (apiKey: string, maxRetries = 0): Anthropic => new Anthropic({ baseURL: stage.url, apiKey, maxRetries, logLevel: 'off' })

const hello: Anthropic.MessageParam[] = [{ role: 'user', content: 'Hello' }]
const weather: Anthropic.Tool = { name: 'get_weather', description: 'The weather of a place', input_schema: PARAMETERS }

table(speaker, () => stage)

describe.each(lanesFor('messages'))('a messages client on $name', lane => {
  const ask = (name: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) => ({
    model: modelOf(lane, name),
    max_tokens: 4096,
    messages: hello,
    ...more,
  })
  const thinking = { type: 'enabled', budget_tokens: 2048 } as const
  const eventsOf = async (name: string, more: Partial<Anthropic.MessageCreateParamsNonStreaming> = {}) => {
    const events: Anthropic.RawMessageStreamEvent[] = []
    for await (const event of await client.messages.create({ ...ask(name, more), stream: true })) events.push(event)
    return events
  }

  test.each(['sim', 'sim-empty', 'sim-parallel', 'sim-reasoning', 'sim-reasoning-tools'])(
    'M2, M3, M4, M5: events of %s are in the order that clients rely on',
    async name => {
      const events = await eventsOf(name, { tools: [weather], thinking })
      expect(events[0]).toMatchObject({
        type: 'message_start',
        message: { type: 'message', role: 'assistant', content: [], stop_reason: null, usage: { input_tokens: expect.any(Number) } },
      })
      expect(events.at(-1)?.type).toBe('message_stop')
      // Blocks are numbered without a gap, filled while they are open, and closed once; only calls are open side by side.
      const open = new Map<number, string>()
      let next = 0
      for (const event of events) {
        if (event.type === 'content_block_start') {
          expect(event.index).toBe(next++)
          expect([...open.values()].filter(type => type !== 'tool_use' || event.content_block.type !== 'tool_use')).toEqual([])
          open.set(event.index, event.content_block.type)
        } else if (event.type === 'content_block_delta') expect(open.has(event.index)).toBe(true)
        else if (event.type === 'content_block_stop') expect(open.delete(event.index)).toBe(true)
      }
      expect(open.size).toBe(0)
      const ends = events.filter(event => event.type === 'message_delta')
      expect(ends).toMatchObject([{ delta: { stop_reason: expect.any(String) }, usage: { output_tokens: expect.any(Number) } }])
    },
  )

  test.each(['sim', 'sim-reasoning-tools'])('M1, M11, M12: every line of %s is an event with its name', async name => {
    const response = await client.messages.create({ ...ask(name, { tools: [weather], thinking }), stream: true }).asResponse()
    const text = await response.text()
    const events = text.split('\n\n').filter(event => event !== '' && !event.startsWith(':'))
    for (const event of events) {
      const [, type, data] = /^event: (\w+)\ndata: (\{.*\})$/.exec(event) ?? []
      expect(JSON.parse(data ?? 'null')).toMatchObject({ type })
    }
    expect(text).not.toContain('[DONE]')
  })

  test('M7, M8: thinking begins empty, and its signature comes at once', async () => {
    const events = await eventsOf('sim-reasoning', { thinking })
    const starts = events.flatMap(event => (event.type === 'content_block_start' ? [event.content_block] : []))
    expect(starts).toMatchObject([
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'text', text: '' },
    ])
    const deltas = events.flatMap(event => (event.type === 'content_block_delta' ? [event.delta] : []))
    // A provider that signs its texts does so long after the thinking was sent.
    const signatures = deltas.filter(delta => delta.type === 'signature_delta')
    expect(signatures).toHaveLength(lane.speaks === 'generate' ? 0 : 1)
    expect(deltas.map(delta => (delta.type === 'thinking_delta' ? delta.thinking : '')).join('')).toBe(THOUGHT)
  })

  test('M9, M10, M13: a call begins with an empty input, and its pieces are the whole of it', async () => {
    const events = await eventsOf('sim-parallel', { tools: [weather] })
    const starts = events.flatMap(event => (event.type === 'content_block_start' ? [event] : []))
    const inputs = starts.flatMap(({ index, content_block: block }) => {
      if (block.type !== 'tool_use') return []
      expect(block).toMatchObject({ id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/), name: 'get_weather', input: {} })
      const pieces = events.map(event =>
        event.type === 'content_block_delta' && event.index === index && event.delta.type === 'input_json_delta'
          ? event.delta.partial_json
          : '',
      )
      return [JSON.parse(pieces.join(''))]
    })
    expect(inputs).toEqual(CALLS)
  })

  test('thinking that is not to be shown is still given back', async () => {
    const sealed = { type: 'adaptive', display: 'omitted' } as const
    const { content } = await client.messages.create(ask('sim-reasoning-tools', { tools: [weather], thinking: sealed }))
    const results = content.flatMap(block =>
      block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'sunny' }] : [],
    )
    const messages: Anthropic.MessageParam[] = [...hello, { role: 'assistant', content }, { role: 'user', content: results }]
    await client.messages.create(ask('sim', { tools: [weather], thinking: sealed, messages }))
    expect(partsOf(stage.heard(lane), 'thinking').map(part => part.signature)).toContain(SIGNATURE)
  })

  test.each([false, true])('the runner calls tools until there is an answer, streamed: %s', async stream => {
    const seen: unknown[] = []
    const tool = betaTool({
      name: 'get_weather',
      description: 'The weather of a place',
      inputSchema: PARAMETERS,
      run: args => {
        seen.push(args)
        return `sunny-${seen.length}`
      },
    })
    const before = stage.simulator.requests.length
    // The runner asks for a thread first. Where there are none it is told so before the provider is asked, and sends the whole
    // history from then on.
    const asked = { model: modelOf(lane, 'sim-parallel'), max_tokens: 4096, messages: hello, tools: [tool], max_iterations: 5 }
    const runner = stream ? client.beta.messages.toolRunner({ ...asked, stream: true }) : client.beta.messages.toolRunner(asked)
    const { content } = await runner.runUntilDone()
    expect(content).toMatchObject([{ type: 'text', text: 'The tools answered: sunny-1 | sunny-2' }])
    expect(seen).toEqual(CALLS)
    expect(stage.simulator.requests).toHaveLength(before + 2)
    if (!lane.isNative) expect(stage.heard(lane).turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user'])
  })

  test('the runner goes on with a tool that throws', async () => {
    const tool = betaTool({
      name: 'get_weather',
      description: 'The weather of a place',
      inputSchema: PARAMETERS,
      run: () => {
        throw new Error('no such place')
      },
    })
    const asked = { model: modelOf(lane, 'sim-tools'), max_tokens: 4096, messages: hello, tools: [tool] }
    const { content } = await client.beta.messages.toolRunner({ ...asked, thread: false }).runUntilDone()
    expect(content.map(block => (block.type === 'text' ? block.text : '')).join('')).toContain('no such place')
  })

  test('an answer is parsed by its schema', async () => {
    const format = jsonSchemaOutputFormat({
      type: 'object',
      properties: { name: { type: 'string' }, count: { type: 'integer' } },
      required: ['name', 'count'],
      additionalProperties: false,
    })
    const { parsed_output: parsed } = await client.messages.parse({ ...ask('sim-json'), output_config: { format } })
    expect(parsed).toEqual({ name: expect.any(String), count: expect.any(Number) })
  })

  test('an image is a result, too', async () => {
    const { content } = await client.messages.create(ask('sim-tools', { tools: [weather] }))
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } } as const
    const results = content.flatMap(block =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: [{ type: 'text' as const, text: 'A map:' }, image] }]
        : [],
    )
    const messages: Anthropic.MessageParam[] = [...hello, { role: 'assistant', content }, { role: 'user', content: results }]
    await client.messages.create(ask('sim', { tools: [weather], messages }))
    const heard = stage.heard(lane)
    expect(partsOf(heard, 'result').map(result => result.text)).toEqual([expect.stringContaining('A map:')])
    // In the result where the dialect has a place for it, or else beside it.
    const media = [...partsOf(heard, 'result').flatMap(result => result.media), ...partsOf(heard, 'image').map(part => part.source)]
    expect(media).toEqual([PNG])
  })

  test('instructions as blocks, and in the middle of the conversation, reach the provider', async () => {
    const system: Anthropic.TextBlockParam[] = [
      { type: 'text', text: 'First rule.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Second rule.' },
    ]
    const messages = [
      ...hello,
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: 'Go on.' },
      { role: 'system', content: 'Third rule.' },
    ] as Anthropic.MessageParam[]
    await client.messages.create(ask('sim', { system, messages }))
    const { system: heard, body } = stage.heard(lane)
    expect(heard.join('\n')).toMatch(/First rule\.[\s\S]*Second rule\./)
    expect(body).toContain('Third rule.')
  })

  test('an effort asks for reasoning', async () => {
    const asked = ask('sim-reasoning', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } })
    const { content } = await client.messages.create(asked)
    expect(content).toMatchObject([
      { type: 'thinking', thinking: THOUGHT, signature: expect.any(String) },
      { type: 'text', text: TEXT },
    ])
    expect(stage.heard(lane).reasons).toBe(true)
  })

  test('what the provider has no control for is dropped, and named; nothing else is', async () => {
    // The SDK has forgotten this control; older clients have not.
    const old = { ...ask('sim', { metadata: { user_id: 'u' } }), top_k: 5 }
    const { response } = await client.messages.create(old).withResponse()
    const dropped = { chat: 'top_k', responses: 'top_k', generate: 'metadata.user_id' }[lane.speaks as string]
    expect(response.headers.get('x-sluice-dropped')).toBe(lane.isNative ? null : dropped)
    const plain = await client.messages.create(ask('sim')).withResponse()
    expect(plain.response.headers.get('x-sluice-dropped')).toBeNull()
  })

  test('every answer names its request', async () => {
    expect(await client.messages.create(ask('sim'))).toMatchObject({ _request_id: expect.any(String) })
  })

  test('tokens are counted, by the provider or by estimate', async () => {
    const short = await client.messages.countTokens({ model: modelOf(lane, 'sim'), messages: hello })
    expect(short.input_tokens).toBeGreaterThan(0)
    const long: Anthropic.MessageParam[] = [{ role: 'user', content: 'Hello '.repeat(1000) }]
    const counted = await client.messages.countTokens({ model: modelOf(lane, 'sim'), messages: long, tools: [weather] })
    if (!lane.isNative) expect(counted.input_tokens).toBeGreaterThan(900)
  })
})

describe('whoever the provider is', () => {
  const model = 'openai-chat/sim'
  const asked = (more: object = {}) => ({ model, max_tokens: 9, messages: hello, ...more }) as Anthropic.MessageCreateParamsNonStreaming
  const create = (more: object) => client.messages.create(asked(more))
  const image = (data: string, media_type: string) => ({
    messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type, data } }] }],
  })

  test.each([
    ['a wrong key', () => clientWith('nobody').messages.create(asked()), 401, 'authentication_error', ''],
    ['a disabled key', () => clientWith(KEYS.disabled).messages.create(asked()), 403, 'permission_error', ''],
    ['an expired key', () => clientWith(KEYS.expired).messages.create(asked()), 403, 'permission_error', ''],
    [
      'a model that the key may not use',
      () => clientWith(KEYS.limited).messages.create(asked({ model: 'openai-chat/sim-64' })),
      403,
      'permission_error',
      'openai-chat/sim-64',
    ],
    ['an unknown model', () => create({ model: 'nothing' }), 404, 'not_found_error', 'nothing'],
    ['a path that is nowhere', () => client.post('/v1/messages/nothing', { body: {} }), 404, 'not_found_error', ''],
    ['a method that the path has not', () => client.get('/v1/messages'), 405, 'invalid_request_error', ''],
    ['no limit', () => create({ max_tokens: undefined }), 400, 'invalid_request_error', 'max_tokens'],
    ['more than the model can', () => create({ model: DECLARED, max_tokens: 4097 }), 400, 'invalid_request_error', 'max_tokens'],
    ['a temperature that is too high', () => create({ temperature: 1.5 }), 400, 'invalid_request_error', 'temperature'],
    [
      'a first turn that is not the user’s',
      () => create({ messages: [{ role: 'assistant', content: 'Hi' }] }),
      400,
      'invalid_request_error',
      'messages',
    ],
    ['an unknown role', () => create({ messages: [{ role: 'nobody', content: 'x' }] }), 400, 'invalid_request_error', 'role'],
    ['an image of another kind', () => create(image(PNG, 'image/bmp')), 400, 'invalid_request_error', 'media_type'],
    ['an image that is none', () => create(image('aGVsbG8=', 'image/png')), 400, 'invalid_request_error', 'source.data'],
    ['a container', () => create({ container: 'c1' }), 400, 'invalid_request_error', 'container'],
  ] as [string, () => Promise<unknown>, number, string, string][])(
    '%s is told as the official API tells it',
    async (_what, call, status, type, words) => {
      const before = stage.simulator.requests.length
      const failure = await failureOf(call())
      expect(failure).toBeInstanceOf(Anthropic.APIError)
      expect(failure).toMatchObject({
        status,
        requestID: expect.any(String),
        error: { type: 'error', error: { type, message: expect.stringContaining(words) }, request_id: expect.any(String) },
      })
      expect(stage.simulator.requests).toHaveLength(before)
    },
  )

  test('a provider without threads says so in the words that the runner looks for', async () => {
    expect(await failureOf(create({ thread: { type: 'create' } }))).toMatchObject({
      status: 400,
      error: { error: { details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } } },
    })
  })

  test.each([
    ['M14: a bearer token and the newest version', { authorization: `Bearer ${KEYS.good}`, 'anthropic-version': '2026-10-21' }],
    ['M14: a key and the first version', { 'x-api-key': KEYS.good, 'anthropic-version': '2023-06-01' }],
    ['M14: a key and no version', { 'x-api-key': KEYS.good }],
  ])('%s are accepted', async (_what, headers) => {
    const response = await fetch(`${stage.url}/v1/messages?beta=true`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(asked()),
    })
    expect(await response.json()).toMatchObject({ type: 'message' })
  })

  test('models are listed by pages, and retrieved', async () => {
    const names: string[] = []
    for await (const model of client.models.list({ limit: 100 })) names.push(model.id)
    expect(names).toEqual([...names].sort())
    expect(names.length).toBeGreaterThan(200)
    expect(new Set(names).size).toBe(names.length)
    expect(await client.models.retrieve(DECLARED)).toMatchObject({ id: DECLARED, type: 'model', display_name: 'A declared model' })
    expect(await failureOf(client.models.retrieve('nothing'))).toMatchObject({ status: 404 })
  })
})
