// The files of a configuration are watched: a change during a reload is applied after it, and the last one stays.

import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run } from '../../cli/gateway.js'
import { type Good, prepareFrom, read } from '../../cli/prepare.js'
import { type Watch, watchConfig } from '../../cli/watch.js'
import { KEY } from '../harness.js'
import { settle, still, until } from '../polling.js'

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

test('a configuration that takes long to load does not replace one that was taken later', async () => {
  const goodOf = async (model: string): Promise<Good> => {
    const file = join(folder, `${model}.yaml`)
    const models = `models: { ${model}: { targets: [{ upstream: up }] } }`
    const upstreams = 'upstreams: { up: { provider: openai, secret: none } }'
    writeFileSync(file, `listen: 127.0.0.1:0\nkeys: [{ name: test, value: ${KEY} }]\n${upstreams}\n${models}\n`)
    return read(file)
  }
  const first = await goodOf('first')
  const { snapshot, state } = await prepareFrom(first)
  const log = pino({ write: () => undefined })
  const gateway = await run({ settings: first.settings, snapshot, state, good: first, log, isShared: false })
  const loading = 'sluice: loads the plan'
  const plan = join(folder, 'plan.mjs')
  writeFileSync(plan, `await new Promise(done => { globalThis['${loading}'] = done })\nexport * from '${first.plan}'\n`)
  const slow = gateway.take({ ...(await goodOf('older')), plan: pathToFileURL(plan).href })
  const quick = gateway.take(await goodOf('newer'))
  const finish = await until(() => (globalThis as Record<string, unknown>)[loading] as (() => void) | undefined)
  await Promise.race([quick, still(() => 0, 300)])
  finish()
  await Promise.all([slow, quick])
  const listed = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } })
  expect(((await listed.json()) as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['newer'])
  await gateway.close()
})
