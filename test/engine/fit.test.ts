// Members that a model does not accept: converted to what it accepts, or refused by name before any call.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { factsFor } from '../../engine/snapshot/catalogue.js'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { plan } from './plan.js'

let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
const MODELS: Readonly<Record<string, string>> = {
  'claude-haiku-4-5-sim': 'anthropic',
  'claude-opus-4-8-sim': 'anthropic',
  'gpt-5.5-sim': 'openai',
  'gpt-5-mini-sim': 'openai',
  'gpt-6-astra-sim': 'openai',
}
beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  gateway = await startGateway({
    upstreams: Object.fromEntries(['openai', 'anthropic'].map(provider => [provider, { provider, base: simulator.url, secret: 'none' }])),
    models: Object.fromEntries(Object.entries(MODELS).map(([model, upstream]) => [model, { targets: [{ upstream }] }])),
    log: { access: false },
  })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

async function ask(
  path: string,
  text: string,
): Promise<{ status: number; dropped: string | null; error: { param?: string; message: string }; sent: string }> {
  simulator.requests.length = 0
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: text,
  })
  const { error } = (await response.json()) as { error: { param?: string; message: string } }
  const sent = simulator.requests[0]?.body
  return { status: response.status, dropped: response.headers.get('x-sluice-dropped'), error, sent: sent === undefined ? '' : String(sent) }
}

const CALL = '{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"id":12345678901234567890,"n":1.0}}]}'
const RESULT = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}'
const conversation = (model: string): string =>
  `{"model":"${model}","max_tokens":100,"messages":[{"role":"user","content":"a"},${CALL},{"role":"system","content":"Be brief."},${RESULT},{"role":"system","content":[{"type":"text","text":"Rule"}]}]}`

test('instructions inside a conversation become user messages if the model accepts none there, and numbers keep their digits', async () => {
  const { status, sent, dropped } = await ask('/v1/messages', conversation('claude-haiku-4-5-sim'))
  expect(status).toBe(200)
  expect(dropped).toBe('messages')
  expect(sent).toContain(
    `"messages":[{"role":"user","content":"a"},${CALL},${RESULT},{"role":"user","content":"<system>\\nBe brief.\\n</system>"},{"role":"user","content":"<system>\\nRule\\n</system>"}]`,
  )
})

test('a model that accepts instructions inside a conversation gets them unchanged', async () => {
  const { status, sent, dropped } = await ask('/v1/messages', conversation('claude-opus-4-8-sim'))
  expect([status, dropped]).toEqual([200, null])
  expect(sent).toBe(conversation('claude-opus-4-8-sim'))
})

test.each([
  [
    'claude-opus-4-8-sim',
    {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    },
    'messages',
  ],
  ['claude-haiku-4-5-sim', { thinking: { type: 'enabled', budget_tokens: 4096 } }, 'thinking.budget_tokens'],
])('%s does not get what it refuses', async (model, rest, param) => {
  const { status, sent, error } = await ask(
    '/v1/messages',
    JSON.stringify({ model, max_tokens: 2000, messages: [{ role: 'user', content: 'a' }], ...rest }),
  )
  expect([status, sent]).toEqual([400, ''])
  expect(error.message).toContain(`'${param}'`)
})

test('an unknown level becomes a known one if the levels of the model are known', async () => {
  const body = {
    model: 'claude-opus-4-8-sim',
    max_tokens: 2000,
    messages: [{ role: 'user', content: 'a' }],
    output_config: { effort: 'ultra' },
  }
  const { status, sent, dropped } = await ask('/v1/messages', JSON.stringify(body))
  expect([status, dropped]).toEqual([200, 'output_config.effort'])
  expect(JSON.parse(sent).output_config).toEqual({ effort: 'high' })
})

test('the budget of thinking between calls may exceed the limit of an answer', async () => {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  const thinking = { type: 'enabled', budget_tokens: 4096 }
  const body = { model: 'claude-haiku-4-5-sim', max_tokens: 2000, messages: [{ role: 'user', content: 'a' }], tools, thinking }
  expect((await ask('/v1/messages', JSON.stringify(body))).status).toBe(200)
})

const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
const twice = (model: string): string => JSON.stringify({ model, n: 2, messages: [{ role: 'user', content: 'a' }], tools: TOOLS })

test('a model that accepts tools only without reasoning gets no reasoning, and the client gets a report', async () => {
  const { status, sent, dropped } = await ask('/v1/chat/completions', twice('gpt-5.5-sim'))
  expect([status, dropped]).toEqual([200, 'reasoning_effort'])
  expect(JSON.parse(sent)).toMatchObject({ n: 2, reasoning_effort: 'none' })
})

test('a model does not get a request that its preferred dialect cannot express', async () => {
  const { status, sent, error } = await ask('/v1/chat/completions', twice('gpt-6-astra-sim'))
  expect([status, sent, error.param]).toEqual([400, '', 'tools'])
})

test('each member that a generate-content client loses has one name, and it is its own', async () => {
  const { status, dropped } = await ask(
    '/v1beta/models/gpt-5-mini-sim:generateContent',
    JSON.stringify({
      contents: [{ role: 'user', parts: [{ text: 'a' }] }],
      generationConfig: {
        temperature: 0.3,
        topP: 0.2,
        presencePenalty: 1,
        frequencyPenalty: 1,
        responseLogprobs: true,
        logprobs: 3,
        stopSequences: ['a'],
      },
    }),
  )
  expect(status).toBe(200)
  const names = ['temperature', 'topP', 'presencePenalty', 'frequencyPenalty', 'responseLogprobs', 'logprobs', 'stopSequences']
  expect(dropped?.split(', ').sort()).toEqual(names.map(name => `generationConfig.${name}`).sort())
})

test.each(['grok-4.3', 'grok-4.5', 'grok-4.6', 'grok-4.7'])('%s reasons, and so gets no stop sequences and no penalties', name => {
  expect(factsFor(plan.catalogue, 'xai', name).traits).toMatchObject({ stops: 0, penalties: false })
})
