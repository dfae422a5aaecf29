// examples/: each folder is checked with the command, and each of its models is called, with a simulator in place of its
// providers.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, expect, test } from 'vitest'
import { sluiceInOneProcess } from '../command.js'
import { KEY, startGateway, startSimulator } from '../harness.js'

const root = join(import.meta.dirname, '..', '..')
const examples = join(root, 'examples')
const folders = readdirSync(examples).filter(name => statSync(join(examples, name)).isDirectory() && name !== 'tutorial')
const sluice = sluiceInOneProcess()
const scratch = mkdtempSync(join(tmpdir(), 'sluice-examples-'))
const simulator = await startSimulator({ listen: '127.0.0.1:0' })
afterAll(async () => {
  await simulator.close()
  rmSync(scratch, { recursive: true, force: true })
})

interface File {
  upstreams: Record<string, { provider: string; secret: string; base?: string }>
  models: Record<string, { targets: { upstream: string; model?: string }[] }>
  keys?: unknown
  listen?: unknown
}

/** The overlay's files, with the addresses and paths that a simulator has. */
function overlayOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.includes('/') && name.endsWith('.yaml'))
  return Object.fromEntries(files.map(name => [name, readFileSync(join(folder, name), 'utf8').replace('/v2/chat', '/v1/chat/completions')]))
}

test('the list names each example', () => {
  expect(folders.length).toBeGreaterThan(4)
  const list = readFileSync(join(examples, 'README.md'), 'utf8')
  for (const name of folders) expect(list).toContain(`(${name}/gateway.yaml)`)
})

test.each(folders)('%s has no findings, and serves each of its models', async name => {
  const folder = join(examples, name)
  const copy = join(scratch, name)
  for (const [path, text] of [...Object.entries(overlayOf(folder)), ['gateway.yaml', readFileSync(join(folder, 'gateway.yaml'), 'utf8')]]) {
    mkdirSync(dirname(join(copy, path as string)), { recursive: true })
    writeFileSync(join(copy, path as string), text as string)
  }
  const checked = await sluice(['check', '--no-env', '--strict'], copy)
  expect(checked).toMatchObject({ code: 0, err: '' })
  const { keys: _, listen: __, ...file } = load(readFileSync(join(folder, 'gateway.yaml'), 'utf8')) as File
  for (const upstream of Object.values(file.upstreams)) Object.assign(upstream, { base: simulator.url, secret: 'none' })
  const asked = Object.keys(file.models)
  for (const model of Object.values(file.models)) for (const target of model.targets) target.model = 'sim'
  const key = { name: 'test', value: KEY, groups: ['default', ...Object.keys((file as { groups?: object }).groups ?? {})] }
  const gateway = await startGateway({ ...file, keys: [key] }, overlayOf(folder))
  for (const model of asked) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    })
    expect({ model, status: response.status, body: await response.json() }).toMatchObject({ status: 200, body: { choices: [{}] } })
  }
  await gateway.close()
})
