// The official clients' embeddings with every provider that has some. The simulator gives a text the same vector in every
// dialect, so the numbers must be equal whatever the pair.

import { GoogleGenAI } from '@google/genai'
import { CohereClientV2 } from 'cohere-ai'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

const PROVIDERS = ['openai', 'gemini', 'cohere', 'jina', 'voyage', 'embed-only']

/** A provider of single contents alone, as some services of the generate family are. */
const EMBED_ONLY = `title: Single contents
base: http://127.0.0.1:1
credential: { header: authorization, prefix: 'Bearer ' }
speaks: { embed_content: '/v1beta/models/{model}:embedContent' }
`

let simulator: Simulator
let gateway: TestGateway
let openai: OpenAI
let genai: GoogleGenAI
let cohere: CohereClientV2

beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (dialect, body) => wrong(dialect, 'request', body) })
  gateway = await startGateway(simulated(simulator.url, ['sim', 'sim-status-429', 'sim-status-500'], PROVIDERS), {
    'providers/embed-only.yaml': EMBED_ONLY,
  })
  openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  cohere = new CohereClientV2({ token: KEY, environment: gateway.url })
  genai = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.url } })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const texts = (count: number): string[] => Array.from({ length: count }, (_, index) => `text ${index}`)

/** What the simulator says of a text, asked without a gateway. */
async function vector(input: string, dimensions?: number): Promise<number[]> {
  const body = JSON.stringify({ model: 'sim', input, dimensions })
  const answer = (await (await fetch(`${simulator.url}/v1/embeddings`, { method: 'POST', body })).json()) as {
    data: { embedding: number[] }[]
  }
  return answer.data[0]?.embedding ?? []
}

describe.each(PROVIDERS)('on %s', provider => {
  const model = `${provider}/sim`

  test('C17: the OpenAI client decodes the base64 that it asks for by default', async () => {
    const answer = await openai.embeddings.create({ model, input: ['Hello', 'Bye'], dimensions: 12 })
    expect(answer.data.map(({ index, embedding }) => [index, Array.from(embedding)])).toEqual([
      [0, await vector('Hello', 12)],
      [1, await vector('Bye', 12)],
    ])
    expect(answer.object).toBe('list')
    expect(answer.usage.total_tokens).toBeGreaterThan(0)
  })

  test('the OpenAI client gets numbers where it asks for them', async () => {
    const answer = await openai.embeddings.create({ model, input: 'Hello', encoding_format: 'float' })
    expect(answer.data[0]?.embedding).toEqual(await vector('Hello'))
  })

  test('the Cohere client embeds texts, and inputs of several parts', async () => {
    const asked = { model, inputType: 'search_query' as const, embeddingTypes: ['float' as const] }
    const answer = await cohere.embed({ ...asked, texts: ['Hello', 'Bye'], outputDimension: 12 })
    expect(answer.embeddings.float).toEqual([await vector('Hello', 12), await vector('Bye', 12)])
    expect(answer.meta?.billedUnits?.inputTokens).toBeGreaterThan(0)
    const one = await cohere.embed({ ...asked, texts: ['Hello'] })
    expect(one.embeddings.float).toEqual([await vector('Hello')])
    const content = ['Hello', 'there'].map(text => ({ type: 'text' as const, text }))
    const inputs = await cohere.embed({ ...asked, inputs: [{ content }, { content: content.slice(1) }] })
    expect(inputs.embeddings.float).toHaveLength(2)
  })

  test('G8: the Gemini client embeds one content and several', async () => {
    const one = await genai.models.embedContent({ model, contents: 'Hello' })
    expect(one.embeddings?.map(({ values }) => values)).toEqual([await vector('Hello')])
    const several = await genai.models.embedContent({
      model,
      contents: ['Hello', 'Bye'],
      config: { outputDimensionality: 4, taskType: 'RETRIEVAL_QUERY' },
    })
    expect(several.embeddings?.map(({ values }) => values)).toEqual([await vector('Hello', 4), await vector('Bye', 4)])
  })

  test('an engine answers in the shape that was asked', async () => {
    const ask = async (body: object): Promise<unknown> => {
      const answer = await fetch(`${gateway.url}/v1/engines/${model}/embeddings`, {
        method: 'POST',
        headers: { 'x-goog-api-key': KEY, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      const value: unknown = await answer.json()
      expect(answer.status, JSON.stringify(value)).toBe(200)
      expect(wrong('engine_embeddings', 'response', value)).toBeUndefined()
      return value
    }
    const content = { parts: [{ text: 'Hello' }] }
    const values = await vector('Hello')
    expect(await ask({ content })).toMatchObject({ embedding: { values } })
    expect(await ask({ requests: [{ content }, { content }] })).toMatchObject({ embeddings: [{ values }, { values }] })
    expect(await ask({ input: 'Hello' })).toMatchObject({ object: 'list', data: [{ index: 0, embedding: values }] })
    const base64 = Buffer.from(Float32Array.from(values).buffer).toString('base64')
    expect(await ask({ input: ['Hello'], encoding_format: 'base64' })).toMatchObject({ data: [{ embedding: base64 }] })
  })

  test('an error of the provider is told as each client knows errors', async () => {
    await expect(openai.embeddings.create({ model: `${provider}/sim-status-429`, input: 'x' })).rejects.toMatchObject({ status: 429 })
    await expect(genai.models.embedContent({ model: `${provider}/sim-status-500`, contents: 'x' })).rejects.toMatchObject({
      status: provider === 'gemini' ? 500 : 502,
    })
  })
})

test.each([
  ['gemini', 250, 3],
  ['cohere', 193, 3],
  ['embed-only', 5, 5],
  ['openai', 250, 1],
])('%s is asked for %i texts in %i calls, and their order is kept', async (provider, count, calls) => {
  simulator.requests.length = 0
  const input = texts(count)
  const answer = await openai.embeddings.create({ model: `${provider}/sim`, input })
  expect(simulator.requests.length).toBe(calls)
  expect(answer.data.map(({ index }) => index)).toEqual(input.map((_, index) => index))
  for (const at of [0, 99, count - 1])
    if (at < count) expect(Array.from(answer.data[at]?.embedding ?? [])).toEqual(await vector(`text ${at}`))
  expect(answer.usage.prompt_tokens).toBe(12 * calls)
})

test('tokens are refused by name where the provider takes texts', async () => {
  expect((await openai.embeddings.create({ model: 'openai/sim', input: [[1, 2], [3]] })).data.length).toBe(2)
  for (const provider of ['gemini', 'cohere', 'embed-only']) {
    await expect(openai.embeddings.create({ model: `${provider}/sim`, input: [1, 2] })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'input',
    })
  }
})

test('what the official API refuses is refused: by a provider that speaks the same, else before any call', async () => {
  for (const [model, calls] of [
    ['openai/sim', 3],
    ['gemini/sim', 0],
  ] as const) {
    simulator.requests.length = 0
    for (const input of ['', [], ['']]) await expect(openai.embeddings.create({ model, input })).rejects.toMatchObject({ status: 400 })
    expect(simulator.requests.length).toBe(calls)
  }
})
