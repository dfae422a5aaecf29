// The official OpenAI client, chat completions, with every provider: what the common table does not cover.

import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from './conversation.js'
import { CALLS, PARAMETERS, RICH, TEXT, THOUGHT, tokensOf } from './facts.js'
import { DECLARED, expectRefused, failureOf, KEYS, lanesFor, modelOf, type Stage, startStage } from './gateway.js'
import { chat } from './sdks/chat.js'
import { table } from './table.js'

type Message = OpenAI.ChatCompletionMessageParam
type Chunk = OpenAI.ChatCompletionChunk
/** What of the answer the SDK's types do not know. */
type Reasoned = (OpenAI.ChatCompletionChunk.Choice.Delta & { reasoning_content?: string }) | undefined

let stage: Stage
let client: OpenAI

beforeAll(async () => {
  stage = await startStage()
  client = clientWith(KEYS.good)
})
afterAll(() => stage?.close())

const clientWith = (apiKey: string, options: { maxRetries?: number } = {}): OpenAI =>
  new OpenAI({ baseURL: `${stage.url}/v1`, apiKey, maxRetries: 0, logLevel: 'off', ...options })

const hello: Message[] = [{ role: 'user', content: 'Hello' }]
const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'get_weather', description: 'The weather of a place', parameters: PARAMETERS },
}

table(chat, () => stage)

const lanes = lanesFor('chat')

