// The fault suite, and a check that it detects violations.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type { Scenario } from '../../cli/faults/scenarios.js'
import type * as FaultsModule from '../../cli/faults.js'
import { type Ended, MAIN, sluice } from '../command.js'

const root = join(import.meta.dirname, '../..')
const { casesOf, pairwise, runCases } = (await import(pathToFileURL(join(root, 'dist/cli/faults.js')).href)) as typeof FaultsModule
const all = await casesOf(undefined)

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the suite', () => {
  test('has every scenario for each of six dialects before each of them, and for one that only passes, whole and streamed', () => {
    const kinds = new Set(
      all.map(({ client, column, scenario }) => `${client.dialect} ${column} ${client.mode === 'json'} ${scenario.name}`),
    )
    const scenarios = new Set(all.map(({ scenario }) => scenario.name)).size
    expect(scenarios).toBeGreaterThanOrEqual(16)
    expect(kinds.size).toBe((6 * 6 + 1) * 2 * scenarios)
  })

  test('passes, in a part that has each scenario, client and upstream', { timeout: 600_000 }, async () => {
    const results = await runCases(pairwise(all))
    expect(results.length).toBeGreaterThan(100)
    expect(results.filter(({ findings }) => findings.length > 0).map(({ case: { id }, findings }) => ({ id, findings }))).toEqual([])
  })
})

// What the gateway does is right; what is claimed of it here is not.
const wrong: [string, Omit<Scenario, 'name' | 'title'>, RegExp][] = [
  ['that a good answer fails', { first: [{ fails: 'upstream' }] }, /status 200 in place of 502|before it was given up/],
  ['another kind of failure', { first: [{ status: 429, fails: 'timeout' }] }, /one timeout/],
  ['that a failure which moves on is final', { first: [{ status: 500, fails: 'upstream', final: true }] }, /more calls behind one/],
  ['that a stream which ends is broken', { first: [{ breaks: 'upstream' }] }, /looks as if it had ended/],
  ['that a refusal moves on', { first: [{ refusal: 'content_filter', fails: 'invalid_request' }] }, /1 of 2 targets were asked/],
  ['other words', { first: [{ refusal: 'content_filter', fails: 'rate_limit', final: true }] }, /of type|status/],
]

describe('a claim that does not hold is found', () => {
  test.each(wrong)('%s', async (_name, written, found) => {
    const [streamed] = all.filter(({ id }) => id === '500-once.chat.sse.messages.pair')
    const [{ findings = [] } = {}] = await runCases([
      { ...streamed, scenario: { name: 'wrong', title: 'wrong', ...written } } as (typeof all)[number],
    ])
    expect(findings.join('\n')).toMatch(found)
  })
})

describe('the command', () => {
  const run = (...args: string[]): Promise<Ended> => sluice(['faults', ...args], root)
  const file = (text: string): string => {
    const path = join(folder, `${Math.random()}.yaml`)
    writeFileSync(path, text)
    return path
  }

  test("runs with an operator's own file, without calling its providers", async () => {
    const config = file(`
keys: [{ name: team, value: key-of-the-team }]
upstreams:
  claude: { provider: anthropic, secret: secret-of-claude, base: 'http://192.0.2.1' }
  gpt: { provider: openai, secret: secret-of-gpt, limits: { headers: 10m } }
models:
  assistant: { groups: [staff], targets: [{ upstream: claude, model: claude-haiku-4-5 }, { upstream: gpt, model: gpt-5-mini, priority: 2 }] }
`)
    const { code, out } = await run('--config', config, '--only', 'fallback-refuses')
    expect(out).toMatch(/Upstreams, from left to right: assistant\./)
    expect(out.trimEnd().split('\n').at(-1)).toMatch(/^13 passed, 0 failed$/)
    expect(code).toBe(0)
  })

  test.skipIf(!existsSync('/usr/bin/script'))(
    'needs no store and no identity provider of the file, and shows on a terminal how far it is',
    () => {
      const config = file(`
keys: [{ name: team, value: key-of-the-team, budget: 1/day }]
store: { folder: ${join(folder, 'store')} }
admin: { listen: '127.0.0.1:1' }
state: redis://127.0.0.1:1
jwt: { issuer: 'https://id.example.com', audience: sluice, jwks: 'https://192.0.2.1/keys' }
budgets: { all: 0.0001/day }
upstreams: { gpt: { provider: openai, secret: secret-of-gpt } }
models: { assistant: { targets: [{ upstream: gpt, model: gpt-5-mini }] } }
`)
      const words = `${process.execPath} ${MAIN} faults --config ${config} --only 500`
      const begun = performance.now()
      const { stdout, status } = spawnSync('/usr/bin/script', ['-qec', words, '/dev/null'], { encoding: 'utf8' })
      expect(stdout).toMatch(/\r1 of \d+ cases\r/)
      expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d+ passed, 0 failed/)
      expect(status).toBe(0)
      // Each case that waited for the store would take half a second at least.
      expect(performance.now() - begun).toBeLessThan(20_000)
      expect(existsSync(join(folder, 'store'))).toBe(false)
    },
  )

  test('an invalid file is reported with places', async () => {
    const { code, err } = await run('--config', file('models: { m: { targets: [{ upstream: nobody }] } }\n'))
    expect(code).toBe(1)
    expect(err).toMatch(/\.yaml:1:\d+ {2}names\/upstream/)
  })

  test('without a case it fails', async () => {
    const { code, out } = await run('--only', 'nothing-of-the-kind')
    expect(out.trimEnd().split('\n').at(-1)).toBe('0 passed, 0 failed')
    expect(code).toBe(1)
  })
})
