// Limits in gateway.yaml: their meaning, and their errors, all at once and with places.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type * as ConfigModule from '../../cli/config/config.js'
import type * as RegistryModule from '../../engine/limits/registry.js'
import { plan } from '../engine/plan.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, path)).href
const { loadConfig } = (await import(built('dist/cli/config/config.js'))) as typeof ConfigModule
const { mergeRateLimits } = (await import(built('dist/engine/limits/registry.js'))) as typeof RegistryModule

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function load(text: string): ReturnType<typeof loadConfig> {
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, text)
  return loadConfig(path, plan, 'gateway.yaml')
}

const found = (text: string): Promise<string[]> =>
  load(text).then(
    () => [],
    (error: Error) => error.message.split('\n'),
  )

test('limits of keys, groups, models and upstreams are read, beside what else their limits say', async () => {
  process.env.SLUICE_TEST_STATE = 'rediss://:password@redis.example:6380/2'
  const { gateway, settings } = await load(`
state: $SLUICE_TEST_STATE
key_limits: { requests: 10/1m, in_flight: 3 }
groups:
  students:
    limits: { tokens: [200000/1m, 5000000/24h] }
    key_limits: { requests: 5/1m }
  staff: {}
keys:
  - { name: one, value: a, groups: [staff, students] }
  - { name: two, value: b }
  - { name: three, value: c, limits: { requests: none, in_flight: none, output_tokens: 7/500ms } }
upstreams:
  up: { provider: openai, secret: none, limits: { connect: 2s, in_flight: 100, input_tokens: 1000000/1m } }
models:
  m: { targets: [{ upstream: up }], groups: [students, default], limits: { max_output: 10, requests: 1/1h } }
`)
  expect(settings.state).toBe('rediss://:password@redis.example:6380/2')
  expect(gateway.keys.map(key => key.rateLimits)).toEqual([
    undefined,
    undefined,
    { requests: null, inFlight: null, outputTokens: [{ amount: 7, window: 500 }] },
  ])
  expect(gateway.keyLimits).toEqual({ requests: [{ amount: 10, window: 60_000 }], inFlight: 3 })
  // What a key omits comes from its groups, then from the file; null removes it.
  expect(mergeRateLimits([undefined, gateway.groups?.staff?.keyLimits, gateway.groups?.students?.keyLimits, gateway.keyLimits])).toEqual({
    requests: [{ amount: 5, window: 60_000 }],
    inFlight: 3,
  })
  expect(mergeRateLimits([gateway.keys[2]?.rateLimits, gateway.keyLimits])).toEqual({ outputTokens: [{ amount: 7, window: 500 }] })
  expect({ ...gateway.groups }).toEqual({
    students: {
      rateLimits: {
        tokens: [
          { amount: 200_000, window: 60_000 },
          { amount: 5_000_000, window: 86_400_000 },
        ],
      },
      keyLimits: { requests: [{ amount: 5, window: 60_000 }] },
    },
    staff: {},
  })
  expect(gateway.upstreams.up).toMatchObject({
    limits: { connect: 2_000 },
    rateLimits: { inFlight: 100, inputTokens: [{ amount: 1_000_000, window: 60_000 }] },
  })
  expect(Object.keys(gateway.upstreams.up?.limits ?? {})).toEqual(['connect'])
  // Model lists show what a model can, not what callers may ask of it.
  expect(gateway.models.m).toMatchObject({ limits: { max_output: 10 }, rateLimits: { requests: [{ amount: 1, window: 3_600_000 }] } })
  expect(gateway.models.m?.limits).toEqual({ max_output: 10 })
})

test('without groups and limits a file is what it was', async () => {
  const { gateway, settings } = await load('keys: [{ name: one, value: a, groups: [anything] }]\n')
  expect(gateway.keys[0]).not.toHaveProperty('rateLimits')
  expect(settings).not.toHaveProperty('state')
})

test('a wrong notation is found, with the right one', async () => {
  const findings = await found(`
key_limits: { requests: 60 per minute }
groups: { students: { limit: { requests: 60/1m } } }
keys:
  - { name: one, value: a, limits: { in_flight: 0, tokens: 1.5/1m, requests: [] } }
upstreams:
  up: { provider: openai, secret: none, limits: { request: 5/1m } }
models:
  m: { targets: [{ upstream: up }], limits: { requests: 0/1m } }
`)
  const places = findings.map(line => line.split('  ')[0])
  expect(places).toEqual([
    'gateway.yaml:2:25',
    'gateway.yaml:3:23',
    'gateway.yaml:5:49',
    'gateway.yaml:5:60',
    'gateway.yaml:5:78',
    'gateway.yaml:7:51',
    'gateway.yaml:9:57',
  ])
  expect(findings[0]).toContain('60/1m')
  expect(findings[1]).toMatch(/use one of: .*limits, key_limits/)
  expect(findings[5]).toMatch(/"request" is not a key here .*requests/)
})

test('names of no group, two limits of one window and a state that is no address are found together', async () => {
  process.env.SLUICE_TEST_STATE = 'http://user:password@redis.example'
  const findings = await found(`
state: $SLUICE_TEST_STATE
groups: { students: {} }
keys:
  - { name: one, value: a, groups: [default, student], limits: { tokens: [5/1m, 7/60s, 1/1h] } }
upstreams: { up: { provider: openai, secret: none } }
models: { m: { targets: [{ upstream: up }], groups: [staff] } }
`)
  expect(findings).toEqual([
    'gateway.yaml:2:8  state/address  the value is not the address of a Redis  write one such as redis://127.0.0.1:6379/0',
    'gateway.yaml:5:46  names/group  there is no group student  did you mean students? else use one of: default, students',
    'gateway.yaml:5:81  limits/window  5/1m and 7/60s limit the same window  keep one of them',
    'gateway.yaml:7:54  names/group  there is no group staff  use one of: default, students',
  ])
})

test('what docs/limits.md shows can be served', async () => {
  Object.assign(process.env, { SLUICE_CI_KEY: 'a', SLUICE_TEAM_KEY: 'b', OPENAI_API_KEY: 'c', SLUICE_REDIS: 'valkey://redis.example' })
  const blocks = [...readFileSync(join(root, 'docs', 'limits.md'), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text]) => text as string,
  )
  expect(blocks).toHaveLength(2)
  for (const block of blocks) expect(await found(block)).toEqual([])
})
