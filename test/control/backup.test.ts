// A copy of a store in use, and its restoration; and the advice for Postgres.

import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Kysely } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Instance, type Stage, until } from './stage.js'
import { engineAt, migratorOf, openStore } from './stores.js'

let stage: Stage
let gateway: Instance
beforeAll(async () => {
  stage = await createStage()
  gateway = await stage.start()
})
afterAll(() => stage?.close())

const exchanges = async (instance: Instance): Promise<number> =>
  (await instance.admin<{ exchanges: unknown[] }>('GET', '/exchanges?limit=200')).body.exchanges.length
const command = (...words: string[]): ReturnType<Instance['command']> => gateway.command('store', ...words)

test('a copy that is made under load is complete and can be restored', async () => {
  const { body: made } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'kept' })
  await ask(gateway.url, made.secret)
  await until(
    () => exchanges(gateway),
    count => count === 1,
  )
  let isOver = false
  const load = (async () => {
    while (!isOver) await Promise.all(Array.from({ length: 4 }, async () => (await ask(gateway.url, FILE_KEY)).text()))
  })()
  const copy = await command('backup', 'copy.sqlite', '--json')
  isOver = true
  await load
  expect([copy.code, copy.err]).toEqual([0, ''])
  const told = JSON.parse(copy.out) as { exchanges: number; keys: number; audit: number }
  expect(told).toMatchObject({ keys: 1, audit: 1 })
  expect(told.exchanges).toBeGreaterThan(0)
  expect(statSync(join(gateway.folder, 'copy.sqlite')).mode & 0o777).toBe(0o600)
  expect(existsSync(join(gateway.folder, 'copy.sqlite.part'))).toBe(false)
  const again = await command('backup', 'copy.sqlite')
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('already exists')])

  // Not while it runs; and afterwards the key of then is there, the one of later is not.
  const early = await command('restore', 'copy.sqlite')
  expect([early.code, early.err]).toEqual([1, expect.stringMatching(/^A gateway uses the folder .*: end it first\.$/)])
  await gateway.admin('POST', '/keys', { name: 'later' })
  await gateway.stop()
  const back = await command('restore', 'copy.sqlite', '--json')
  expect([back.code, back.err]).toEqual([0, ''])
  const { before, ...copied } = JSON.parse(back.out) as { before: string }
  expect(copied).toMatchObject(told)
  const old = await openStore({ at: before, mayMigrate: false })
  expect((await old.db.selectFrom('key').select('name').orderBy('name').execute()).map(one => one.name)).toEqual(['kept', 'later'])
  await old.close()
  gateway = await stage.start({}, gateway.folder)
  const { body } = await gateway.admin<{ keys: { name: string }[] }>('GET', '/keys')
  expect(body.keys.map(one => one.name)).toEqual(['kept'])
  expect((await ask(gateway.url, made.secret)).status).toBe(200)
  expect((await gateway.command('ledger', 'verify')).code).toBe(0)
  expect((await gateway.command('audit', 'verify')).code).toBe(0)
})

test('a copy of an earlier version is migrated when it is restored', async () => {
  let own = await stage.start()
  await own.stop()
  const copy = join(own.folder, 'older.sqlite')
  const older = engineAt(copy)
  expect((await migratorOf(older).migrateTo('0005-meters')).error).toBeUndefined()
  const row = { public_id: 'key_old', name: 'old', groups: '["default"]', tags: '[]', state: 'active', version: 1 }
  await (older.db as unknown as Kysely<Record<string, Record<string, unknown>>>)
    .insertInto('key')
    .values({ ...row, created_by: 'x', created_at: 0 })
    .execute()
  await older.db.destroy()
  const back = await own.command('store', 'restore', 'older.sqlite', '--config', 'gateway.yaml')
  expect([back.code, back.err]).toEqual([0, ''])
  const files = readdirSync(join(own.folder, 'data')).filter(name => name.startsWith('restored') || /^sluice\.sqlite-/.test(name))
  expect(files).toEqual([])
  own = await stage.start({ store: { at: 'sqlite', migrate: 'none' } }, own.folder)
  const { body } = await own.admin<{ keys: { name: string }[] }>('GET', '/keys')
  expect(body.keys.map(one => one.name)).toEqual(['old'])
})

