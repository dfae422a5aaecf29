// A deployment whose name is the operator's own: the target says which model it is.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'

let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  const targets = (upstream: string, more: object): object => ({ targets: [{ upstream, model: 'sim', ...more }] })
  gateway = await startGateway({
    upstreams: {
      azure: { provider: 'azure', base: simulator.url, secret: 'none' },
      older: { provider: 'azure-deployments', base: simulator.url, secret: 'none' },
      openai: { provider: 'openai', base: simulator.url, secret: 'none' },
    },
    models: {
      mini: targets('azure', { known_as: 'gpt-5-mini' }),
      older: targets('older', { known_as: 'gpt-5-mini' }),
      asked: targets('openai', { known_as: 'gpt-5-mini' }),
      unknown: targets('openai', {}),
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await simulator.close()
})

const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

test('the model list contains the facts of `known_as`', async () => {
  const { data } = (await (await fetch(`${gateway.url}/v1/models`, { headers })).json()) as {
    data: { id: string; limits?: { context?: number } }[]
  }
  const of = (id: string): (typeof data)[number] | undefined => data.find(model => model.id === id)
  for (const name of ['mini', 'older']) {
    expect(of(name)?.limits?.context).toBeGreaterThan(100_000)
  }
  expect(of('unknown')?.limits).toEqual({})
})

test.each([
  ['asked', 'temperature'],
  ['unknown', null],
])('%s: what the known model does not accept is dropped', async (model, dropped) => {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], temperature: 0.3 })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })
  expect([response.status, response.headers.get('x-sluice-dropped')]).toEqual([200, dropped])
})

test('an unknown model in `known_as` is a finding', async () => {
  const file = {
    upstreams: { azure: { provider: 'azure', base: simulator.url, secret: 'none' } },
    models: { mini: { targets: [{ upstream: 'azure', model: 'ours', known_as: 'nobody-knows-it' }] } },
  }
  await expect(startGateway(file)).rejects.toThrow(/there is no model nobody-knows-it in models/)
})
