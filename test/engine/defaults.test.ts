// Defaults are those of schemas/config: in the process, and in requests to providers.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { load } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import type * as ConfigModule from '../../cli/config/config.js'
import type * as UnitsModule from '../../codegen/read/units.js'
import type { RouteLimits } from '../../schemas/config/types.js'
import { dialects } from './dialects.js'
import { ask, setUp } from './fake-upstreams.js'
import { plan } from './plan.js'
import { json } from './upstream.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { loadConfig } = (await import(built('cli/config/config.js'))) as typeof ConfigModule
const { milliseconds, size } = (await import(built('codegen/read/units.js'))) as typeof UnitsModule

interface Keys {
  properties: Record<string, { default?: unknown; properties?: Keys['properties'] }>
}
const spec = (name: string): Keys & { $defs: Record<string, Keys> } =>
  load(readFileSync(join(root, 'schemas/config', `${name}.yaml`), 'utf8')) as ReturnType<typeof spec>

const folder = mkdtempSync(join(tmpdir(), 'sluice-defaults-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['no keys', '{}'],
  ['one key', 'workers: 1'],
])('a file with %s has the defaults of the spec', async (_what, text) => {
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, text)
  const { settings, gateway } = await loadConfig(path, plan, path)
  const { listen, grace, workers, log, max_output, fetch } = spec('gateway').properties
  expect(`${settings.host}:${settings.port}`).toBe(listen?.default)
  expect(settings).toMatchObject({
    grace: milliseconds(String(grace?.default)),
    workers: workers?.default,
    logLevel: log?.properties?.level?.default,
    isAccessLogged: log?.properties?.access?.default,
  })
  expect(gateway).toMatchObject({
    keys: [],
    limits: {},
    maxOutput: max_output?.default,
    mayFetchPrivate: fetch?.properties?.private?.default,
  })
})

test('a text that is short for an object means the defaults of that object', async () => {
  const path = join(folder, 'short.yaml')
  writeFileSync(path, 'store: sqlite\nkeys: [{ name: a, value: the-key-of-a, budget: [1/day, { limit: 2/month, when_spent: warn }] }]\n')
  const { settings, gateway } = await loadConfig(path, plan, path)
  const { store, budgets } = spec('gateway').properties
  const usual = spec('gateway').$defs.budget?.properties
  expect(settings.store).toMatchObject({
    folder: join(folder, String(store?.properties?.folder?.default)),
    mayMigrate: store?.properties?.migrate?.default === 'auto',
  })
  expect(gateway.keys[0]?.budgets).toEqual([
    { limit: 1e9, every: 'day', zone: budgets?.properties?.zone?.default, whenSpent: usual?.when_spent?.default },
    { limit: 2e9, every: 'month', zone: budgets?.properties?.zone?.default, whenSpent: 'warn' },
  ])
  const { step, whole, bytes_per_token, partial } = budgets?.properties ?? {}
  expect(gateway.budgets).toMatchObject({
    step: step?.default,
    whole: whole?.default,
    bytesPerToken: bytes_per_token?.default,
    partial: partial?.default,
  })
})

test('a model that an upstream lists has the defaults of a model, whatever its name', async () => {
  const path = join(folder, 'models.yaml')
  const names = ['m', 'constructor', '__proto__']
  writeFileSync(path, `upstreams: { a: { provider: openai, secret: none, models: [${names.join(', ')}] } }`)
  const { models } = (await loadConfig(path, plan, path)).gateway
  expect(Object.keys(models)).toEqual(names)
  for (const name of names)
    expect(models[name]).toMatchObject({
      targets: [{ upstream: 'a', weight: 1, priority: 1, traits: {} }],
      groups: ['default'],
      unsupported: 'drop',
      traits: {},
      routing: { choose: 'weighted', retry: { baseInterval: 250, maxInterval: 10_000, budget: { percent: 20, minPerSecond: 10 } } },
    })
})

test('a route without limits has the default limits of the spec', () => {
  const route = plan.routes.find(({ name }) => name === 'root') ?? plan.routes.find(({ paths }) => paths.includes('/'))
  const limits = spec('route').$defs.limits?.properties as Record<keyof RouteLimits, { default: string }>
  expect(route?.limits).toEqual(
    Object.fromEntries(
      Object.entries(limits).map(([name, { default: text }]) => [name, name === 'body' ? size(text) : milliseconds(text)]),
    ),
  )
})

describe('a provider that requires an output limit gets', () => {
  test.each<[string, Record<string, unknown>, number | undefined, number]>([
    ['the default', {}, undefined, Number(spec('gateway').properties.max_output?.default)],
    ["the operator's", { max_output: 1234 }, undefined, 1234],
    ["the model's", { max_output: 1234 }, 77, 77],
  ])('%s', async (_what, more, limit, expected) => {
    const { gateway, upstreams } = await setUp(
      [socket => json(socket, 200, dialects.messages.answer)],
      { ...more, models: { m: { targets: [{ upstream: 'up0' }], ...(limit !== undefined && { limits: { max_output: limit } }) } } },
      'anthropic',
    )
    expect((await ask(gateway)).status).toBe(200)
    expect(JSON.parse(upstreams[0]?.requests[0]?.body ?? '')).toMatchObject({ max_tokens: expected })
  })
})
