// Any request of a client's dialect, for each model with different facts in models/: the provider's side accepts what it gets,
// or the client was refused before any call. A real gateway and the simulator, which refuses what a model refuses.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { factsFor } from '../../engine/snapshot/catalogue.js'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { plan, project, runs, schemaOf, TIMEOUT } from './plan.js'

type Body = Record<string, unknown>

/** The providers that the simulator speaks for, and a client's paths. */
const PROVIDERS = ['openai', 'anthropic', 'gemini']
const CLIENTS: Record<string, { path(model: string): string; says: Body }> = {
  chat: { path: () => '/v1/chat/completions', says: { stream: false } },
  messages: { path: () => '/v1/messages', says: { stream: false } },
  responses: { path: () => '/v1/responses', says: { stream: false } },
  generate: { path: model => `/v1beta/models/${model}:generateContent`, says: {} },
}

/** A model of each profile: those of which the same traits and endpoints are known are one. */
function profiles(): { provider: string; model: string }[] {
  const found = new Map<string, { provider: string; model: string }>()
  for (const provider of PROVIDERS) {
    const names = (plan.catalogue ?? []).flatMap(({ match, providers }) =>
      providers?.includes(provider) ? match.filter(name => /^[\w.-]+$/.test(name)) : [],
    )
    // The simulator answers names with this behind them, and knows them by the patterns that fit them.
    for (const model of [...new Set(names)].sort().map(name => `${name}-sim`)) {
      const { traits = {}, prefer, outputs } = factsFor(plan.catalogue, provider, model)
      if (outputs !== undefined && !outputs.includes('text')) continue
      const key = JSON.stringify([provider, Object.entries(traits).sort(), prefer])
      if (!found.has(key)) found.set(key, { provider, model })
    }
  }
  return [...found.values()]
}

const models = profiles()
let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  gateway = await startGateway({
    upstreams: Object.fromEntries(PROVIDERS.map(provider => [provider, { provider, base: simulator.url, secret: 'none' }])),
    models: Object.fromEntries(models.map(({ provider, model }) => [`${provider}.${model}`, { targets: [{ upstream: provider, model }] }])),
    log: { access: false },
  })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

test('the catalogue has profiles of models for each provider', () => {
  expect(models.length).toBeGreaterThan(20)
  for (const provider of PROVIDERS) expect(models.some(one => one.provider === provider)).toBe(true)
})

/** What is fetched from elsewhere is another property's. */
const isPlain = (body: Body): boolean => !/"(?:https?|gs|file):/.test(JSON.stringify(body))

const tame = arbitraries(project.schemas, { strange: false })

describe.each(Object.entries(CLIENTS))('%s', (dialect, { path, says }) => {
  const requests = tame.of(schemaOf(dialect, 'request')).filter(body => isPlain(body as Body))
  test(
    'the provider refuses no request that the gateway accepts',
    async () => {
      const samples = fc.sample(requests, { numRuns: runs(models.length * 4), seed: 20261122 }) as Body[]
      const refused: string[] = []
      let asked = 0
      for (const [index, sample] of samples.entries()) {
        const { provider, model } = models[index % models.length] as (typeof models)[number]
        const name = `${provider}.${model}`
        simulator.requests.length = 0
        const response = await fetch(gateway.url + path(name), {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}`, 'x-api-key': KEY, 'content-type': 'application/json' },
          body: JSON.stringify({ ...sample, ...says, model: name }),
        })
        const answer = await response.text()
        const [seen] = simulator.requests
        if (seen === undefined) continue
        asked++
        if (response.status === 400) refused.push(`${name} at ${seen.path}: ${answer}\nfor ${JSON.stringify(sample)}`)
      }
      expect(asked).toBeGreaterThan(models.length / 2)
      expect(refused).toEqual([])
    },
    TIMEOUT,
  )
})
