// The official OpenAI client, responses, with every provider: what the common table does not cover.

import OpenAI from 'openai'
import { standardTextFormat } from 'openai/helpers/standard-schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { partsOf, textOf } from './conversation.js'
import { CALLS, fits, PARAMETERS, RICH, SIGNATURE, TEXT, THOUGHT } from './facts.js'
import { expectRefused, failureOf, KEYS, lanesFor, modelOf, PNG, type Stage, startStage } from './gateway.js'
import { responses } from './sdks/responses.js'
import { table } from './table.js'

type Input = OpenAI.Responses.ResponseInputItem[]
type Asked = Partial<OpenAI.Responses.ResponseCreateParamsNonStreaming>
type Event = OpenAI.Responses.ResponseStreamEvent

let stage: Stage
let client: OpenAI

beforeAll(async () => {
  stage = await startStage()
  client = clientWith(KEYS.good)
})
afterAll(() => stage?.close())

const clientWith = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${stage.url}/v1`, apiKey, maxRetries: 0, logLevel: 'off' })

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a place',
  parameters: { ...PARAMETERS },
  strict: false,
}
const reasoning = { effort: 'high', summary: 'auto' } as const

table(responses, () => stage)

describe.each(lanesFor('responses'))('a responses client on $name', lane => {
  const ask = (name: string, more: Asked = {}) => ({ model: modelOf(lane, name), input: 'Hello', store: false, ...more })
  const eventsOf = async (name: string, more: Asked = {}): Promise<Event[]> => {
    const events: Event[] = []
    for await (const event of await client.responses.create({ ...ask(name, more), stream: true })) events.push(event)
    return events
  }

  test.each(['sim', 'sim-empty', 'sim-tools', 'sim-parallel', 'sim-parallel-2ms', 'sim-reasoning', 'sim-reasoning-tools', 'sim-length'])(
    'R1, R2, R3, R5, R7: events of %s are in the order that clients rely on',
    async name => {
      const events = await eventsOf(name, { tools: [weather], reasoning })
      expect(events.map(event => event.sequence_number)).toEqual([...events.keys()])
      expect(events.slice(0, 2).map(event => event.type)).toEqual(['response.created', 'response.in_progress'])
      const last = events.at(-1)
      expect(last?.type).toBe(name === 'sim-length' ? 'response.incomplete' : 'response.completed')
      // Items are numbered without a gap; what is inside of one comes while it is open, under its id.
      const open = new Map<number, { id: string; parts: Set<number> }>()
      const done: unknown[] = []
      let next = 0
      for (const event of events) {
        if (event.type === 'response.output_item.added') {
          expect(event.output_index).toBe(next++)
          open.set(event.output_index, { id: event.item.id ?? '', parts: new Set() })
          expect(event.item.id).toBeTruthy()
        } else if (event.type === 'response.output_item.done') {
          expect(event.item.id).toBe(open.get(event.output_index)?.id)
          open.delete(event.output_index)
          done[event.output_index] = event.item
        } else if ('output_index' in event && 'item_id' in event) {
          const item = open.get(event.output_index)
          expect(event.item_id).toBe(item?.id)
          const part = 'content_index' in event ? event.content_index : 'summary_index' in event ? event.summary_index : undefined
          if (event.type === 'response.content_part.added' || event.type === 'response.reasoning_summary_part.added')
            item?.parts.add(part ?? -1)
          else if (part !== undefined) expect(item?.parts.has(part)).toBe(true)
        }
      }
      expect(open.size).toBe(0)
      const { output } = (last as OpenAI.Responses.ResponseCompletedEvent).response
      expect(done).toEqual(output)
      for (const item of output) {
        if (item.type === 'function_call') expect(item).toMatchObject({ status: 'completed', call_id: expect.any(String) })
        if (item.type === 'message') for (const part of item.content) expect(part).toMatchObject({ annotations: [] })
      }
    },
  )

  test.each(['sim-fail-3', 'sim-cut-4', 'sim-noend'])('R4, R6, R8: the error of %s raises in every client', async name => {
    const response = await client.responses.create({ ...ask(name), stream: true }).asResponse()
    const events = (await response.text()).split('\n\n').filter(Boolean)
    const read = (event: string | undefined) => /^event: (\S+)\ndata: (.*)$/.exec(event ?? '') ?? []
    const [, type, data] = read(events.at(-2))
    expect(type).toBe('error')
    // Behind it the response fails, as it does at the API itself, and events are counted on.
    const numbered = events.map(event => JSON.parse(read(event)[2] ?? 'null'))
    expect(numbered.map(event => event.sequence_number)).toEqual(numbered.map((_, index) => index))
    const { id } = numbered[0].response
    expect(numbered.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { id, status: 'failed', error: { code: expect.any(String), message: expect.any(String) } },
    })
    // Some clients read the flat member, others the nested one.
    const error = { type: expect.any(String), code: expect.any(String), message: expect.any(String) }
    const isOwn = lane.isNative && name === 'sim-fail-3'
    const flat = { type, sequence_number: expect.any(Number), message: expect.any(String) }
    expect(JSON.parse(data ?? 'null')).toMatchObject(isOwn ? flat : { ...flat, error })
  })

  // However its models are called: these two are at addresses of their own.
  const isOpenAI = lane.name.startsWith('openai ')
  test('tokens are counted, by the provider or by estimate', async () => {
    const { object, input_tokens: short } = await client.responses.inputTokens.count({ model: modelOf(lane, 'sim'), input: 'Hello' })
    expect([object, short > 0]).toEqual(['response.input_tokens', true])
    const input: Input = [
      { role: 'user', content: [{ type: 'input_text', text: 'Hello '.repeat(500) }] },
      { type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'sunny '.repeat(500) },
    ]
    const counting = client.responses.inputTokens.count({ model: modelOf(lane, 'sim'), input, tools: [weather] })
    const { data: long, response } = await counting.withResponse()
    const isEstimated = response.headers.get('x-sluice-estimated') === 'true'
    expect(isEstimated).toBe(!isOpenAI)
    if (isEstimated) expect(long.input_tokens).toBeGreaterThan(900)
  })

  test('a conversation is compacted by providers that can, and else the refusal says so', async () => {
    const compacted = client.responses.compact({ model: modelOf(lane, 'sim') as 'gpt-5.4', input: 'Hello' })
    if (!isOpenAI) {
      await expect(compacted).rejects.toMatchObject({ status: 404, code: 'model_not_supported', param: 'model' })
      return
    }
    const { object, output, usage } = await compacted
    expect([object, output.map(({ type }) => type), usage.total_tokens > 0]).toEqual([
      'response.compaction',
      ['message', 'compaction'],
      true,
    ])
  })

  test('deltas and what they come to are the same', async () => {
    const events = await eventsOf('sim-reasoning-tools', { tools: [weather], reasoning })
    const joined = (type: Event['type']): string =>
      events.map(event => (event.type === type && 'delta' in event ? event.delta : '')).join('')
    const last = <Type extends Event['type']>(type: Type) =>
      events.find((event): event is Extract<Event, { type: Type }> => event.type === type)
    expect(joined('response.reasoning_summary_text.delta')).toBe(THOUGHT)
    expect(last('response.reasoning_summary_text.done')?.text).toBe(THOUGHT)
    expect(JSON.parse(joined('response.function_call_arguments.delta'))).toEqual(CALLS[0])
    expect(last('response.function_call_arguments.done')?.arguments).toBe(joined('response.function_call_arguments.delta'))
    const written = await eventsOf('sim')
    expect(written.map(event => (event.type === 'response.output_text.done' ? event.text : '')).join('')).toBe(TEXT)
  })

  test('an answer repeats what it was asked', async () => {
    const asked = ask('sim', { instructions: 'Be brief.', temperature: 1, metadata: { a: 'b' }, max_output_tokens: 77, tools: [weather] })
    const answer = await client.responses.create(asked)
    expect(answer).toMatchObject({
      object: 'response',
      status: 'completed',
      error: null,
      incomplete_details: null,
      instructions: 'Be brief.',
      metadata: { a: 'b' },
      max_output_tokens: 77,
      parallel_tool_calls: true,
      previous_response_id: null,
      tools: [{ type: 'function', name: 'get_weather' }],
    })
    expect(answer.id).toMatch(/^resp_/)
    expect(answer.usage?.total_tokens).toBe((answer.usage?.input_tokens ?? 0) + (answer.usage?.output_tokens ?? 0))
  })

  test('an agent goes round by itself, its output sent back each time', async () => {
    const input: Input = [{ role: 'user', content: 'Hello' }]
    const seen: unknown[] = []
    const asked = { model: modelOf(lane, 'sim-reasoning-tools'), tools: [weather], reasoning, store: false, input }
    let text = ''
    for (let round = 0; round < 4 && text === ''; round++) {
      const more = { ...asked, include: ['reasoning.encrypted_content' as const] }
      const stream = round % 2 === 0
      const { output, output_text } = stream
        ? await client.responses.stream({ ...more, stream }).finalResponse()
        : await client.responses.create(more)
      input.push(...(output as Input))
      for (const item of output) {
        if (item.type !== 'function_call') continue
        seen.push(JSON.parse(item.arguments))
        input.push({ type: 'function_call_output', call_id: item.call_id, output: `sunny-${seen.length}` })
      }
      text = output_text
    }
    expect(text).toBe('The tools answered: sunny-1')
    expect(seen).toEqual([CALLS[0]])
    expect(partsOf(stage.heard(lane), 'thinking').flatMap(part => part.signature ?? [])).toEqual([SIGNATURE])
  })

  test('reasoning that was not asked for in secret is told in words alone', async () => {
    const { output } = await client.responses.create(ask('sim-reasoning', { reasoning }))
    const [item] = output
    expect(item).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: THOUGHT }] })
    if (lane.isNative) expect(item).not.toHaveProperty('encrypted_content')
    const input = [{ role: 'user', content: 'Hello' }, ...output, { role: 'user', content: 'And?' }] as Input
    await client.responses.create(ask('sim', { input, reasoning }))
    expect(textOf(stage.heard(lane), 'assistant')).toContain(TEXT)
  })

  test('an answer is parsed by its schema', async () => {
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) => (fits(RICH, value) ? { value } : { issues: [{ message: 'it does not fit' }] }),
        jsonSchema: { input: () => RICH },
      },
    } as const
    const answer = await client.responses.parse({
      ...ask('sim-json'),
      text: { format: standardTextFormat(schema, 'plan') },
    })
    expect(answer.output_parsed).toEqual(JSON.parse(answer.output_text))
  })

  test('instructions of system and developer turns keep their place', async () => {
    const input: Input = [
      { role: 'developer', content: 'First rule.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] },
    ]
    await client.responses.create(ask('sim', { instructions: 'Before all.', input }))
    const heard = stage.heard(lane)
    expect(heard.system.join('\n')).toMatch(/Before all\.[\s\S]*First rule\./)
    expect(heard.turns.map(turn => turn.role)).toEqual(['user', 'assistant', 'user'])
    expect(textOf(heard, 'assistant')).toBe('Yes?')
  })

  test('an image is a result, too', async () => {
    const output: OpenAI.Responses.ResponseFunctionCallOutputItemList = [
      { type: 'input_text', text: 'A map:' },
      { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
    ]
    const input: Input = [
      { role: 'user', content: 'Hello' },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"x","days":1}' },
      { type: 'function_call_output', call_id: 'call_1', output },
    ]
    await client.responses.create(ask('sim', { input, tools: [weather] }))
    const heard = stage.heard(lane)
    expect(partsOf(heard, 'result').map(result => result.text)).toEqual([expect.stringContaining('A map:')])
    const media = [...partsOf(heard, 'result').flatMap(result => result.media), ...partsOf(heard, 'image').map(part => part.source)]
    expect(media).toEqual([PNG])
  })

  test('functions in a namespace are called by their own names', async () => {
    const tools: OpenAI.Responses.Tool[] = [
      {
        type: 'namespace',
        name: 'weather',
        description: 'All about it',
        tools: [{ type: 'function', name: 'today', parameters: PARAMETERS }],
      },
    ]
    // The simulator knows no namespaces; a provider of this very dialect does.
    if (lane.isNative) return void (await client.responses.create(ask('sim', { tools })))
    for (const { output } of [
      await client.responses.create(ask('sim-tools', { tools })),
      await client.responses.stream({ ...ask('sim-tools', { tools }), stream: true }).finalResponse(),
    ])
      expect(output).toMatchObject([{ type: 'function_call', namespace: 'weather', name: 'today', arguments: JSON.stringify(CALLS[0]) }])
  })

  test('what the provider has no control for is dropped, and named; nothing else is', async () => {
    const { response } = await client.responses.create(ask('sim', { truncation: 'auto', text: { verbosity: 'low' } })).withResponse()
    const dropped = response.headers.get('x-sluice-dropped')?.split(', ').sort() ?? []
    expect(dropped).toEqual(lane.isNative ? [] : lane.speaks === 'chat' ? ['truncation'] : ['text.verbosity', 'truncation'])
    const plain = await client.responses.create(ask('sim')).withResponse()
    expect(plain.response.headers.get('x-sluice-dropped')).toBeNull()
    expect(plain.request_id).toBeTruthy()
  })

  test.each([
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['background', { background: true }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
  ] as [string, Asked][])('%s is refused before the provider is asked, where nothing is kept', async (param, more) => {
    if (lane.isNative) return
    const before = stage.simulator.requests.length
    const failure = await failureOf(client.responses.create(ask('sim', more)))
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError)
    expect(failure).toMatchObject({ status: 400, code: 'unsupported_parameter', param })
    expect(stage.simulator.requests).toHaveLength(before)
  })

  test('Cline offers images beside its own tools: it gets answers where the provider makes none', async () => {
    if (lane.isNative) return
    const { data, response } = await client.responses
      .create(ask('sim-tools', { tools: [{ type: 'image_generation', output_format: 'png' }, weather] }))
      .withResponse()
    expect(data.output).toMatchObject([{ type: 'function_call', name: 'get_weather' }])
    expect(response.headers.get('x-sluice-dropped')?.split(', ')).toContain('tools[].type')
    expect(stage.simulator.requests.at(-1)?.body).not.toContain('image_generation')
  })

  test('a loop that is left ends the call to the provider', async () => {
    for await (const event of await client.responses.create({ ...ask('sim-1000-20ms'), stream: true }))
      if (event.type === 'response.output_text.delta') break
    await expect.poll(() => stage.simulator.requests.at(-1)?.aborted, { interval: 5 }).toBe(true)
  })
})

describe('whoever the provider is', () => {
  const model = 'openai-chat/sim'
  const create = (more: object, from = client) =>
    from.responses.create({ model, input: 'Hello', store: false, ...more } as OpenAI.Responses.ResponseCreateParamsNonStreaming)

  test.each([
    ['a wrong key', () => create({}, clientWith('nobody')), { status: 401, code: 'invalid_api_key' }],
    ['a disabled key', () => create({}, clientWith(KEYS.disabled)), { status: 403, type: 'permission_error' }],
    ['an expired key', () => create({}, clientWith(KEYS.expired)), { status: 403, type: 'permission_error' }],
    [
      'a model that the key may not use',
      () => create({ model: 'openai-chat/sim-64' }, clientWith(KEYS.limited)),
      { status: 403, code: 'model_not_allowed' },
    ],
    ['an unknown model', () => create({ model: 'nothing' }), { status: 404, code: 'model_not_found' }],
    ['no model', () => create({ model: undefined }), { status: 400, param: 'model' }],
    ['a temperature that is too high', () => create({ temperature: 3 }), { status: 400, param: 'temperature' }],
    ['an unknown role', () => create({ input: [{ role: 'nobody', content: 'x' }] }), { status: 400, param: 'input[0].role' }],
    [
      'an output without its call',
      () => create({ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }),
      { status: 400, code: 'unsupported_parameter', param: expect.stringContaining('call_id') },
    ],
    [
      'an id of nobody’s',
      () => client.responses.retrieve('resp_nothing'),
      { status: 404, code: 'not_found', message: expect.stringContaining("Response with id 'resp_nothing' not found.") },
    ],
    [
      'a previous response of nobody’s',
      () => create({ model: 'openai-responses/sim', previous_response_id: 'resp_nothing' }),
      {
        status: 400,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
        message: expect.stringContaining("Previous response with id 'resp_nothing' not found."),
      },
    ],
  ] as [string, () => Promise<unknown>, object][])('%s is told as the official API tells it', async (_what, call, told) => {
    await expectRefused(stage, call, told)
  })
})
