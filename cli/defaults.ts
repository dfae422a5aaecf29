// What `sluice start` serves without a configuration: the simulator, and the real providers whose keys are in the
// environment.

import { randomBytes } from 'node:crypto'
import type { PlanFacts } from '../engine/plan.js'

/** Public, and therefore only used while the simulator is the only provider. */
export const DEMO_KEY = 'sluice-demo'

export interface Defaults {
  /** The content of a gateway.yaml. */
  content: object
  /** The key to call with. */
  key: string
}

/** Simulated models are free, but have a price so that costs and budgets can be tried. */
const PRICE = { input: 1, output: 5 }

export function defaultContent(plan: PlanFacts, simulator: string): Defaults {
  let key = DEMO_KEY
  const upstreams: Record<string, object> = {}
  const models: Record<string, object> = {}
  for (const provider of Object.values(plan.providers)) {
    const name = `simulated-${provider.name}`
    if (provider.secretEnv === undefined) continue
    upstreams[name] = { provider: provider.name, base: simulator, secret: 'simulated' }
    for (const kind of ['sim', 'sim-tools', 'sim-reasoning']) {
      const display_name = `${kind} behind ${provider.title}`
      models[`${kind}-${provider.name}`] = { targets: [{ upstream: name, model: kind }], display_name, price: PRICE }
    }
    models.sim ??= { targets: [{ upstream: name }], display_name: 'The simulator', price: PRICE }
    const secret = process.env[provider.secretEnv]
    if (secret === undefined || secret === '') continue
    // Real providers cost money, so they need a key that nobody can guess.
    if (key === DEMO_KEY) key = `${DEMO_KEY}-${randomBytes(18).toString('base64url')}`
    upstreams[provider.name] = { provider: provider.name, secret: `$${provider.secretEnv}` }
    for (const model of provider.models) models[model] ??= { targets: [{ upstream: provider.name }] }
  }
  return { content: { keys: [{ name: DEMO_KEY, value: key }], upstreams, models, pages: { pricing: ['default'] } }, key }
}
