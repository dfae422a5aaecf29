// The cases of the suite: each scenario for each client and each model. Without a configuration there is a model for each
// pair of dialects: one with two targets, and one with a single target.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import type { Plan } from '../../engine/plan.js'
import type { GatewayConfig, ModelConfig, UpstreamConfig } from '../../engine/snapshot/config.js'
import { pairOf } from '../../engine/snapshot/pairs.js'
import { type Loaded, loadConfig } from '../config/config.js'
import type { Dialect } from '../simulator/dialects.js'
import { type Client, clientsOf } from './client.js'
import type { Scenario } from './scenarios.js'

/** One scenario, one client, one model. */
export interface Case {
  id: string
  scenario: Scenario
  client: Client
  model: string
  /** The column of the report: the dialect of its upstreams, or its name. */
  column: string
  loaded: Loaded
  plan: Plan
  /** The number of targets that can serve the client. */
  targets: number
}

/** Short deadlines for every upstream, in milliseconds, so that faults are fast. */
const DEADLINES = { connect: 3_000, headers: 1_000, first_event: 1_000, idle: 1_000, total: 30_000 }

/** The cases of all pairs of dialects that the simulator speaks. */
export async function builtInCases(plan: Plan, known: readonly Dialect[], scenarios: readonly Scenario[]): Promise<Case[]> {
  const clients = clientsOf(plan, known)
  const cases: Case[] = []
  for (const upstream of new Set(clients.map(({ dialect }) => dialect))) {
    const narrowed = speakingOnly(plan, upstream)
    if (narrowed === undefined) continue
    const loaded = await load(narrowed.plan, {
      upstreams: Object.fromEntries(
        ['one', 'two', 'only'].map(name => [name, { provider: narrowed.provider, secret: `secret-of-${name}` }]),
      ),
      models: { pair: { targets: [{ upstream: 'one' }, { upstream: 'two', priority: 2 }] }, single: { targets: [{ upstream: 'only' }] } },
    })
    for (const client of clients) {
      if (client.dialect !== upstream && plan.mappings[pairOf(client.dialect, upstream)] === undefined) continue
      cases.push(...crossed(scenarios, client, ['pair', 'single'], upstream, loaded, narrowed.plan))
    }
  }
  return cases
}

/**
 * The cases of a configuration: each of its models, for each client dialect that it serves. Its limits are shortened, its
 * upstreams' addresses are replaced, and a key of the suite is added; all else stays.
 */
export async function ownCases(path: string, plan: Plan, known: readonly Dialect[], scenarios: readonly Scenario[]): Promise<Case[]> {
  const loaded = await loadConfig(path, plan, path)
  const clients = clientsOf(plan, known)
  return clients.flatMap(client =>
    Object.keys(loaded.gateway.models).flatMap(model => crossed(scenarios, client, [model], model, loaded, plan)),
  )
}

/** Reduces the cases so that each scenario still meets each client and each upstream. */
export function pairwise(cases: readonly Case[]): Case[] {
  const numbers = (of: (one: Case) => string): Map<string, number> =>
    new Map([...new Set(cases.map(of))].map((name, index) => [name, index]))
  const [scenarios, clients, columns] = [
    numbers(({ scenario }) => scenario.name),
    numbers(({ client }) => client.dialect),
    numbers(({ column }) => column),
  ]
  const seen = new Map<string, number>()
  return cases.filter(({ scenario, client, column }) => {
    const sum = (scenarios.get(scenario.name) ?? 0) + (clients.get(client.dialect) ?? 0) + (columns.get(column) ?? 0)
    if (sum % columns.size !== 0) return false
    // Each scenario uses another of the models in one column.
    const key = `${scenario.name} ${client.dialect} ${client.mode} ${column}`
    const count = seen.get(key) ?? 0
    seen.set(key, count + 1)
    return count === (scenarios.get(scenario.name) ?? 0) % 2
  })
}

