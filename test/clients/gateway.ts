// One gateway before one simulator, for the official clients: a model for each provider and reserved name.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { KEY, simulated, startGateway, startSimulator } from '../harness.js'

const NAMES = [
  'sim',
  'sim-64',
  'sim-tools',
  'sim-parallel',
  'sim-reasoning',
  'sim-json',
  'sim-length',
  'sim-filter',
  'sim-cached',
  'sim-status-400',
  'sim-status-401',
  'sim-status-429',
  'sim-status-500',
  'sim-status-529',
  'sim-fail-2',
  'sim-cut-3',
  'sim-malformed-2',
  'sim-noend',
  'sim-64-20ms',
  'sim-1000-20ms',
]

const root = join(import.meta.dirname, '..', '..')

/** The providers that serve clients of a dialect, by their own dialect or a mapping: new ones join by themselves. */
export function providersFor(dialect: string): string[] {
  return ['openai', 'anthropic', 'gemini'].filter(provider => {
    const { speaks } = load(readFileSync(join(root, 'providers', `${provider}.yaml`), 'utf8')) as { speaks: Record<string, unknown> }
    return Object.keys(speaks).some(spoken => spoken === dialect || existsSync(join(root, 'mappings', `${dialect}-to-${spoken}`)))
  })
}

export async function startAll() {
  const simulator = await startSimulator({ record: true })
  const gateway = await startGateway(simulated(simulator.url, NAMES))
  return {
    url: gateway.url,
    key: KEY,
    simulator,
    log: gateway.log,
    async close() {
      await gateway.close()
      await simulator.close()
    },
  }
}

export const pairs = (): string[] => readdirSync(join(root, 'mappings')).filter(name => name.includes('-to-'))