test('a copy is one file', async () => {
  expect((await command('backup', 'one.sqlite')).code).toBe(0)
  expect(readdirSync(gateway.folder).filter(name => name.startsWith('one.sqlite'))).toEqual(['one.sqlite'])
  const database = new DatabaseSync(join(gateway.folder, 'one.sqlite'), { readOnly: true })
  expect(database.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'delete' })
  database.close()
})

test('a file that is not a store is not restored', async () => {
  await gateway.stop()
  const store = statSync(join(gateway.folder, 'data', 'sluice.sqlite')).mtimeMs
  writeFileSync(join(gateway.folder, 'text.sqlite'), 'a text')
  for (const [file, exit, said] of [
    ['text.sqlite', 1, /is not a store of Sluice/],
    ['nothing.sqlite', 64, /The file nothing.sqlite does not exist/],
  ] as const) {
    const { code, err } = await command('restore', file)
    expect([code, err]).toEqual([exit, expect.stringMatching(said)])
  }
  expect(statSync(join(gateway.folder, 'data', 'sluice.sqlite')).mtimeMs).toBe(store)
})

test('a copy that the system refuses is told in a sentence', async () => {
  const own = await stage.start()
  const words = async (...words: string[]): Promise<string> => {
    const { code, err } = await own.command('store', ...words, '--config', 'gateway.yaml')
    expect(code).toBe(1)
    return err
  }
  expect(await words('backup', '/proc/copy.sqlite')).toBe('The store cannot be copied: unable to open database file.')
  await own.stop()
  expect(await words('restore', 'data')).toMatch(/^The store cannot be copied: EISDIR: .*\.$/)
})

test('`check --store` finds what does not fit gateway.yaml, and an unreachable store', async () => {
  const text = (more: object): string =>
    JSON.stringify({
      store: 'sqlite',
      listen: '127.0.0.1:0',
      upstreams: {},
      models: {},
      keys: [{ name: 'kept', value: FILE_KEY }],
      ...more,
    })
  const store = await openStore({ at: join(gateway.folder, 'data', 'sluice.sqlite'), mayMigrate: false })
  const row = { note: null, limits: null, state: 'active', created_by: 'x', created_at: 0, version: 1 } as const
  await store.db
    .insertInto('team')
    .values({ ...row, public_id: 't1', name: 'red', budgets: '[{"limit":"1/day","when_spent":{"use":"gone"}}]' })
    .execute()
  await store.db.updateTable('key').set({ groups: '["default","students"]' }).execute()
  await store.close()
  writeFileSync(join(gateway.folder, 'other.yaml'), text({ budgets: { teams: { red: '5/day' } } }))
  const { code, out } = await gateway.command('check', 'other.yaml', '--store', '--json')
  const { findings } = JSON.parse(out) as { findings: { rule: string; line: number }[] }
  const found = findings.map(one => one.rule).filter(rule => rule.startsWith('store/'))
  expect([code, found.sort()]).toEqual([0, ['store/group', 'store/key', 'store/model', 'store/team']])
  writeFileSync(join(gateway.folder, 'euro.yaml'), text({ currency: 'EUR' }))
  const euro = await gateway.command('check', 'euro.yaml', '--store')
  expect([euro.code, euro.out + euro.err]).toEqual([1, expect.stringContaining('store/currency')])
  writeFileSync(join(gateway.folder, 'away.yaml'), text({ store: { at: 'postgres://nobody@127.0.0.1:1/nothing' } }))
  const away = await gateway.command('check', 'away.yaml', '--store')
  expect([away.code, away.out + away.err]).toEqual([1, expect.stringContaining('store/away')])
})

test('the commands name the programs of Postgres for a store on Postgres', async () => {
  writeFileSync(join(gateway.folder, 'pg.yaml'), 'store: $SLUICE_STORE\nkeys: []\nupstreams: {}\nmodels: {}\n')
  process.env.SLUICE_STORE = 'postgres://nobody@localhost/nothing'
  for (const [word, said] of [
    ['backup', /pg_dump --format=custom --file=copy\.dump "\$SLUICE_STORE"/],
    ['restore', /pg_restore --clean --if-exists --dbname="\$SLUICE_STORE" copy\.dump/],
  ] as const) {
    const { code, err } = await gateway.command('store', word, 'copy.dump', '--config', 'pg.yaml')
    expect([code, err]).toEqual([1, expect.stringMatching(said)])
  }
  delete process.env.SLUICE_STORE
})
