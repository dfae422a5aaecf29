// Rerank requests with every provider that ranks: one form of answer, and Cohere's own for its clients.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

const PROVIDERS = ['cohere', 'jina', 'voyage']

let simulator: Simulator
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (dialect, body) => wrong(dialect, 'request', body) })
  gateway = await startGateway(simulated(simulator.url, ['sim', 'sim-status-429', 'sim-status-500'], PROVIDERS))
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

type Told = { results: { index: number; relevance_score: number; document?: unknown }[]; [name: string]: unknown }

async function ask(path: string, body: object): Promise<{ status: number; body: Told }> {
  const answer = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Told }
}

const query = 'red fox'
const documents = ['nothing', 'the red fox', { text: 'a fox', n: 1 }]

describe.each(PROVIDERS)('on %s', provider => {
  const model = `${provider}/sim`

  test('the best comes first, in the one shape', async () => {
    const { status, body } = await ask('/v1/rerank', { model, query, documents })
    expect(status).toBe(200)
    expect(wrong('rerank', 'response', body)).toBeUndefined()
    expect(body.results).toEqual([
      { index: 1, relevance_score: 1 },
      { index: 2, relevance_score: 0.5 },
      { index: 0, relevance_score: 0 },
    ])
  })

  test('documents come as they were, where they are asked for', async () => {
    const { body } = await ask('/v1/rerank', { model, query, documents, top_n: 2, return_documents: true })
    expect(body.results.map(({ document }) => document)).toEqual([{ text: 'the red fox' }, { text: 'a fox', n: 1 }])
  })

  test("Voyage's clients find their list", async () => {
    const { body } = await ask('/v1/rerank', {
      model,
      query,
      documents: ['nothing', 'the red fox'],
      top_k: 1,
      return_documents: true,
      truncation: true,
    })
    expect(body).toMatchObject({ object: 'list', data: [{ index: 1, relevance_score: 1, document: 'the red fox' }] })
    expect(typeof (body.usage as { total_tokens: number }).total_tokens).toBe('number')
  })

  test('both names for the number count, and more than there are is all', async () => {
    expect((await ask('/v1/rerank', { model, query, documents, top_k: 1 })).body.results.length).toBe(1)
    expect((await ask('/v1/rerank', { model, query, documents, top_n: 99 })).body.results.length).toBe(3)
  })

  test.each([{ documents: [] }, { documents, top_n: 0 }, { documents, top_k: 0 }, {}])('%j is a bad request', async wanted => {
    simulator.requests.length = 0
    const { status, body } = await ask('/v1/rerank', { model, query, ...wanted })
    expect([status, body]).toMatchObject([400, { error: { type: 'invalid_request_error' } }])
    expect(simulator.requests.length).toBe(0)
  })

  test("Cohere's clients get Cohere's shape", async () => {
    const { status, body } = await ask('/v2/rerank', { model, query, documents: ['nothing', 'the red fox'], top_n: 1 })
    expect(status).toBe(200)
    expect(wrong('cohere_rerank', 'response', body)).toBeUndefined()
    expect(body).toMatchObject({ results: [{ index: 1, relevance_score: 1 }], meta: { api_version: { version: '2' } } })
  })

  test('errors are told as each client knows them', async () => {
    const asked = { query, documents: ['a'] }
    const limited = await ask('/v1/rerank', { ...asked, model: `${provider}/sim-status-429` })
    expect(limited).toMatchObject({ status: 429, body: { error: { type: 'rate_limit_error' } } })
    // Voyage's clients read this member alone.
    expect(limited.body.detail).toBe((limited.body.error as { message: string }).message)
    const { status, body } = await ask('/v2/rerank', { ...asked, model: `${provider}/sim-status-500` })
    expect([status, typeof body.message, typeof body.id]).toEqual([provider === 'cohere' ? 500 : 502, 'string', 'string'])
  })
})
