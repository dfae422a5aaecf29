// A platform without a binary of the server's library: one sentence, no stack trace.

import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Ended, run } from '../command.js'

const root = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
const library = join(folder, 'node_modules', 'uWebSockets.js')

// The package as it is installed, but for the binaries.
beforeAll(() => {
  for (const path of ['dist', 'generated', 'package.json']) cpSync(join(root, path), join(folder, path), { recursive: true })
  mkdirSync(library, { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== 'uWebSockets.js' && !name.startsWith('.'))
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  for (const name of readdirSync(join(root, 'node_modules', 'uWebSockets.js')))
    if (/\.(json|js|mjs)$/.test(name)) cpSync(join(root, 'node_modules', 'uWebSockets.js', name), join(library, name))
  writeFileSync(join(folder, 'gateway.yaml'), 'listen: 127.0.0.1:0\n')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const program = join(folder, 'dist', 'bundled', 'cli')
const sluice = (...args: string[]): Promise<Ended> => run(process.execPath, [join(program, 'main.js'), ...args], folder)

test.each([[['start']], [['start', '--config', 'gateway.yaml']], [['simulate']]])(
  '%j ends with one sentence and exit code 3',
  async args => {
    const { code, out, err } = await sluice(...args)
    expect(err).toMatch(
      /^Sluice cannot run with Node [\d.]+ on \w+ \w+, because the binary of its server does not load: [^\n]+\. Use Node 20, [^\n]+\.\n$/,
    )
    expect({ code, out }).toEqual({ code: 3, out: '' })
  },
)

test('`sluice check` works without the binary', async () => {
  expect(await sluice('check', '--config', 'gateway.yaml')).toMatchObject({ code: 0, err: '' })
})

test('any other failure is reported unchanged', async () => {
  appendFileSync(join(program, 'check.js'), "\nthrow new Error('something else')")
  const { code, err } = await sluice('check', '--config', 'gateway.yaml')
  expect({ code, isTold: err.includes('something else') }).toEqual({ code: 1, isTold: true })
})
