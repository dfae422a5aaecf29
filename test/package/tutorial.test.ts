// docs/tutorial.md, followed in an empty folder by a user with the packed package: its files are written and its commands run.
// No TypeScript, nothing of this checkout but the client's SDK.

import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../cli/ports.js'
import { type Block, blocksOf, Shell, writeBlock } from '../docs-page.js'
import { type Installed, installed } from './installed.js'

const root = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'sluice-tutorial-'))
let user: Installed
let shell: Shell
/** In place of the ports of the page. */
const ports: Record<string, number> = {}

beforeAll(async () => {
  user = await installed()
  for (const port of ['8080', '9090']) ports[port] = await freePort()
  // The result of `npm install sluice openai` and of copying the vendor's server.
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(user.folder, 'node_modules', 'sluice'), join(folder, 'node_modules', 'sluice'))
  symlinkSync(join(root, 'node_modules', 'openai'), join(folder, 'node_modules', 'openai'))
  copyFileSync(join(root, 'examples', 'tutorial', 'vendor.mjs'), join(folder, 'vendor.mjs'))
  const path = [join(user.folder, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  shell = new Shell(folder, { ...process.env, PATH: path })
})
afterAll(() => {
  shell?.end()
  rmSync(folder, { recursive: true, force: true })
})

/** What the page says that comes out, behind a command. */
const SAID: [command: string, said: string][] = [
  ['node judge.mjs', '[ false, true ]'],
  ['node chat.mjs', '9 tokens at most | changed: max_completion_tokens as max_new_tokens, seed'],
  ['node film.mjs', 'completed the bytes of a film'],
  ['node write.mjs', 'Once upon length\nOnce upon a time'],
]

test('the tutorial works as it is written', async () => {
  const blocks = blocksOf(readFileSync(join(root, 'docs', 'tutorial.md'), 'utf8'))
  const outputs = new Map<string, string>()
  const follow = async ({ language, path, text }: Block): Promise<void> => {
    const here = text.replaceAll(/\b(8080|9090)\b/g, port => String(ports[port]))
    if (path !== undefined) return writeBlock(folder, path, here)
    if (language !== 'bash') return
    // A program of the client's waits until the gateway has taken what was written.
    if (!here.startsWith('node ') || here.trim().endsWith('&')) outputs.set(text, await shell.run(here))
    else outputs.set(text.replace(/ *#.*\n/, ''), await shell.runUntilGood(here))
  }
  for (const block of blocks) await follow(block)
  for (const [command, said] of SAID) expect(outputs.get(command)?.trim(), command).toBe(said)
  const tested = [...outputs].filter(([command]) => command.includes('sluice test')).map(([, said]) => said)
  expect(tested.at(-1)).toContain('4 mappings, 9 cases, 0 failed; 2 of 2 steps fired')
  expect(
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => /\.[cm]?ts$/.test(name) && !name.startsWith('node_modules')),
  ).toEqual([])
})
