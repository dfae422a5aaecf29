// A start whose store cannot be made: it ends in a sentence, before anything is served.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { sluice } from '../command.js'

const root = mkdtempSync(join(tmpdir(), 'sluice-b-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const FILE = `listen: 127.0.0.1:0
keys: [{ name: file, value: key-of-the-file }]
upstreams: { up: { provider: openai, base: 'http://127.0.0.1:9', secret: none } }
models: { sim: { targets: [{ upstream: up }] } }
`

let count = 0
function folderWith(store: string, prepare: (folder: string) => void): string {
  const folder = join(root, String(count++))
  mkdirSync(folder)
  prepare(folder)
  writeFileSync(join(folder, 'gateway.yaml'), `${FILE}store: ${store}\n`)
  return folder
}

test.each([
  ['a folder below a file', '{ folder: gateway.yaml/data }', (): void => undefined, /data cannot be made: ENOTDIR/],
  [
    'a file that is not a database',
    'sqlite',
    (folder: string) => put(folder, 'not a database'.repeat(99)),
    /sluice\.sqlite is not an SQLite database/,
  ],
  [
    'a folder with the name of the file',
    'sqlite',
    (folder: string) => mkdirSync(join(folder, 'data/sluice.sqlite'), { recursive: true }),
    /sluice\.sqlite is not an SQLite database/,
  ],
])('a start ends with a sentence if the store is %s', async (_name, store, prepare, sentence) => {
  for (const workers of ['1', '2']) {
    const { code, out, err } = await sluice(['start', '--workers', workers], folderWith(store, prepare))
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(/^The store cannot be opened: /)
    expect(err).toMatch(sentence)
  }
})

function put(folder: string, text: string): void {
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'sluice.sqlite'), text)
}