describe.each(lanes)('a chat client on $name', lane => {
  const ask = (name: string, more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) => ({
    model: modelOf(lane, name),
    messages: hello,
    ...more,
  })
  const whole = async (name: string, more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) => {
    const answer = await client.chat.completions.create({ ...ask(name, more), stream: false })
    expect(answer).toMatchObject({ object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant' } }] })
    return { usage: answer.usage, ...(answer.choices[0] as OpenAI.ChatCompletion.Choice) }
  }
  const chunksOf = async (name: string, more: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) => {
    const chunks: Chunk[] = []
    for await (const chunk of await client.chat.completions.create({ ...ask(name, more), stream: true })) chunks.push(chunk)
    return chunks
  }

  test('C1, C4, C5, C15: a stream is in the shape that clients rely on', async () => {
    const chunks = await chunksOf('sim')
    expect(chunks[0]?.choices[0]).toMatchObject({ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null })
    expect(chunks.slice(1).filter(chunk => chunk.choices[0]?.delta.role)).toEqual([])
    expect(chunks.map(chunk => chunk.choices[0]?.finish_reason).filter(Boolean)).toEqual(['stop'])
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop')
    for (const field of ['id', 'object', 'created', 'model'] as const) expect(new Set(chunks.map(chunk => chunk[field])).size).toBe(1)
    expect(chunks[0]?.object).toBe('chat.completion.chunk')
    // Usage is for who asked for it, even where the provider was asked for it by the gateway.
    expect(chunks.filter(chunk => chunk.choices.length !== 1 || chunk.usage)).toEqual([])
  })

  test.each(['sim', 'sim-cached', 'sim-reasoning', 'sim-cached-reasoning'])(
    'C2, C3: tokens of %s are counted in the same way everywhere',
    async name => {
      const tokens = tokensOf(name, lane)
      const usage = {
        prompt_tokens: tokens.input,
        completion_tokens: tokens.output,
        total_tokens: tokens.input + tokens.output,
        prompt_tokens_details: {
          cached_tokens: tokens.cached,
          ...(tokens.written !== undefined && { cache_write_tokens: tokens.written }),
        },
        completion_tokens_details: { reasoning_tokens: tokens.reasoning },
      }
      expect((await whole(name)).usage).toMatchObject(usage)
      const asked = { stream_options: { include_usage: true } }
      const chunks = await chunksOf(name, asked)
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage })
      expect(chunks.at(-1)?.id).toBe(chunks[0]?.id)
      expect(chunks.slice(0, -1).filter(chunk => chunk.usage || chunk.choices.length === 0)).toEqual([])
    },
  )

  test.each(['sim-tools', 'sim-parallel', 'sim-tools-2ms'])(
    'C5, C7, C8, C9, C10: arguments of %s are streamed in the shape that clients rely on',
    async name => {
      const deltas = (await chunksOf(name, { tools: [weather] })).flatMap(chunk => chunk.choices[0]?.delta.tool_calls ?? [])
      const count = name === 'sim-parallel' ? 2 : 1
      const heads = deltas.filter(delta => delta.id !== undefined)
      expect(heads.map(head => head.index)).toEqual([...Array(count).keys()])
      for (const head of heads) expect(head).toMatchObject({ type: 'function', function: { name: 'get_weather' } })
      // Clients join texts: whatever came with the head must not come again.
      for (const delta of deltas.filter(delta => !heads.includes(delta))) {
        expect(delta).not.toHaveProperty('type')
        expect(delta.function).not.toHaveProperty('name')
      }
      const args = heads.map(head =>
        deltas
          .filter(delta => delta.index === head.index)
          .map(delta => delta.function?.arguments ?? '')
          .join(''),
      )
      expect(args.map(text => JSON.parse(text))).toEqual(CALLS.slice(0, count))
    },
  )

  test.each([false, true])('the runner calls tools until there is an answer, streamed: %s', async stream => {
    const seen: unknown[] = []
    const tool = {
      type: 'function' as const,
      function: {
        name: 'get_weather',
        description: 'The weather of a place',
        parameters: PARAMETERS,
        parse: (text: string): object => JSON.parse(text),
        function: (args: object) => {
          seen.push(args)
          return `sunny-${seen.length}`
        },
      },
    }
    const asked = { model: modelOf(lane, 'sim-parallel'), messages: hello, tools: [tool] }
    const { completions } = client.chat
    const runner = stream ? completions.runTools({ ...asked, stream: true }) : completions.runTools(asked)
    expect(await runner.finalContent()).toBe('The tools answered: sunny-1 | sunny-2')
    expect(seen).toEqual(CALLS)
    expect(await runner.finalFunctionToolCallResult()).toBe('sunny-2')
  })

  test('one call at a time where it is asked for and the provider can', async () => {
    const { data, response } = await client.chat.completions
      .create({ ...ask('sim-parallel', { tools: [weather], parallel_tool_calls: false }), stream: false })
      .withResponse()
    const isHeld = lane.speaks !== 'generate'
    expect(data.choices[0]?.message.tool_calls).toHaveLength(isHeld ? 1 : 2)
    expect(response.headers.get('x-sluice-dropped')).toBe(isHeld ? null : 'parallel_tool_calls')
  })

  test('a JSON object without a schema is asked for in one way or another', async () => {
    const { message } = await whole('sim-json', { response_format: { type: 'json_object' } })
    expect(JSON.parse(message.content ?? '')).toBeTypeOf('object')
    expect(stage.heard(lane).body).toMatch(/json/i)
  })

  test('C6: reasoning and its proof are told beside the text', async () => {
    const { message } = await whole('sim-reasoning-tools', { tools: [weather], reasoning_effort: 'high' })
    expect(message).toMatchObject({ reasoning_content: THOUGHT })
    const deltas = (await chunksOf('sim-reasoning', { reasoning_effort: 'high' })).map(chunk => chunk.choices[0]?.delta as Reasoned)
    expect(deltas.map(delta => delta?.reasoning_content ?? '').join('')).toBe(THOUGHT)
    // Every delta is either: clients that know of no reasoning show the text alone.
    expect(deltas.filter(delta => delta?.reasoning_content && delta.content)).toEqual([])
    expect(deltas.map(delta => delta?.content ?? '').join('')).toBe(TEXT)
    const off = lane.prefix.includes('3.5') ? 'none at all' : (await whole('sim-reasoning', { reasoning_effort: 'none' })).message
    expect(off).not.toHaveProperty('reasoning_content')
  })

  test('an answer is parsed by its schema', async () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'plan', strict: true, schema: RICH } } as const
    const { choices } = await client.chat.completions.parse(ask('sim-json', { response_format }))
    expect(choices[0]?.message.parsed).toEqual(JSON.parse(choices[0]?.message.content ?? ''))
    expect(choices[0]?.message.refusal ?? null).toBeNull()
  })

  test('instructions of system and developer turns keep their place', async () => {
    const messages: Message[] = [
      { role: 'system', content: 'First rule.' },
      { role: 'developer', content: [{ type: 'text', text: 'Second rule.' }] },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Yes?' },
      { role: 'system', content: 'Third rule.' },
      { role: 'user', content: 'Go on.' },
    ]
    await whole('sim', { messages })
    const heard = stage.heard(lane)
    const all = heard.system.join('\n')
    expect(all).toMatch(/First rule\.[\s\S]*Second rule\./)
    // One of the dialects has instructions at the beginning only.
    if (lane.speaks === 'generate') expect(all).toMatch(/Second rule\.[\s\S]*Third rule\./)
    else {
      expect(all).not.toContain('Third rule.')
      const turns = heard.turns.map(({ parts }) => JSON.stringify(parts))
      const at = (text: string): number => turns.findIndex(turn => turn.includes(text))
      expect(at('Third rule.')).toBeGreaterThan(at('Yes?'))
      expect(at('Third rule.')).toBeLessThanOrEqual(at('Go on.'))
    }
    expect(textOf(heard, 'assistant')).toBe('Yes?')
  })

  test.each([
    [{ max_completion_tokens: 77 }, 77],
    [{ max_tokens: 78 }, 78],
    [{ max_completion_tokens: 79, max_tokens: 5 }, 79],
  ])('%j is the limit', async (limits, limit) => {
    await whole('sim', limits)
    expect(stage.heard(lane).limit).toBe(limit)
  })

  test('old functions are called as such', async () => {
    const functions = [{ name: 'get_weather', parameters: PARAMETERS }]
    // A provider of this dialect would answer an old client in its old way; the simulator knows the new one only.
    if (lane.isNative) {
      await whole('sim', { functions })
      expect(JSON.parse(stage.heard(lane).body)).toHaveProperty('functions')
      return
    }
    const asked = { ...ask('sim-tools', { functions }), stream: true } as const
    const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
    for (const { message, finish_reason } of [await whole('sim-tools', { functions }), ...streamed.choices]) {
      expect(finish_reason).toBe('function_call')
      expect(message.function_call?.name).toBe('get_weather')
      expect(JSON.parse(message.function_call?.arguments ?? '')).toEqual(CALLS[0])
    }
    const messages: Message[] = [
      ...hello,
      { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: '{"city":"x","days":1}' } },
      { role: 'function', name: 'get_weather', content: 'sunny-7731' },
    ]
    expect((await whole('sim-tools', { functions, messages })).message.content).toContain('sunny-7731')
  })

  test('what the provider has no control for is dropped, and named; nothing else is', async () => {
    const asked = { ...ask('sim', { seed: 7, logit_bias: { '1': 2 } }), stream: false } as const
    const { response } = await client.chat.completions.create(asked).withResponse()
    const dropped = lane.isNative ? null : lane.speaks === 'generate' ? 'logit_bias' : 'logit_bias, seed'
    expect(response.headers.get('x-sluice-dropped')?.split(', ').sort().join(', ') ?? null).toBe(dropped)
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
    const plain = await client.chat.completions.create({ ...ask('sim'), stream: false }).withResponse()
    expect(plain.response.headers.get('x-sluice-dropped')).toBeNull()
  })

  test.each([
    ['n', { n: 2 }, ['messages', 'responses']],
    ['logprobs', { logprobs: true }, ['messages']],
    ['modalities', { modalities: ['text', 'audio'] }, ['messages', 'generate', 'responses']],
  ] as [string, Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>, string[]][])(
    '%s is refused before the provider is asked, where it cannot be served',
    async (param, more, refusing) => {
      const before = stage.simulator.requests.length
      const asked = client.chat.completions.create({ ...ask('sim', more), stream: false })
      if (!refusing.includes(lane.speaks)) {
        expect((await asked).choices.length).toBeGreaterThan(0)
        return
      }
      const failure = await failureOf(asked)
      expect(failure).toBeInstanceOf(OpenAI.BadRequestError)
      expect(failure).toMatchObject({ status: 400, code: 'unsupported_parameter', param: expect.stringContaining(param) })
      expect(stage.simulator.requests).toHaveLength(before)
    },
  )

  test.each([
    [400, 400, 'invalid_request_error', null],
    // About the gateway's key, which is no concern of the client's.
    [401, 502, 'server_error', null],
    [403, 502, 'server_error', null],
    [404, 404, 'invalid_request_error', 'model_not_found'],
    [409, 409, 'conflict_error', null],
    [413, 413, 'invalid_request_error', undefined],
    [422, 400, 'invalid_request_error', null],
    [500, 502, 'server_error', null],
    [503, 503, 'server_error', undefined],
    [529, 503, 'server_error', undefined],
  ])('status %i of the provider is %i %s to another dialect, and stays what it is in its own', async (status, other, type, code) => {
    const isKept = lane.isNative && status !== 401 && status !== 403
    const told = isKept ? status : other
    for (const stream of [false, true]) {
      const failure = await failureOf(client.chat.completions.create({ ...ask(`sim-status-${status}`), stream }))
      expect(failure).toBeInstanceOf(OpenAI.APIError)
      expect(failure).toMatchObject({ status: told, type, ...(code !== undefined && { code }) })
      expect((failure as Error).message).not.toContain('secret-of')
    }
  })

  test('a loop that is left ends the call to the provider', async () => {
    for await (const chunk of await client.chat.completions.create({ ...ask('sim-1000-20ms'), stream: true })) {
      if (chunk.choices[0]?.delta.content) break
    }
    await expect.poll(() => stage.simulator.requests.at(-1)?.aborted).toBe(true)
  })
})

