// One gateway before one simulator, for the official clients: a model for each provider and reserved name.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { KEY, simulated, startGateway, startSimulator } from '../harness.js'
import { wrong } from '../simulator/schemas.js'

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

/** Providers that speak one dialect alone, so that every dialect of a client meets every dialect of a provider. */
const only = (dialect: string, path: string): string =>
  `title: ${dialect} alone\nbase: http://127.0.0.1:1\ncredential: { header: authorization, prefix: 'Bearer ' }\nspeaks: { ${dialect}: ${path} }\n`
const OWN: Record<string, string> = {
  'providers/chat-only.yaml': only('chat', '/v1/chat/completions'),
  'providers/responses-only.yaml': only('responses', '/v1/responses'),
}

const LANES = ['openai', 'anthropic', 'gemini', 'chat-only', 'responses-only']

/** The providers that serve clients of a dialect, by their own dialect or a mapping: new ones join by themselves. */
export function providersFor(dialect: string): string[] {
  return LANES.filter(provider => {
    const file = `providers/${provider}.yaml`
    const { speaks } = load(OWN[file] ?? readFileSync(join(root, file), 'utf8')) as { speaks: Record<string, unknown> }
    return Object.keys(speaks).some(spoken => spoken === dialect || existsSync(join(root, 'mappings', `${dialect}-to-${spoken}`)))
  })
}

/** The simulator refuses what its dialects do not accept, so that nothing that is sent is wrong. */
export async function startAll() {
  const simulator = await startSimulator({ record: true, validate: (dialect, body) => wrong(dialect, 'request', body) })
  const gateway = await startGateway(simulated(simulator.url, NAMES, LANES), OWN)
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
