// Every dialect and every word without a failure, as JSON and as a stream: the answers are valid by the project's own schemas.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WORDS } from '../../cli/simulator/names.js'
import { type Simulator, startSimulator } from '../../cli/simulator/server.js'
import { asks, events, post } from './requests.js'
import { wrong } from './schemas.js'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (dialect, body) => wrong(dialect, 'request', body) })
})
afterAll(() => simulator?.close())

const GOOD = [
  'sim',
  'sim-5',
  'sim-2k',
  'sim-0ms',
  'sim-utf8',
  'sim-empty',
  'sim-tools',
  'sim-parallel',
  'sim-json',
  'sim-reasoning',
  'sim-reasoning-tools',
  'sim-length',
  'sim-filter',
  'sim-cached',
  'sim-split-7',
]

describe.each(asks)('$dialect', one => {
  test.each(GOOD)('%s: the answer is valid by the response schema', async model => {
    const answer = await post(simulator.url, one, model)
    const body = (await answer.json()) as unknown
    expect(answer.status, JSON.stringify(body)).toBe(200)
    expect(wrong(one.dialect, 'response', body)).toBeUndefined()
  })

  test.each([...GOOD, 'sim-crlf', 'sim-alive'])('%s: the events are valid by the event schema', async model => {
    const answer = await post(simulator.url, one, model, true)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const found = events(await answer.text())
    expect(found.length).toBeGreaterThan(0)
    for (const { data, event } of found) {
      if (data === '[DONE]') continue
      const value = JSON.parse(data) as { type?: string }
      expect(wrong(one.dialect, 'event', value), data).toBeUndefined()
      if (event !== undefined) expect(event).toBe(value.type)
    }
  })

  test('the same request has the same bytes', async () => {
    for (const model of ['sim-reasoning', 'sim-parallel']) {
      for (const streams of [false, true]) {
        const [first, second] = await Promise.all([post(simulator.url, one, model, streams), post(simulator.url, one, model, streams)])
        expect(await first.text()).toBe(await second.text())
      }
    }
  })

  test.each([
    [400, undefined],
    [401, undefined],
    [404, undefined],
    [429, '1'],
    [500, undefined],
    [503, '1'],
    [529, '1'],
  ])('a status of %i', async (status, retry) => {
    for (const streams of [false, true]) {
      const answer = await post(simulator.url, one, `sim-status-${status}`, streams)
      expect(answer.status).toBe(status)
      expect(answer.headers.get('retry-after')).toBe(retry ?? null)
      expect(answer.headers.get('content-type')).toBe('application/json')
      expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining(String(status)) } })
    }
  })

  test('an invalid request is refused with the error', async () => {
    const answer = await fetch(simulator.url + one.path('sim', false), { method: 'POST', body: '{"model":"sim"}' })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining('required') } })
    const broken = await fetch(simulator.url + one.path('sim', false), { method: 'POST', body: '{"model":' })
    expect(broken.status).toBe(400)
  })

  test('a name that is not known', async () => {
    for (const model of ['gpt-9', 'sim-tolls', 'simple']) {
      const answer = await post(simulator.url, one, model)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining(model) } })
    }
    expect((await post(simulator.url, one, 'some-other-3-sim-tools')).status).toBe(200)
  })
})

describe('the id of an answer', () => {
  type Say = (turns: readonly string[]) => { path: string; body: object; idOf?: string }
  const inRoles = (turns: readonly string[], model = 'assistant'): { role: string; said: string }[] =>
    turns.map((said, index) => ({ role: index % 2 === 0 ? 'user' : model, said }))
  const messages = (turns: readonly string[]): object[] => inRoles(turns).map(({ role, said }) => ({ role, content: said }))
  const conversations: Record<string, Say> = {
    chat: turns => ({ path: '/v1/chat/completions', body: { model: 'sim', messages: messages(turns) } }),
    messages: turns => ({ path: '/v1/messages', body: { model: 'sim', max_tokens: 9, messages: messages(turns) } }),
    responses: turns => ({ path: '/v1/responses', body: { model: 'sim', input: messages(turns) } }),
    generate: turns => ({
      path: '/v1beta/models/sim:generateContent',
      body: { contents: inRoles(turns, 'model').map(({ role, said }) => ({ role, parts: [{ text: said }] })) },
      idOf: 'responseId',
    }),
    cohere_chat: turns => ({ path: '/v2/chat', body: { model: 'sim', stream: false, messages: messages(turns) } }),
  }

  test.each(Object.entries(conversations))('%s: differs in each turn, and where a new conversation begins', async (_name, say) => {
    const ids: unknown[] = []
    for (const turns of [['Go on.'], ['Go on.', 'A.', 'Go on.'], ['Go on.', 'A.', 'Go on.', 'B.', 'Go on.'], ['The same in short.']]) {
      const { path, body, idOf = 'id' } = say(turns)
      const answers = await Promise.all([0, 1].map(() => fetch(simulator.url + path, { method: 'POST', body: JSON.stringify(body) })))
      const [first, again] = await Promise.all(answers.map(answer => answer.text()))
      expect(again).toBe(first)
      ids.push(JSON.parse(first as string)[idOf])
    }
    expect(ids.every(id => typeof id === 'string')).toBe(true)
    expect(new Set(ids).size).toBe(4)
  })

  test('differs where a response continues another one', async () => {
    const idOf = async (more: object): Promise<unknown> => {
      const body = JSON.stringify({ model: 'sim', input: 'Go on.', ...more })
      const answer = await fetch(`${simulator.url}/v1/responses`, { method: 'POST', body })
      return ((await answer.json()) as { id: unknown }).id
    }
    const first = await idOf({})
    const second = await idOf({ previous_response_id: first })
    expect(new Set([first, second, await idOf({ previous_response_id: second })]).size).toBe(3)
  })
})

