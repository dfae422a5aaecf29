// One model of each generation of each maker, with its facts in models/: requests in the provider's own dialect arrive as the
// model accepts them, the client gets a report of what does not, and requests of every dialect are answered. A real gateway,
// and the simulator, whose answers depend on words in the model's name.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'

type Simulator = Awaited<ReturnType<typeof startSimulator>>
type Body = Record<string, unknown>

let simulator: Simulator
let gateway: TestGateway
let strict: TestGateway

const MODELS: Record<string, string> = {
  'gpt-4o': 'openai',
  'o4-mini': 'openai',
  'gpt-5-mini': 'openai',
  'gpt-5.1': 'openai',
  'gpt-5.4': 'openai',
  'gpt-5.6-sol': 'openai',
  'gpt-6-sol': 'openai',
  'gpt-6-astra': 'openai',
  'gpt-6.2-sol': 'openai',
  unknown: 'openai',
  'claude-3-5-haiku': 'anthropic',
  'claude-haiku-4-5': 'anthropic',
  'claude-opus-4-5': 'anthropic',
  'claude-opus-4-6': 'anthropic',
  'claude-opus-4-7': 'anthropic',
  'claude-opus-5': 'anthropic',
  'claude-sonnet-5-5': 'anthropic',
  'claude-haiku-5-5': 'anthropic',
  'claude-fable-5-1': 'anthropic',
  stranger: 'anthropic',
}
/** Those of the other makers, by the provider that they are asked at. */
const OTHERS: Record<string, string> = {
  'gemini-2.5-flash': 'gemini',
  'gemini-3.1-pro-preview': 'gemini',
  'gemini-3.5-flash': 'gemini',
  'gemini-3.8-flash': 'gemini',
  'gemini-4-argon': 'gemini',
  'grok-4.3': 'xai',
  'grok-4.7': 'xai',
  'deepseek-flash': 'deepseek',
  'deepseek-v4-pro': 'deepseek',
  'kimi-k2.6': 'moonshot',
  'kimi-k3': 'moonshot',
  'glm-5.2': 'zai',
  'mistral-medium-3-5': 'mistral',
  'mistral-large-4': 'mistral',
  'command-a-03-2025': 'cohere',
  'qwen3.7-max': 'dashscope',
  sonar: 'perplexity',
}
/** Their paths begin behind the version, which the simulator's have. */
const UNVERSIONED = new Set(['deepseek', 'zai', 'perplexity'])

beforeAll(async () => {
  simulator = await startSimulator({ listen: '127.0.0.1:0', record: true })
  const upstreams = Object.fromEntries(
    [...new Set([...Object.values(MODELS), ...Object.values(OTHERS)])].map(provider => [
      provider,
      { provider, base: simulator.url + (UNVERSIONED.has(provider) ? '/v1' : ''), secret: 'none' },
    ]),
  )
  const models = (more: Body): Body =>
    Object.fromEntries(Object.entries(MODELS).map(([name, upstream]) => [name, { targets: [{ upstream, model: `${name}-sim` }], ...more }]))
  const others = Object.fromEntries(
    Object.entries(OTHERS).map(([name, upstream]) => [name, { targets: [{ upstream, model: `${name}-sim`, known_as: name }] }]),
  )
  gateway = await startGateway({ upstreams, models: { ...models({}), ...others } })
  strict = await startGateway({ upstreams, models: models({ unsupported: 'refuse' }) })
})

afterAll(async () => {
  await gateway?.close()
  await strict?.close()
  await simulator?.close()
})

interface Seen {
  status: number
  path: string
  sent: Body
  dropped: string[]
  answer: Body
}

async function ask(path: string, body: Body, at = gateway): Promise<Seen> {
  simulator.requests.length = 0
  const response = await fetch(at.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'x-api-key': KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as Body
  const [asked] = simulator.requests
  const { model: _, ...sent } = JSON.parse(asked?.body || '{}') as Body
  const dropped = response.headers.get('x-sluice-dropped')
  return { status: response.status, path: asked?.path ?? '', sent, dropped: dropped === null ? [] : dropped.split(', '), answer }
}

const messages = [{ role: 'user', content: 'Hi' }]
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }]

