// What the gateway answered is no loss when a client sends it back: agents send the whole conversation each time, so a model that
// refuses unsupported members would refuse every second turn.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'

type Said = Record<string, unknown>
interface Client {
  path(model: string): string
  /** A request with a tool; `turns` follow the first one of the user. */
  ask(model: string, turns: readonly Said[]): Said
  /** The answer as the client sends it back, and the results of its calls. */
  back(answer: Said): Said[]
}

const question = 'What is the weather?'
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const list = (value: unknown): Said[] => value as Said[]

const clients: Record<string, Client> = {
  chat: {
    path: () => '/v1/chat/completions',
    ask: (model, turns) => ({
      model,
      messages: [{ role: 'user', content: question }, ...turns],
      tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
    }),
    back: ({ choices }) => {
      const message = list(choices)[0]?.message as Said
      return [message, ...list(message.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Sunny.' }))]
    },
  },
  messages: {
    path: () => '/v1/messages',
    ask: (model, turns) => ({
      model,
      max_tokens: 5000,
      messages: [{ role: 'user', content: question }, ...turns],
      tools: [{ name: 'weather', input_schema: schema }],
    }),
    back: ({ role, content }) => {
      const results = list(content).flatMap(({ type, id }) =>
        type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'Sunny.' }] : [],
      )
      return [
        { role, content },
        { role: 'user', content: results.length > 0 ? results : 'Thanks.' },
      ]
    },
  },
  responses: {
    path: () => '/v1/responses',
    ask: (model, turns) => ({
      model,
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [{ role: 'user', content: question }, ...turns],
      tools: [{ type: 'function', name: 'weather', parameters: schema, strict: false }],
    }),
    back: ({ output }) => [
      ...list(output),
      ...list(output).flatMap(({ type, call_id }) =>
        type === 'function_call' ? [{ type: 'function_call_output', call_id, output: 'Sunny.' }] : [],
      ),
      { role: 'user', content: 'And tomorrow?' },
    ],
  },
  generate: {
    path: model => `/v1beta/models/${model}:generateContent`,
    ask: (_model, turns) => ({
      contents: [{ role: 'user', parts: [{ text: question }] }, ...turns],
      tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: schema }] }],
    }),
    back: ({ candidates }) => {
      const content = list(candidates)[0]?.content as Said
      const results = list(content.parts).flatMap(({ functionCall }) =>
        functionCall === undefined ? [] : [{ functionResponse: { name: (functionCall as Said).name, response: { sky: 'sunny' } } }],
      )
      return [content, { role: 'user', parts: results.length > 0 ? results : [{ text: 'Thanks.' }] }]
    },
  },
}

const PROVIDERS = ['openai', 'anthropic', 'gemini', 'ollama', 'cohere']
let gateway: TestGateway
let simulator: Awaited<ReturnType<typeof startSimulator>>
beforeAll(async () => {
  simulator = await startSimulator({})
  const { upstreams, models } = simulated(simulator.url, ['sim', 'sim-tools'], PROVIDERS) as {
    upstreams: Said
    models: Record<string, Said>
  }
  gateway = await startGateway({
    upstreams,
    models: Object.fromEntries(Object.entries(models).map(([name, model]) => [name, { ...model, unsupported: 'refuse' }])),
  })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const post = async ({ path, ask }: Client, model: string, turns: readonly Said[]): Promise<[number, string | null, Said]> => {
  const response = await fetch(gateway.url + path(model), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': KEY, 'x-goog-api-key': KEY, authorization: `Bearer ${KEY}` },
    body: JSON.stringify(ask(model, turns)),
  })
  return [response.status, response.headers.get('x-sluice-dropped'), (await response.json()) as Said]
}

describe.each(Object.entries(clients))('a client of %s', (_name, client) => {
  test.each(PROVIDERS.flatMap(provider => ['sim', 'sim-tools'].map(model => `${provider}/${model}`)))(
    'sends back what %s answered',
    async model => {
      const [status, dropped, answer] = await post(client, model, [])
      expect([status, dropped, status === 200 || answer]).toEqual([200, null, true])
      const [again, lost, more] = await post(client, model, client.back(answer))
      expect([again, lost, again === 200 || more]).toEqual([200, null, true])
    },
  )
})
