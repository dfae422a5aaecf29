// `patch` of gateway.yaml: errors are found at their position, and `sluice explain` shows the effect.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type * as ExplainModule from '../../cli/explain/explain.js'
import type * as PrepareModule from '../../cli/prepare.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '../../dist', path)).href
const { prepare } = (await import(built('cli/prepare.js'))) as typeof PrepareModule
const { explain } = (await import(built('cli/explain/explain.js'))) as typeof ExplainModule

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function file(models: string): string {
  const path = join(folder, 'gateway.yaml')
  const upstreams = 'upstreams: { one: { provider: anthropic, secret: s } }'
  writeFileSync(path, `keys: [{ name: me, value: key-of-mine }]\n${upstreams}\nmodels:\n  m:\n${models}`)
  return path
}

test.each([
  ['a dialect that the upstream does not speak', "    patch: { chat: '$' }\n    targets: [{ upstream: one }]\n", 'model/patch', [5, 21]],
  ['a patch of a target', "    targets: [{ upstream: one, patch: { chat: '$' } }]\n", 'model/patch', [5, 48]],
  ['an invalid expression', "    patch: '{ '\n    targets: [{ upstream: one }]\n", 'jsonata/S0203', [5, 14]],
  ['an unknown function', "    targets: [{ upstream: one }]\n    patch: { messages: '$nowhere()' }\n", 'jsonata/undeclared', [6, 25]],
])('%s is found at its position', async (_name, models, rule, [line, column]) => {
  const path = file(models)
  const { findings } = await prepare(path).then(
    () => ({ findings: [] as unknown[] }),
    error => error as { findings: unknown[] },
  )
  expect(findings).toEqual([expect.objectContaining({ rule, line, column })])
})

test('`sluice explain` shows the request that is sent', async () => {
  const config = file(
    `    targets: [{ upstream: one, patch: '$merge([$, { "system": "Be brief." }])' }]\n    defaults: { max_tokens: 7 }\n`,
  )
  const input = join(folder, 'request.json')
  writeFileSync(input, JSON.stringify({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }))
  const { json, text } = await explain({ config, input, path: '/v1/messages', key: 'me' })
  expect(json).toMatchObject({
    targets: [
      {
        patch: expect.stringContaining('patched'),
        request: { before: { messages: [{ content: 'Hi' }] }, after: { system: 'Be brief.', max_tokens: 5 } },
      },
    ],
  })
  expect(text).toContain('Be brief.')
})