const CHAT: [model: string, says: Body, sent: Body, dropped: string[]][] = [
  ['gpt-4o', { temperature: 0.2, stop: ['a'], max_tokens: 5 }, { temperature: 0.2, stop: ['a'], max_tokens: 5 }, []],
  ['gpt-4o', { reasoning_effort: 'low', verbosity: 'low' }, {}, ['reasoning_effort', 'verbosity']],
  ['gpt-4o', { stop: ['a', 'b', 'c', 'd', 'e'] }, { stop: ['a', 'b', 'c', 'd'] }, ['stop']],
  ['o4-mini', { temperature: 0.2, stop: 'a', parallel_tool_calls: false }, {}, ['temperature', 'stop', 'parallel_tool_calls']],
  ['gpt-5-mini', { temperature: 0.2, top_p: 0.5, stop: ['a'] }, {}, ['temperature', 'top_p', 'stop']],
  [
    'gpt-5-mini',
    { temperature: 1, presence_penalty: 0, max_tokens: 5 },
    { temperature: 1, presence_penalty: 0, max_completion_tokens: 5 },
    [],
  ],
  ['gpt-5-mini', { max_tokens: 5, max_completion_tokens: 6 }, { max_completion_tokens: 6 }, ['max_tokens']],
  ['gpt-5-mini', { reasoning_effort: 'none' }, { reasoning_effort: 'minimal' }, ['reasoning_effort']],
  ['gpt-5-mini', { reasoning_effort: 'high', verbosity: 'low' }, { reasoning_effort: 'high', verbosity: 'low' }, []],
  ['gpt-5.1', { temperature: 0.2 }, { temperature: 0.2 }, []],
  ['gpt-5.1', { temperature: 0.2, reasoning_effort: 'low' }, { reasoning_effort: 'low' }, ['temperature']],
  ['gpt-5.1', { reasoning_effort: 'xhigh' }, { reasoning_effort: 'high' }, ['reasoning_effort']],
  ['gpt-5.6-sol', { temperature: 0.2 }, {}, ['temperature']],
  ['gpt-5.6-sol', { temperature: 0.2, reasoning_effort: 'none' }, { temperature: 0.2, reasoning_effort: 'none' }, []],
  ['gpt-6-astra', { reasoning_effort: 'none', temperature: 0.2 }, { reasoning_effort: 'low' }, ['temperature', 'reasoning_effort']],
  [
    'unknown',
    { temperature: 0.2, reasoning_effort: 'deep', stop: ['a'], max_tokens: 5 },
    { temperature: 0.2, reasoning_effort: 'deep', stop: ['a'], max_tokens: 5 },
    [],
  ],
]

describe('chat', () => {
  test.each(CHAT)('%s gets only what it accepts of %j', async (model, says, sent, dropped) => {
    const seen = await ask('/v1/chat/completions', { model, messages, ...says })
    expect(seen).toMatchObject({ status: 200, path: '/v1/chat/completions' })
    expect(seen.sent).toEqual({ messages, ...sent })
    expect(seen.dropped).toEqual(dropped)
  })

  test('unsupported members are refused with `unsupported: refuse`', async () => {
    const seen = await ask('/v1/chat/completions', { model: 'gpt-5-mini', messages, max_tokens: 5, stop: ['a'] }, strict)
    expect(seen).toMatchObject({ status: 400, path: '' })
    expect(seen.answer.error).toMatchObject({ param: 'stop', code: 'unsupported_parameter' })
    expect((await ask('/v1/chat/completions', { model: 'gpt-5-mini', messages, max_tokens: 5 }, strict)).status).toBe(200)
  })

  test('a long request keeps the bytes of its prompt', async () => {
    const long = [{ role: 'user', content: 'ä'.repeat(100_000) }]
    const seen = await ask('/v1/chat/completions', { model: 'gpt-5-mini', messages: long, temperature: 0.2, max_tokens: 5 })
    expect(seen.sent).toEqual({ messages: long, max_completion_tokens: 5 })
    expect(seen.dropped).toEqual(['temperature'])
  })
})

