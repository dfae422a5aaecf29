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
  })
})
