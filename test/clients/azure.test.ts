// The client of Azure: with an API version, deployments are in the path and the key has a header of its own.

import OpenAI, { AzureOpenAI } from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'

const MODELS: Record<string, string> = { openai: 'sim', anthropic: 'claude-sim', gemini: 'gemini-3-pro-sim', cohere: 'command-sim' }

let simulator: Simulator
let gateway: TestGateway
let azure: AzureOpenAI

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  gateway = await startGateway({
    upstreams: Object.fromEntries(Object.keys(MODELS).map(provider => [provider, { provider, base: simulator.url, secret: 'secret' }])),
    models: Object.fromEntries(Object.entries(MODELS).map(([upstream, model]) => [upstream, { targets: [{ upstream, model }] }])),
  })
  azure = new AzureOpenAI({ apiKey: KEY, endpoint: gateway.url, apiVersion: '2025-04-01-preview', maxRetries: 0 })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const messages = [{ role: 'user' as const, content: 'Hello' }]

test.each(Object.keys(MODELS))('chats by deployment: %s', async model => {
  const whole = await azure.chat.completions.create({ model, messages })
  const final = await azure.chat.completions.stream({ model, messages }).finalChatCompletion()
  expect(final.choices[0]?.message.content).toBe(whole.choices[0]?.message.content)
  expect(whole.choices[0]?.message.content).toMatch(/^The simulator answers/)
})

test('a deployment of the client counts, whatever model a request names', async () => {
  const one = new AzureOpenAI({ apiKey: KEY, endpoint: gateway.url, apiVersion: '2024-10-21', deployment: 'anthropic', maxRetries: 0 })
  await one.chat.completions.create({ model: 'gpt-4o', messages })
  expect(simulator.requests.at(-1)?.path).toBe('/v1/messages')
  expect(simulator.requests.at(-1)?.headers['api-key']).toBeUndefined()
})

test('embeds, speaks and writes down what it hears', async () => {
  expect((await azure.embeddings.create({ model: 'openai', input: ['a', 'b'] })).data).toHaveLength(2)
  const speech = await azure.audio.speech.create({ model: 'openai', input: 'Hello', voice: 'alloy' })
  expect((await speech.arrayBuffer()).byteLength).toBeGreaterThan(0)
  const heard = await azure.audio.transcriptions.create({ model: 'openai', file: new File(['RIFF'], 'a.wav', { type: 'audio/wav' }) })
  expect(heard.text).toBeTruthy()
  expect((await azure.images.generate({ model: 'openai', prompt: 'A cat' })).data).toHaveLength(1)
})

test.each(Object.keys(MODELS))('responses: %s', async model => {
  expect((await azure.responses.create({ model, input: 'Hello', store: false })).output_text).toMatch(/^The simulator answers/)
  const final = await azure.responses.stream({ model, input: 'Hello', store: false }).finalResponse()
  expect(final.output_text).toMatch(/^The simulator answers/)
})

test('a response at its provider goes on, and is found again', async () => {
  const first = await azure.responses.create({ model: 'openai', input: 'Hello' })
  const next = await azure.responses.create({ model: 'openai', input: 'And?', previous_response_id: first.id })
  expect(next.previous_response_id).toBe(first.id)
  expect((await azure.responses.retrieve(next.id)).id).toBe(next.id)
})

test('lists models, and is refused without a valid key', async () => {
  expect((await azure.models.list()).data.map(({ id }) => id)).toEqual(expect.arrayContaining(Object.keys(MODELS)))
  const other = new AzureOpenAI({ apiKey: 'wrong-key', endpoint: gateway.url, apiVersion: '2024-10-21', maxRetries: 0 })
  await expect(other.chat.completions.create({ model: 'openai', messages })).rejects.toMatchObject({ status: 401 })
  await expect(azure.chat.completions.create({ model: 'nobody', messages })).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
})

test('without an API version it is the client of OpenAI, at another address', async () => {
  const openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/openai/v1/`, maxRetries: 0 })
  expect((await openai.chat.completions.create({ model: 'gemini', messages })).choices[0]?.message.content).toMatch(
    /^The simulator answers/,
  )
  expect((await openai.responses.create({ model: 'gemini', input: 'Hello' })).output_text).toMatch(/^The simulator answers/)
  expect((await openai.models.retrieve('gemini')).id).toBe('gemini')
})