const DIALECTS: [model: string, says: Body, path: string][] = [
  ['gpt-5.4', { tools }, '/v1/chat/completions'],
  ['gpt-5.4', { tools, reasoning_effort: 'low' }, '/v1/responses'],
  ['gpt-5.6-sol', {}, '/v1/chat/completions'],
  ['gpt-5.6-sol', { tools }, '/v1/responses'],
  ['gpt-6-sol', { tools, temperature: 0.3 }, '/v1/responses'],
  // What the other dialect cannot say is asked as usual, for the provider to judge.
  ['gpt-5.4', { tools, reasoning_effort: 'low', n: 2 }, '/v1/chat/completions'],
  ['gpt-5.6-sol', { tools, reasoning_effort: 'low', n: 2 }, '/v1/chat/completions'],
  ['gpt-4o', { tools }, '/v1/chat/completions'],
]

describe('the dialect is chosen by the request', () => {
  test.each(DIALECTS)('for chat requests to %s with %j', async (model, says, path) => {
    const seen = await ask('/v1/chat/completions', { model, messages, ...says })
    expect(seen).toMatchObject({ status: 200, path })
    expect(seen.answer).toHaveProperty('choices')
    if (path === '/v1/responses') expect(seen.sent).not.toHaveProperty('temperature')
  })

  test('for requests of messages and generate', async () => {
    const anthropic = { model: 'gpt-5.6-sol', max_tokens: 100, messages, tools: [{ name: 'look', input_schema: { type: 'object' } }] }
    expect(await ask('/v1/messages', anthropic)).toMatchObject({ status: 200, path: '/v1/responses' })
    const gemini = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], tools: [{ functionDeclarations: [{ name: 'look' }] }] }
    expect(await ask('/v1beta/models/gpt-5.6-sol:generateContent', gemini)).toMatchObject({ status: 200, path: '/v1/responses' })
  })
})

const MESSAGES: [model: string, says: Body, sent: Body, dropped: string[]][] = [
  ['claude-3-5-haiku', { temperature: 0.2, top_p: 0.5 }, { temperature: 0.2, top_p: 0.5 }, []],
  ['claude-3-5-haiku', { thinking: { type: 'enabled', budget_tokens: 2000 } }, {}, ['thinking']],
  ['claude-haiku-4-5', { temperature: 0.2, top_p: 0.5 }, { temperature: 0.2 }, ['top_p']],
  ['claude-haiku-4-5', { top_p: 0.5, top_k: 3 }, { top_p: 0.5, top_k: 3 }, []],
  ['claude-haiku-4-5', { thinking: { type: 'enabled', budget_tokens: 2000 } }, { thinking: { type: 'enabled', budget_tokens: 2000 } }, []],
  ['claude-haiku-4-5', { thinking: { type: 'adaptive' } }, { thinking: { type: 'enabled', budget_tokens: 2048 } }, ['thinking']],
  [
    'claude-haiku-4-5',
    { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    { thinking: { type: 'enabled', budget_tokens: 4096 }, output_config: {} },
    ['thinking', 'output_config.effort'],
  ],
  ['claude-opus-4-5', { output_config: { effort: 'max' } }, { output_config: { effort: 'high' } }, ['output_config.effort']],
  ['claude-opus-4-6', { thinking: { type: 'enabled', budget_tokens: 2000 } }, { thinking: { type: 'enabled', budget_tokens: 2000 } }, []],
  ['claude-opus-4-7', { thinking: { type: 'enabled', budget_tokens: 2000 } }, { thinking: { type: 'adaptive' } }, ['thinking']],
  ['claude-opus-4-7', { temperature: 0.2, top_k: 3 }, {}, ['temperature', 'top_k']],
  ['claude-opus-5', { thinking: { type: 'disabled' } }, { thinking: { type: 'disabled' } }, []],
  [
    'claude-sonnet-5-5',
    { thinking: { type: 'disabled' }, tool_choice: { type: 'any' }, tools: [{ name: 'look', input_schema: { type: 'object' } }] },
    { tool_choice: { type: 'auto' }, tools: [{ name: 'look', input_schema: { type: 'object' } }] },
    ['thinking', 'tool_choice'],
  ],
  ['claude-haiku-5-5', { temperature: 1, output_config: { effort: 'xhigh' } }, { temperature: 1, output_config: { effort: 'xhigh' } }, []],
  // Nothing is known of it: it passes as it is said.
  [
    'stranger',
    { temperature: 0.2, top_p: 0.5, thinking: { type: 'adaptive' } },
    { temperature: 0.2, top_p: 0.5, thinking: { type: 'adaptive' } },
    [],
  ],
]

describe('messages', () => {
  test.each(MESSAGES)('%s gets %j', async (model, says, sent, dropped) => {
    const seen = await ask('/v1/messages', { model, max_tokens: 8000, messages, ...says })
    expect(seen).toMatchObject({ status: 200, path: '/v1/messages' })
    expect(seen.sent).toEqual({ max_tokens: 8000, messages, ...sent })
    expect(seen.dropped).toEqual(dropped)
  })
})

const TOOL = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: { at: { type: 'string' } } } }
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }

