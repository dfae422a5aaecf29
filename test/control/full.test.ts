// Neither the store nor the spool can be written, as on a full disk: records wait in the workers, and none is lost.

import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, exported, FILE_KEY, type Instance, type Stage, until } from './stage.js'
import { onPostgres } from './stores.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

/** Locks the files of an instance, so that nothing can be written to them. Returns what unlocks them. */
function lockFiles({ folder }: Instance, names = ['sluice.sqlite', 'spool.sqlite']): () => void {
  const databases = names.map(name => {
    const database = new DatabaseSync(join(folder, 'data', name), { timeout: 5_000 })
    database.exec('begin immediate')
    return database
  })
  return () => {
    for (const database of databases) {
      database.exec('rollback')
      database.close()
    }
  }
}

const said = (gateway: Instance, text: string): number => gateway.log.filter(line => line.includes(text)).length

test('records reach the ledger when it can be written again', async () => {
  const gateway = await stage.start()
  const unlock = lockFiles(gateway)
  for (let count = 0; count < 5; count++) {
    const response = await ask(gateway.url, FILE_KEY)
    await response.text()
    expect(response.status).toBe(200)
  }
  await until(
    async () => said(gateway, 'the spool cannot be written'),
    count => count > 0,
  )
  unlock()
  const rows = await until(
    () => exported(gateway),
    found => found.length >= 5,
  )
  expect(rows).toHaveLength(5)
  expect((await gateway.admin<{ differences: object }>('GET', '/ledger/verify')).body.differences).toEqual({})
  expect(said(gateway, 'the spool cannot be written')).toBe(1)
})

test('records reach the ledger if it can be written again when the gateway ends', async () => {
  const gateway = await stage.start()
  const unlock = lockFiles(gateway)
  await (await ask(gateway.url, FILE_KEY)).text()
  await until(
    async () => said(gateway, 'the spool cannot be written'),
    count => count > 0,
  )
  const ended = gateway.stop()
  unlock()
  await ended
  const again = await stage.start({}, gateway.folder)
  expect(await exported(again)).toHaveLength(1)
})

test('a key of the store is accepted, and refused once it is revoked, while the spool cannot be written', async () => {
  const gateway = await stage.start()
  const make = async (name: string): Promise<string> => (await gateway.admin<{ secret: string }>('POST', '/keys', { name })).body.secret
  const [used, fresh] = [await make('used'), await make('fresh')]
  expect((await ask(gateway.url, used)).status).toBe(200)
  const unlock = lockFiles(gateway, ['spool.sqlite'])
  expect((await ask(gateway.url, fresh)).status).toBe(200)
  for (const [name, secret] of [
    ['used', used],
    ['fresh', fresh],
  ] as const) {
    expect((await gateway.admin('POST', `/keys/${name}/revoke`, {})).status).toBe(200)
    const refused = await until(
      () => ask(gateway.url, secret),
      ({ status }) => status !== 200,
    )
    expect([name, refused.status]).toEqual([name, 403])
  }
  unlock()
})

onPostgres('while Postgres is unreachable, too', postgres => {
  test('records that cannot be kept are counted in the log when the gateway ends', async () => {
    const gateway = await stage.start({ store: { at: await postgres().database() } })
    await postgres().stop()
    const unlock = lockFiles(gateway, ['spool.sqlite'])
    for (let count = 0; count < 3; count++) await (await ask(gateway.url, FILE_KEY)).text()
    await until(
      async () => said(gateway, 'the spool cannot be written'),
      count => count > 0,
    )
    await gateway.stop()
    unlock()
    const lost = gateway.log.find(line => line.includes('records were lost'))
    expect(JSON.parse(lost ?? '{}')).toMatchObject({ count: 3 })
    await postgres().start()
  })

  test('a key that was revoked while the spool could not be written is not known from the spool', async () => {
    const gateway = await stage.start({ store: { at: await postgres().database() }, workers: 2 })
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'revoked' })
    expect((await ask(gateway.url, body.secret)).status).toBe(200)
    const unlock = lockFiles(gateway, ['spool.sqlite'])
    expect((await gateway.admin('POST', '/keys/revoked/revoke', {})).status).toBe(200)
    await until(
      () => ask(gateway.url, body.secret),
      ({ status }) => status !== 200,
    )
    await postgres().stop()
    // Each connection may reach the worker that has not asked yet.
    for (let count = 0; count < 20; count++)
      expect((await ask(gateway.url, body.secret, 'sim', {}, { connection: 'close' })).status).not.toBe(200)
    unlock()
  })
})
