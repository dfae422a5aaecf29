// A tool that a provider does not have is refused by its name, without blame for the tools beside it.

import { afterAll, describe, expect, test } from 'vitest'
import { KEY, startGateway } from '../harness.js'

const PROVIDERS = ['openai', 'cerebras', 'anthropic', 'gemini']
const gateway = await startGateway({
  // Nobody listens there: what is refused is refused before anybody is asked.
  upstreams: Object.fromEntries(
    PROVIDERS.map(provider => [provider, { provider, base: 'http://127.0.0.1:1', secret: 'none', models: [provider] }]),
  ),
})
afterAll(() => gateway.close())

const parameters = { type: 'object', properties: {} }
const CLIENTS: Readonly<Record<string, { own: string[]; path(model: string): string; body(model: string): unknown; tool: string }>> = {
  chat: {
    own: ['openai', 'cerebras'],
    path: () => '/v1/chat/completions',
    body: model => ({
      model,
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [{ type: 'function', function: { name: 'mine', parameters } }, { type: 'made_up_tool' }],
    }),
    tool: 'made_up_tool',
  },
  responses: {
    own: ['openai'],
    path: () => '/v1/responses',
    body: model => ({
      model,
      input: 'Hi',
      tools: [{ type: 'function', name: 'mine', parameters, strict: null }, { type: 'made_up_tool' }],
    }),
    tool: 'made_up_tool',
  },
  messages: {
    own: ['anthropic'],
    path: () => '/v1/messages',
    body: model => ({
      model,
      max_tokens: 10,
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [
        { name: 'mine', input_schema: parameters },
        { type: 'made_up_tool_20260101', name: 'made_up' },
      ],
    }),
    tool: 'made_up_tool_20260101',
  },
  generate: {
    own: ['gemini'],
    path: model => `/v1beta/models/${model}:generateContent`,
    body: () => ({
      contents: [{ parts: [{ text: 'Hi' }] }],
      tools: [
        { functionDeclarations: [{ name: 'mine', parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } } }] },
        { codeExecution: {} },
      ],
    }),
    tool: 'codeExecution',
  },
}

describe.each(Object.entries(CLIENTS))('a refusal of a tool of %s', (_name, { own, path, body, tool }) => {
  test.each(PROVIDERS.filter(provider => !own.includes(provider)))('names only the tool that %s does not have', async provider => {
    const answer = await fetch(gateway.url + path(provider), {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body(provider)),
    })
    const words = await answer.text()
    expect([answer.status, words]).toEqual([400, expect.stringContaining(tool)])
    expect(words).not.toContain('mine')
    expect(words).not.toContain('"function"')
  })
})