/** Wishes, as each dialect of clients has them. */
const WISHES: Record<string, { path(model: string): string; body(model: string): Body; wishes: Record<string, Body> }> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: model => ({ model, messages }),
    wishes: {
      nothing: {},
      temperature: { temperature: 0.3, top_p: 0.9 },
      stops: { stop: ['a', 'b'] },
      reasoning: { reasoning_effort: 'high' },
      'no reasoning': { reasoning_effort: 'none' },
      'the most reasoning': { reasoning_effort: 'max' },
      tools: { tools: [{ type: 'function', function: TOOL }] },
      'tools and reasoning': { tools: [{ type: 'function', function: TOOL }], reasoning_effort: 'low' },
      'a forced tool': { tools: [{ type: 'function', function: TOOL }], tool_choice: 'required', parallel_tool_calls: false },
      structure: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA, strict: true } } },
      'a limit': { max_tokens: 2000, presence_penalty: 0.5, logprobs: true },
      'an answer begun': { messages: [...messages, { role: 'assistant', content: 'One,' }] },
    },
  },
  messages: {
    path: () => '/v1/messages',
    body: model => ({ model, max_tokens: 4000, messages }),
    wishes: {
      nothing: {},
      temperature: { temperature: 0.3, top_p: 0.9, top_k: 5 },
      stops: { stop_sequences: ['a', 'b'] },
      reasoning: { thinking: { type: 'enabled', budget_tokens: 2000 } },
      'adaptive reasoning': { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } },
      'no reasoning': { thinking: { type: 'disabled' } },
      tools: { tools: [{ name: TOOL.name, input_schema: TOOL.parameters }] },
      'tools and reasoning': {
        tools: [{ name: TOOL.name, input_schema: TOOL.parameters }],
        thinking: { type: 'adaptive' },
        output_config: { effort: 'low' },
      },
      'a forced tool': { tools: [{ name: TOOL.name, input_schema: TOOL.parameters }], tool_choice: { type: 'any' } },
      structure: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    },
  },
  responses: {
    path: () => '/v1/responses',
    body: model => ({ model, input: 'Hi' }),
    wishes: {
      nothing: {},
      temperature: { temperature: 0.3, top_p: 0.9 },
      reasoning: { reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'] },
      'no reasoning': { reasoning: { effort: 'none' } },
      tools: { tools: [{ type: 'function', strict: false, ...TOOL }] },
      'a forced tool': { tools: [{ type: 'function', strict: false, ...TOOL }], tool_choice: 'required', parallel_tool_calls: false },
      structure: { text: { format: { type: 'json_schema', name: 'a', schema: SCHEMA, strict: true }, verbosity: 'low' } },
      'a limit': { max_output_tokens: 2000 },
    },
  },
  generate: {
    path: model => `/v1beta/models/${model}:generateContent`,
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }),
    wishes: {
      nothing: {},
      temperature: { generationConfig: { temperature: 0.3, topP: 0.9, topK: 5 } },
      stops: { generationConfig: { stopSequences: ['a', 'b'] } },
      reasoning: { generationConfig: { thinkingConfig: { thinkingBudget: 5000 } } },
      'no reasoning': { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
      tools: { tools: [{ functionDeclarations: [TOOL] }] },
      'a forced tool': { tools: [{ functionDeclarations: [TOOL] }], toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
      structure: { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: SCHEMA } },
    },
  },
  completions: {
    path: () => '/v1/completions',
    body: model => ({ model, prompt: 'Hi' }),
    wishes: {
      nothing: {},
      temperature: { temperature: 0.3, top_p: 0.9 },
      stops: { stop: ['a'] },
      'a limit': { max_tokens: 2000, logprobs: 2 },
    },
  },
}

