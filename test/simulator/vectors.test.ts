// The simulator's embeddings and rankings: answers that are valid by the project's own schemas, and the same vector for a text
// in every dialect and form.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Simulator, startSimulator } from '../../cli/simulator/server.js'
import { wrong } from './schemas.js'

let simulator: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ validate: (dialect, body) => wrong(dialect, 'request', body) })
})
afterAll(() => simulator?.close())

async function ask(dialect: string, path: string, body: object): Promise<unknown> {
  const answer = await fetch(simulator.url + path, { method: 'POST', body: JSON.stringify(body) })
  const value: unknown = await answer.json()
  expect(answer.status, JSON.stringify(value)).toBe(200)
  expect(wrong(dialect, 'response', value)).toBeUndefined()
  return value
}

const content = { parts: [{ text: 'Hello 7' }] }

test('one text has one vector in every dialect', async () => {
  const list = (await ask('embeddings', '/v1/embeddings', { model: 'sim', input: ['Hello 7', 'Bye'] })) as {
    data: { embedding: number[] }[]
  }
  const vector = list.data[0]?.embedding
  expect(vector).toHaveLength(8)
  expect(list.data[1]?.embedding).not.toEqual(vector)
  const models = '/v1beta/models/sim'
  expect(await ask('embed_content', `${models}:embedContent`, { content })).toMatchObject({ embedding: { values: vector } })
  expect(await ask('batch_embed_contents', `${models}:batchEmbedContents`, { requests: [{ content }] })).toMatchObject({
    embeddings: [{ values: vector }],
  })
  expect(
    await ask('cohere_embed', '/v2/embed', { model: 'sim', texts: ['Hello 7'], input_type: 'clustering', embedding_types: ['float'] }),
  ).toMatchObject({ embeddings: { float: [vector] } })
})

test('base64 holds the same numbers', async () => {
  const asked = { model: 'sim', input: 'Hello, world', dimensions: 24 }
  const plain = (await ask('embeddings', '/v1/embeddings', asked)) as { data: { embedding: number[] }[] }
  const packed = (await ask('embeddings', '/v1/embeddings', { ...asked, encoding_format: 'base64' })) as { data: { embedding: string }[] }
  const bytes = Buffer.from(packed.data[0]?.embedding ?? '', 'base64')
  expect(Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4))).toEqual(plain.data[0]?.embedding)
  expect(new Set(plain.data[0]?.embedding).size).toBeGreaterThan(4)
})

test('tokens are inputs, too', async () => {
  const one = (await ask('embeddings', '/v1/embeddings', { model: 'sim', input: [15339, 995] })) as { data: unknown[] }
  const two = (await ask('embeddings', '/v1/embeddings', { model: 'sim', input: [[15339], [995]] })) as { data: unknown[] }
  expect([one.data.length, two.data.length]).toEqual([1, 2])
})

describe('rankings', () => {
  const documents = ['nothing', 'the red fox', 'a fox']
  const ranked = [
    { index: 1, relevance_score: 1 },
    { index: 2, relevance_score: 0.5 },
    { index: 0, relevance_score: 0 },
  ]

  test("are by the query's words", async () => {
    const asked = { model: 'sim', query: 'red fox', documents }
    expect(await ask('cohere_rerank', '/v2/rerank', asked)).toMatchObject({ results: ranked })
    expect(await ask('jina_rerank', '/v1/rerank', { ...asked, top_n: 1 })).toMatchObject({
      results: [{ ...ranked[0], document: { text: 'the red fox' } }],
    })
    expect(await ask('voyage_rerank', '/v1/rerank', { ...asked, top_k: 2, return_documents: false })).toMatchObject({
      data: ranked.slice(0, 2),
    })
  })

  test('errors are in the words of the dialect', async () => {
    const asked = { method: 'POST', body: JSON.stringify({ model: 'sim-status-429', query: 'q', documents }) }
    const cohere = await fetch(`${simulator.url}/v2/rerank`, asked)
    expect([cohere.status, cohere.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await cohere.json()).toMatchObject({ message: expect.stringContaining('429') })
    expect(await (await fetch(`${simulator.url}/v1/rerank`, asked)).json()).toMatchObject({ error: { type: 'rate_limit_error' } })
  })
})
