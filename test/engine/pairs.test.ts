// A gateway loads only the mappings that its upstreams need, and links with them what it would link with all.

import { expect, test } from 'vitest'
import type { Plan } from '../../engine/plan.js'
import type { GatewayConfig, ModelConfig } from '../../engine/snapshot/config.js'
import { account } from '../../engine/snapshot/link.js'
import type { Binding } from '../../engine/snapshot/model.js'
import { pairsFor } from '../../engine/snapshot/pairs.js'
import { createSnapshot } from '../../engine/snapshot/snapshot.js'
import { importPlan } from '../import-plan.js'
import { plan } from './plan.js'

const address = new URL('../../generated/plan.js', import.meta.url).href

/** A model of each kind that the catalogue prefers another dialect for, and one that it does not know. */
const names = ['unknown', ...new Set((plan.catalogue ?? []).filter(({ facts }) => facts.prefer).map(({ match }) => match[0] as string))]

function configFor(providers: readonly string[]): GatewayConfig {
  const upstreams = Object.fromEntries(providers.map(provider => [provider, { provider, base: 'http://127.0.0.1:9' }]))
  const model = { targets: providers.map(account), groups: [], unsupported: 'refuse', traits: {} } as unknown as ModelConfig
  return { keys: [], upstreams, models: Object.fromEntries(names.map(name => [name, model])), maxOutput: 4096, currency: 'USD' }
}

const partFor = (providers: readonly string[]): Promise<Plan> =>
  importPlan(address, (facts, all) => pairsFor(configFor(providers), facts, all))

const brief = ({ from, to, mapping, preferred, next }: Binding): unknown => ({
  from: from.name,
  to: to.name,
  mapping: mapping && `${mapping.from}-to-${mapping.to}`,
  preferred: preferred?.map(({ binding }) => brief(binding)),
  next: next && brief(next),
})

async function linked(plan: Plan, providers: readonly string[]): Promise<unknown> {
  const snapshot = createSnapshot(plan, configFor(providers))
  const models = [...snapshot.models].map(([name, { targets }]) => [
    name,
    targets.map(({ bindings }) => bindings.values().map(binding => brief(binding))),
  ])
  await snapshot.close()
  return models
}

const groups = [...Object.keys(plan.providers).map(name => [name]), ['openai', 'anthropic'], ['gemini', 'cohere']]

test.each(groups.map(providers => ({ providers })))('$providers', async ({ providers }) => {
  const part = await partFor(providers)
  expect(part.leftOut?.size).toBeGreaterThan(0)
  expect(Object.keys(part.mappings).length + (part.leftOut?.size ?? 0)).toBe(Object.keys(plan.mappings).length)
  expect(await linked(part, providers)).toEqual(await linked(plan, providers))
})

test('an upstream that needs a mapping which was left out is an error, not a missing route', async () => {
  const part = await partFor(['anthropic'])
  expect(() => createSnapshot(part, configFor(['gemini']))).toThrow('the mapping chat-to-generate was left out')
})