function crossed(scenarios: readonly Scenario[], client: Client, models: string[], column: string, loaded: Loaded, plan: Plan): Case[] {
  return models.flatMap(model => {
    const targets = targetsOf(loaded.gateway, model, client, plan)
    if (targets === 0) return []
    return scenarios.map(scenario => {
      const id = `${scenario.name}.${client.dialect}.${client.mode}.${column}.${model}`
      return { id, scenario, client, model, column, loaded, plan, targets }
    })
  })
}

/** The number of a model's targets that can serve a client's dialect: their provider speaks it, or one with a mapping from it. */
function targetsOf(gateway: GatewayConfig, model: string, client: Client, plan: Plan): number {
  return (gateway.models[model]?.targets ?? []).filter(({ upstream, weight = 1 }) => {
    const speaks = Object.keys(plan.providers[gateway.upstreams[upstream]?.provider ?? '']?.speaks ?? {})
    return weight > 0 && speaks.some(name => name === client.dialect || plan.mappings[pairOf(client.dialect, name)]?.response !== undefined)
  }).length
}

/** A plan with one more provider, which speaks only this dialect. */
function speakingOnly(plan: Plan, dialect: string): { plan: Plan; provider: string } | undefined {
  const speakers = Object.values(plan.providers).filter(({ speaks, credential, base }) => dialect in speaks && credential.header && base)
  // The provider with the most dialects is probably its author, without deviations.
  const [found] = speakers.sort((one, other) => Object.keys(other.speaks).length - Object.keys(one.speaks).length)
  if (found === undefined) return undefined
  const { [dialect]: endpoint } = found.speaks
  if (endpoint === undefined) return undefined
  const provider = `only-${dialect.replaceAll('_', '-')}`
  const { fallback: _, ...alone } = endpoint
  const own = { ...found, speaks: { [dialect]: alone } }
  return { plan: { ...plan, providers: { ...plan.providers, [provider]: own } }, provider }
}

async function load(plan: Plan, file: Record<string, unknown>): Promise<Loaded> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-faults-'))
  try {
    const path = join(folder, 'gateway.yaml')
    writeFileSync(path, dump({ listen: '127.0.0.1:0', ...file }))
    return await loadConfig(path, plan, path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * A case's configuration: upstreams have the given addresses, deadlines are the suite's times a factor, and the key may use
 * every model. It needs no store, since none runs: budgets would refuse every request.
 */
export function configOf(
  { loaded: { gateway: all } }: Case,
  baseOf: (upstream: string) => string,
  sha256: string,
  slowness: number,
): GatewayConfig {
  const { budgets, keeps, ...gateway } = all
  const deadlines = Object.fromEntries(Object.entries(DEADLINES).map(([name, time]) => [name, time * slowness]))
  const upstreams = Object.fromEntries(
    Object.entries(gateway.upstreams).map(([name, upstream]) => [
      name,
      { ...unbounded(upstream), base: baseOf(name), limits: { ...upstream.limits, ...deadlines } },
    ]),
  )
  const groupsOfAll = Object.entries(gateway.groups ?? {}).map(([name, { budgets: _, ...group }]) => [name, group])
  const groups = [...new Set(['default', ...Object.values(gateway.models).flatMap(({ groups = [] }) => groups)])]
  const key = { name: 'sluice-faults', sha256, groups, enabled: true }
  return {
    ...gateway,
    upstreams,
    ...(gateway.groups && { groups: Object.fromEntries(groupsOfAll) }),
    models: plainly(gateway.models),
    keys: [...gateway.keys, key],
    limits: { ...gateway.limits, ...deadlines },
  }
}

/** An upstream without a queue, and without budgets. */
function unbounded({ concurrency, budgets, ...upstream }: UpstreamConfig): UpstreamConfig {
  return upstream
}

/** Models whose targets are called one after the other for every request, because the suite judges fail-over; without budgets. */
function plainly(models: GatewayConfig['models']): GatewayConfig['models'] {
  const plain: Record<string, ModelConfig> = Object.create(null)
  for (const [name, { routing, budgets, targets, ...model }] of Object.entries(models))
    plain[name] = { ...model, targets: targets.map(({ only, ...target }) => target) }
  return plain
}