for (const [dialect, { path, body, wishes }] of Object.entries(WISHES)) {
  describe(`a request of ${dialect}`, () => {
    test.each(Object.keys({ ...MODELS, ...OTHERS }))('is answered by %s, or refused before a call', async model => {
      const failed: string[] = []
      for (const [wish, says] of Object.entries(wishes)) {
        const seen = await ask(path(model), { ...body(model), ...says })
        // What cannot be served is said before anything is sent.
        const isTold = seen.status === 400 && seen.path === ''
        if (seen.status !== 200 && !isTold) failed.push(`${wish}: ${JSON.stringify(seen.answer)} to ${JSON.stringify(seen.sent)}`)
      }
      expect(failed).toEqual([])
    })
  })
}

/** What the simulator refuses as the makers do. */
const REFUSALS: [path: string, model: string, says: Body, param: string][] = [
  ['/v1/chat/completions', 'gpt-4o', { reasoning_effort: 'low' }, 'reasoning_effort'],
  ['/v1/chat/completions', 'gpt-5-mini', { temperature: 0.3 }, 'temperature'],
  ['/v1/chat/completions', 'gpt-5-mini', { stop: ['a'] }, 'stop'],
  ['/v1/chat/completions', 'gpt-5-mini', { max_tokens: 5 }, 'max_tokens'],
  ['/v1/chat/completions', 'gpt-5.6-sol', { tools }, 'reasoning_effort'],
  ['/v1/responses', 'gpt-4o', { include: ['reasoning.encrypted_content'] }, 'include'],
  ['/v1/messages', 'claude-haiku-4-5', { thinking: { type: 'adaptive' } }, 'thinking'],
  ['/v1/messages', 'claude-haiku-4-5', { temperature: 0.3, top_p: 0.9 }, 'top_p'],
  ['/v1/messages', 'claude-opus-4-7', { thinking: { type: 'enabled', budget_tokens: 1024 } }, 'thinking'],
  ['/v1/messages', 'claude-sonnet-5-5', { tool_choice: { type: 'any' } }, 'tool_choice'],
]

test.each(REFUSALS)('the simulator refuses, at %s, what %s does not accept: %j', async (path, model, says, param) => {
  const response = await fetch(simulator.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: `${model}-sim`,
      max_tokens: 4000,
      messages,
      input: 'Hi',
      ...says,
      ...(path.includes('chat') && param !== 'max_tokens' && { max_tokens: undefined }),
    }),
  })
  expect(response.status).toBe(400)
  expect(JSON.stringify(await response.json())).toContain(`'${param}'`)
})
