// What the documentation shows is run: the files that an operator would copy, and the line to try.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { load } from 'js-yaml'
import { afterAll, expect, test } from 'vitest'
import type * as DefaultsModule from '../../cli/defaults.js'
import type * as GatewayModule from '../../cli/gateway.js'
import { KEY, startGateway, startSimulator } from '../harness.js'

const root = join(import.meta.dirname, '../..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { prepare } = (await import(built('cli/gateway.js'))) as typeof GatewayModule
const { DEMO_KEY } = (await import(built('cli/defaults.js'))) as typeof DefaultsModule

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'sluice-docs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The blocks of a language in a page. */
const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(found => found[1] as string)

const examples: [string, string][] = [
  ['gateway.example.yaml', readFileSync(join(root, 'gateway.example.yaml'), 'utf8')],
  ...blocks(readme, 'yaml').map((text, index): [string, string] => [`README.md, block ${index + 1}`, text]),
  ...blocks(readFileSync(join(root, 'docs/parameters.md'), 'utf8'), 'yaml').map((text): [string, string] => ['docs/parameters.md', text]),
]

test.each(examples)('%s is a file that can be served', async (name, text) => {
  for (const [, variable] of text.matchAll(/\$([A-Z_]+)/g)) process.env[variable as string] ??= `value-of-${variable as string}`
  const path = join(folder, `${name.replaceAll(/\W/g, '_')}.yaml`)
  writeFileSync(path, text)
  const { snapshot } = await prepare(path)
  expect(snapshot.models.size).toBeGreaterThan(0)
  await snapshot.close()
})

test('no example holds the hash of a key: who copies it would open a gateway to whoever knows the key', () => {
  for (const [, text] of examples) expect(text).not.toMatch(/[0-9a-f]{64}/)
})

test('the line to try is answered, with the key and the model that it shows', async () => {
  const line = /curl (http:\S+) (.*) -d '(.*)'/.exec(readme) as RegExpExecArray
  expect(line[2]).toContain(`Bearer ${DEMO_KEY}`)
  const simulator = await startSimulator({ listen: '127.0.0.1:0' })
  const { model } = load(line[3] as string) as { model: string }
  const gateway = await startGateway({
    upstreams: { sim: { provider: 'openai', base: simulator.url, secret: 'none', models: [model] } },
  })
  const response = await fetch(gateway.url + new URL(line[1] as string).pathname, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: line[3] as string,
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toHaveProperty('choices')
  await gateway.close()
  await simulator.close()
})

test('what the pages link to is there', () => {
  for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/data-language.md', 'docs/commands.md']) {
    const text = readFileSync(join(root, page), 'utf8')
    for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)\)/g))
      expect(() => readFileSync(join(root, page, '..', target as string)), `${page} → ${target as string}`).not.toThrow()
  }
})