describe('results of calls that stand before another turn of the user, as frameworks send the picture that a tool returned', () => {
  const chat = (more: object = {}): object => ({
    model: 'sim-tools',
    messages: [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'a red fox' },
      { role: 'user', content: 'The picture.' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    ...more,
  })
  test.each<[string, string, object]>([
    ['chat', '/v1/chat/completions', chat()],
    ['cohere_chat', '/v2/chat', chat({ stream: false })],
    [
      'messages',
      '/v1/messages',
      {
        model: 'sim-tools',
        max_tokens: 99,
        messages: [
          { role: 'user', content: 'Look.' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'a red fox' }] },
          { role: 'user', content: 'The picture.' },
        ],
        tools: [{ name: 'f', input_schema: { type: 'object' } }],
      },
    ],
    [
      'responses',
      '/v1/responses',
      {
        model: 'sim-tools',
        input: [
          { role: 'user', content: 'Look.' },
          { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
          { type: 'function_call_output', call_id: 'c1', output: 'a red fox' },
          { role: 'user', content: 'The picture.' },
        ],
        tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
      },
    ],
    [
      'generate',
      '/v1beta/models/sim-tools:generateContent',
      {
        contents: [
          { role: 'user', parts: [{ text: 'Look.' }] },
          { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
          { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'a red fox' } } }] },
          { role: 'user', parts: [{ text: 'The picture.' }] },
        ],
        tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] }],
      },
    ],
  ])('%s', async (_name, path, body) => {
    const answer = await fetch(simulator.url + path, { method: 'POST', body: JSON.stringify(body) })
    expect(await answer.text()).toContain('a red fox')
  })
})

describe('the schema of an answer by each of its names', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const messages = [{ role: 'user', content: 'JSON.' }]
  const cohere = (form: object): object => ({ stream: false, messages, response_format: { type: 'json_object', ...form } })
  test.each<[string, string, object]>([
    ["Cohere's reference", '/v2/chat', cohere({ json_schema: schema })],
    ["Cohere's guide", '/v2/chat', cohere({ schema })],
    ['Anthropic', '/v1/messages', { max_tokens: 99, messages, output_config: { format: { type: 'json_schema', schema } } }],
    ["Anthropic's first clients", '/v1/messages', { max_tokens: 99, messages, output_format: { type: 'json_schema', schema } }],
  ])('%s', async (_name, path, body) => {
    const answer = await fetch(simulator.url + path, { method: 'POST', body: JSON.stringify({ model: 'sim-json', ...body }) })
    expect(await answer.text()).toContain('\\"city\\"')
  })
})

test('the README lists every word', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../simulator/README.md'), 'utf8')
  for (const word of WORDS) expect(readme).toContain(`| \`${word.name}\` | ${word.says}`)
})

test('counting tokens', async () => {
  const counts = [
    ['/v1/messages/count_tokens', { model: 'sim-cached', messages: [{ role: 'user', content: 'x' }] }, { input_tokens: 100 }],
    ['/v1beta/models/sim:countTokens', { contents: [{ parts: [{ text: 'x' }] }] }, { totalTokens: 12 }],
  ] as const
  for (const [path, body, answer] of counts) {
    const found = await fetch(simulator.url + path, { method: 'POST', body: JSON.stringify(body) })
    expect(await found.json()).toMatchObject(answer)
  }
})

test('a stream of generate content without alt=sse is a JSON array', async () => {
  const one = asks.find(({ dialect }) => dialect === 'generate')
  const body = JSON.stringify(one?.body('sim', true))
  for (const model of ['sim', 'sim-0ms', 'models%2Fsim-3']) {
    const answer = await fetch(`${simulator.url}/v1beta/models/${model}:streamGenerateContent`, { method: 'POST', body })
    const list = (await answer.json()) as unknown[]
    expect(list.length).toBeGreaterThan(3)
    for (const event of list) expect(wrong('generate', 'event', event)).toBeUndefined()
  }
})

test('unknown paths and methods', async () => {
  expect((await fetch(`${simulator.url}/v1/unknown`)).status).toBe(404)
  const other = await fetch(`${simulator.url}/v1/messages`)
  expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST'])
  expect((await fetch(simulator.url, { method: 'HEAD' })).status).toBe(404)
})
