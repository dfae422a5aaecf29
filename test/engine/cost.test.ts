// The cost of an exchange: the same for a stream and a whole answer, in every client's dialect with every provider's.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { dialects } from './dialects.js'

const PRICE = { input: 1, output: 5 }
let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway

beforeAll(async () => {
  simulator = await startSimulator({})
  const file = simulated(simulator.url, ['sim']) as { models: Record<string, object> }
  const models = Object.fromEntries(Object.entries(file.models).map(([name, model]) => [name, { ...model, price: PRICE }]))
  gateway = await startGateway({
    ...file,
    models: { ...models, free: { targets: [{ upstream: 'openai', model: 'sim' }] } },
    expose: ['cost'],
  })
})
afterAll(async () => {
  await gateway.close()
  await simulator.close()
})

interface Line {
  model?: string
  usage?: { input: number; output: number }
  cost?: number
}
const lines = (): Line[] => gateway.log.filter(line => line.msg === 'request') as unknown as Line[]

test.each(
  Object.values(dialects).flatMap(dialect =>
    ['openai', 'anthropic', 'gemini'].flatMap(upstream => [true, false].map(stream => ({ dialect, upstream, stream }))),
  ),
)('the log has the cost of $dialect.name → $upstream, stream: $stream', async ({ dialect, upstream, stream }) => {
  const before = lines().length
  const model = `${upstream}/sim`
  const response = await fetch(gateway.url + dialect.path(stream, model), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...dialect.headers },
    body: JSON.stringify(dialect.body(stream, model)),
  })
  expect(response.status).toBe(200)
  await response.text()
  await expect.poll(() => lines().length).toBe(before + 1)
  const { usage, cost } = lines()[before] as Required<Line>
  expect(usage.input + usage.output).toBeGreaterThan(0)
  expect(cost).toBeCloseTo((usage.input * PRICE.input + usage.output * PRICE.output) / 1e6, 12)
  expect(response.headers.get('x-sluice-cost')).toBe(stream ? null : String(cost))
})

test('without a price there is no cost', async () => {
  const before = lines().length
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ model: 'free', messages: [{ role: 'user', content: 'Hello' }] }),
  })
  expect([response.status, response.headers.get('x-sluice-cost')]).toEqual([200, null])
  await expect.poll(() => lines().length).toBe(before + 1)
  expect(lines()[before]).not.toHaveProperty('cost')
})
