// The official client's moderation of texts and images, at the providers that have some.

import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Simulator } from '../../cli/simulator/server.js'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

let simulator: Simulator
let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  simulator = await startSimulator({ record: true, validate: (dialect, body) => wrong(dialect, 'request', body) })
  const { upstreams, models } = simulated(simulator.url, ['sim', 'sim-status-429'], ['openai', 'mistral'])
  gateway = await startGateway({
    upstreams,
    models: {
      ...(models as object),
      'omni-moderation-latest': { targets: [{ upstream: 'openai', model: 'sim' }] },
      known: { targets: [{ upstream: 'openai', model: 'omni-moderation-latest' }] },
    },
  })
  client = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

test.each(['openai', 'mistral'])('texts are judged one by one at %s', async provider => {
  const answer = await client.moderations.create({ model: `${provider}/sim`, input: ['a calm evening', 'a fight'] })
  expect(answer.results.map(({ flagged, categories }) => [flagged, categories.violence])).toEqual([
    [false, false],
    [true, true],
  ])
  expect(wrong('moderation', 'response', answer)).toBeUndefined()
})

test('a request without a model is for the one that the API takes then', async () => {
  const answer = await client.moderations.create({ input: 'a fight' })
  expect([answer.model, answer.results.map(one => one.flagged)]).toEqual(['sim', [true]])
})

test('a model of moderation is in no list of models that chat', async () => {
  const listed = async (path: string, model: string): Promise<boolean> => {
    const answer = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${KEY}` } })
    return (await answer.text()).includes(model)
  }
  expect([await listed('/api/tags', 'known'), await listed('/api/tags', 'openai/sim'), await listed('/v1/models', 'known')]).toEqual([
    false,
    true,
    true,
  ])
})

test('texts and images of one input are judged together', async () => {
  const input = [
    { type: 'text' as const, text: 'a fight' },
    { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
  ]
  expect((await client.moderations.create({ model: 'openai/sim', input })).results.length).toBe(1)
})

test('a refusal of the provider is an error of the client', async () => {
  await expect(client.moderations.create({ model: 'openai/sim-status-429', input: 'x' })).rejects.toBeInstanceOf(OpenAI.RateLimitError)
  await expect(client.moderations.create({ model: 'openai/sim', input: 5 as never })).rejects.toMatchObject({ status: 400, param: 'input' })
})
