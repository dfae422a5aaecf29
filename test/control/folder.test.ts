// The folder of an instance: two instances with one folder, and files in it that cannot be used.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Stage, until } from './stage.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

/** Starts an instance without waiting for it; `line` waits for a line of its log. */
function spawnIn(
  folder: string,
  file?: Record<string, unknown>,
): { line(text: string): Promise<string | undefined>; stop(): Promise<void> } {
  const { child } = stage.spawn(folder, file)
  const log: string[] = []
  child.stdout?.on('data', part => void log.push(...String(part).split('\n')))
  return {
    line: text =>
      until(
        async () => log.find(one => one.includes(text)),
        found => found !== undefined,
      ),
    async stop() {
      const ended = new Promise(done => child.once('exit', done))
      child.kill('SIGTERM')
      await ended
    },
  }
}

test('a second instance uses neither the keys nor the ledger of the first, and takes the folder after it', async () => {
  const first = await stage.start()
  const { body: made } = await first.admin<{ secret: string }>('POST', '/keys', { name: 'stored' })
  const { line, stop } = spawnIn(first.folder)
  try {
    expect(await line('another instance uses the folder')).toBeDefined()
    const { url } = JSON.parse((await line('"msg":"listening"')) as string) as { url: string }
    expect((await ask(url, FILE_KEY)).status).toBe(200)
    expect((await ask(url, made.secret)).status).toBe(503)
    // The rows of the first one come in the order of their exchanges.
    expect((await ask(first.url, made.secret)).status).toBe(200)
    const rows = await until(
      async () => (await first.admin<{ exchanges: { key: string }[] }>('GET', '/exchanges')).body.exchanges,
      found => found.length > 0,
    )
    expect(rows.map(({ key }) => key)).toEqual(['stored'])
    await first.stop()
    expect(await line('control process is ready')).toBeDefined()
    const status = await until(
      async () => (await ask(url, made.secret)).status,
      found => found === 200,
    )
    expect(status).toBe(200)
  } finally {
    await stop()
  }
})

test('a store whose amounts are in another currency is not used', async () => {
  const dollars = await stage.start()
  const { body: made } = await dollars.admin<{ secret: string }>('POST', '/keys', { name: 'stored' })
  await dollars.stop()
  const { line, stop } = spawnIn(dollars.folder, { currency: 'EUR' })
  try {
    expect(await line('no keys of the store')).toContain("The store's amounts are in USD, and `currency` is EUR.")
    const { url } = JSON.parse((await line('"msg":"listening"')) as string) as { url: string }
    expect([(await ask(url, FILE_KEY)).status, (await ask(url, made.secret)).status]).toEqual([200, 503])
  } finally {
    await stop()
  }
  const again = await stage.start({ currency: 'USD' }, dollars.folder)
  expect((await ask(again.url, made.secret)).status).toBe(200)
})

const TEXT = 'This is no database. '.repeat(99)

/** A database whose middle is overwritten: its first page, which is read when it is opened, is intact. */
function writeDamaged(path: string): void {
  const database = new DatabaseSync(path)
  database.exec('create table batch (id integer primary key autoincrement, size integer not null, records blob not null)')
  const insert = database.prepare('insert into batch (size, records) values (3000, ?)')
  for (let row = 0; row < 100; row++) insert.run(new Uint8Array(3000))
  database.close()
  const bytes = readFileSync(path)
  writeFileSync(path, bytes.fill(0xff, 4096, 16_384))
}

test.each([
  ['is not a database', (path: string) => writeFileSync(path, TEXT)],
  ['is damaged inside', writeDamaged],
])('a spool that %s is moved aside, and the store is used', async (_name, spoil) => {
  const before = await stage.start()
  const { body: made } = await before.admin<{ secret: string }>('POST', '/keys', { name: 'stored' })
  await before.stop()
  const data = join(before.folder, 'data')
  const spool = join(data, 'spool.sqlite')
  for (const more of ['', '-wal', '-shm']) rmSync(spool + more, { force: true })
  spoil(spool)
  const bad = readFileSync(spool)
  const after = await stage.start({}, before.folder)
  expect((await ask(after.url, made.secret)).status).toBe(200)
  const rows = await until(
    async () => (await after.admin<{ exchanges: { key: string }[] }>('GET', '/exchanges')).body.exchanges,
    found => found.length > 0,
  )
  expect(rows.map(({ key }) => key)).toEqual(['stored'])
  const aside = readdirSync(data).filter(name => name.startsWith('spool.sqlite.broken-'))
  expect(aside).toHaveLength(1)
  expect(readFileSync(join(data, aside[0] as string)).equals(bad)).toBe(true)
  const told = after.log.map(line => JSON.parse(line) as { msg: string; file?: string }).find(({ msg }) => msg.includes('moved aside'))
  expect(told?.file).toBe(join(data, aside[0] as string))
})

test.each([
  ['spool.sqlite', (path: string): void => void mkdirSync(path)],
  ['lock.sqlite', (path: string): void => writeFileSync(path, TEXT)],
])('a %s that cannot be used is named, and keys of the file are served until it can be', async (name, spoil) => {
  const before = await stage.start()
  const { body: made } = await before.admin<{ secret: string }>('POST', '/keys', { name: 'stored' })
  await before.stop()
  const path = join(before.folder, 'data', name)
  for (const more of ['', '-wal', '-shm']) rmSync(path + more, { force: true })
  spoil(path)
  const { line, stop } = spawnIn(before.folder)
  try {
    const { url } = JSON.parse((await line('"msg":"listening"')) as string) as { url: string }
    const { msg } = JSON.parse((await line('no keys of the store and no ledger')) as string) as { msg: string }
    expect(msg).toContain(`The file ${path} cannot be used`)
    expect((await ask(url, FILE_KEY)).status).toBe(200)
    expect((await ask(url, made.secret)).status).toBe(503)
    rmSync(path, { recursive: true })
    const { status } = await until(
      () => ask(url, made.secret),
      response => response.status === 200,
    )
    expect(status).toBe(200)
  } finally {
    await stop()
  }
})