describe('whoever the provider is', () => {
  const TRANSLATED = 'anthropic-messages-newest/sim'
  const asked = (more: object = {}) =>
    ({ model: 'openai-chat/sim', messages: hello, ...more }) as OpenAI.ChatCompletionCreateParamsNonStreaming

  test.each([
    ['a wrong key', () => clientWith('nobody').chat.completions.create(asked()), { status: 401, code: 'invalid_api_key' }],
    ['a disabled key', () => clientWith(KEYS.disabled).chat.completions.create(asked()), { status: 403, type: 'permission_error' }],
    ['an expired key', () => clientWith(KEYS.expired).chat.completions.create(asked()), { status: 403, type: 'permission_error' }],
    [
      'a model that the key may not use',
      () => clientWith(KEYS.limited).chat.completions.create(asked({ model: 'openai-chat/sim-64' })),
      { status: 403, code: 'model_not_allowed' },
    ],
    ['an unknown model', () => client.chat.completions.create(asked({ model: 'nothing' })), { status: 404, code: 'model_not_found' }],
    ['a method that the path has not', () => client.get('/chat/completions'), { status: 405 }],
    ['a path that is nowhere', () => client.post('/chat/nothing', { body: {} }), { status: 404 }],
    ['no messages', () => client.chat.completions.create(asked({ messages: undefined })), { status: 400, param: 'messages' }],
    ['no model', () => client.chat.completions.create(asked({ model: undefined })), { status: 400, param: 'model' }],
    [
      'a role that is unknown',
      // Where the provider speaks chat itself, that is for it to say.
      () => client.chat.completions.create(asked({ model: TRANSLATED, messages: [...hello, { role: 'nobody', content: 'x' }] })),
      { status: 400, param: 'messages[1].role' },
    ],
    [
      'an image without an address',
      () =>
        client.chat.completions.create(
          asked({
            messages: [
              {
                role: 'user',
                content: [
                  { type: 'text', text: '' },
                  { type: 'image_url', image_url: {} },
                ],
              },
            ],
          }),
        ),
      { status: 400, param: 'messages[0].content[1].image_url.url' },
    ],
    [
      'a temperature that is too high',
      () => client.chat.completions.create(asked({ model: TRANSLATED, temperature: 3 })),
      { status: 400, param: 'temperature' },
    ],
    ['a temperature in words', () => client.chat.completions.create(asked({ temperature: 'hot' })), { status: 400, param: 'temperature' }],
    [
      'a tool without a name',
      () => client.chat.completions.create(asked({ tools: [{ type: 'function', function: {} }] })),
      { status: 400, param: 'tools[0].function.name' },
    ],
  ] as [string, () => Promise<unknown>, object][])('%s is told as the official API tells it', async (_what, call, told) => {
    await expectRefused(stage, call, told)
  })

  test('C19: what is not implemented is asked once by a client that tries again', async () => {
    const eager = new OpenAI({ baseURL: `${stage.url}/v1`, apiKey: KEYS.good, logLevel: 'off' })
    const asked = (): number =>
      stage.log.filter(line => /^\/v1\/(files|fine_tuning)/.test(String(line.path)) || line.method === 'DELETE').length
    const before = asked()
    expect(await failureOf(eager.files.list().asResponse())).toMatchObject({ status: 501, code: 'not_implemented' })
    expect(await failureOf(eager.fineTuning.jobs.retrieve('x'))).toMatchObject({ status: 501, code: 'not_implemented' })
    expect(await failureOf(eager.models.delete('openai-chat/sim'))).toMatchObject({ status: 501, code: 'not_implemented' })
    await expect.poll(asked).toBe(before + 3)
  })

  test('models are listed and retrieved as far as the key may use them', async () => {
    const names: string[] = []
    for await (const model of client.models.list()) names.push(model.id)
    expect(names).toEqual([...names].sort())
    expect(names).toContain(DECLARED)
    expect(names).toContain('openai-chat/sim')
    expect(await client.models.retrieve(DECLARED)).toMatchObject({
      id: DECLARED,
      object: 'model',
      created: 1_750_000_000,
      owned_by: 'somebody',
    })
    expect(await client.models.retrieve('openai-chat/sim')).toMatchObject({ id: 'openai-chat/sim', object: 'model' })
    const limited = clientWith(KEYS.limited)
    const fewer = (await limited.models.list()).data.map(model => model.id)
    expect(fewer).toEqual(names.filter(name => name.endsWith('/sim')))
    for (const name of [DECLARED, 'nothing'])
      expect(await failureOf(limited.models.retrieve(name))).toMatchObject({ status: 404, code: 'model_not_found' })
    expect(await failureOf(clientWith('nobody').models.list().asResponse())).toMatchObject({ status: 401 })
  })
})
