// The files of a configuration are watched: a change during a reload is applied after it.

import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Watch, watchConfig } from '../../cli/watch.js'
import { settle } from '../polling.js'

let folder: string
let config: string
let watched: Watch
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-watch-'))
  config = join(folder, 'gateway.yaml')
  writeFileSync(config, 'upstreams: {}\n')
  watched = watchConfig(config)
})
afterEach(() => {
  watched.close()
  rmSync(folder, { recursive: true, force: true })
})

const written = (secret: string): void => writeFileSync(config, `upstreams: { one: { secret: { file: ${secret} } } }\n`)

test('a file that changes during a reload is applied after it, even if it names other secrets', async () => {
  const taken: number[] = []
  watched.begin(async () => {
    taken.push(taken.length)
    if (taken.length < 3) written(`secret-${taken.length}`)
  })
  written('secret-0')
  expect(await settle(() => taken.length, 3)).toBe(3)
})

test('the file of a secret is watched from the reload that names it', async () => {
  let count = 0
  watched.begin(async () => {
    count++
  })
  writeFileSync(join(folder, 'secret'), 'a')
  written('secret')
  expect(await settle(() => count, 1)).toBe(1)
  writeFileSync(join(folder, 'secret'), 'another')
  expect(await settle(() => count, 2)).toBe(2)
})

test.runIf(process.getuid?.() === 0)('a secret in a folder that may not be entered does not end the watch', async () => {
  chmodSync(folder, 0o755)
  mkdirSync(join(folder, 'private'), { mode: 0o700 })
  writeFileSync(join(folder, 'private', 'key'), 'a')
  written('private/key')
  let count = 0
  chownSync(config, 65534, 65534)
  process.seteuid?.(65534)
  try {
    const other = watchConfig(config)
    expect(other.hasChanged()).toBe(false)
    other.begin(async () => {
      count++
    })
    written('key')
    expect(await settle(() => count, 1)).toBe(1)
    other.close()
  } finally {
    process.seteuid?.(0)
  }
})
