// Names in the store, on both engines: their ids, and how long those of callers stay.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as WriteModule from '../../control/ledger/write.js'
import type * as ColumnsModule from '../../control/store/columns.js'
import type * as NamesModule from '../../control/store/names.js'
import type * as StepsModule from '../../control/store/steps.js'
import type { LedgerTable } from '../../control/store/tables.js'
import { ask, createStage, FILE_KEY, type Stage, until } from './stage.js'
import { onEachEngine, openStore, type Store } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { createNames } = (await import(built('control/store/names.js'))) as typeof NamesModule
const { writeEntries } = (await import(built('control/ledger/write.js'))) as typeof WriteModule
const { STEP } = (await import(built('control/store/steps.js'))) as typeof StepsModule
const { DAY, LEDGER } = (await import(built('control/store/columns.js'))) as typeof ColumnsModule

const WORDS = Array.from({ length: 20 }, (_, index) => `w${index}`)
const KINDS = ['end_user', 'session', 'purse', 'account', 'model', 'tags'] as const

/** The names of a store, as `kind/text`. */
async function textsIn(store: Store): Promise<string[]> {
  const rows = await store.db.selectFrom('name').select(['kind', 'text']).orderBy('id').execute()
  return rows.map(({ kind, text }) => `${kind}/${text}`)
}

onEachEngine((make, kind) => {
  test('a name that is there already takes no id, on any day', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const first = await store.names.idsOf(['session'], WORDS)
    for (let day = 1; day < 50; day++) {
      // Instances that have none of them cached.
      const names = createNames(store, 100, () => Date.now() + day * DAY)
      expect(await names.idsOf(['session'], WORDS)).toEqual(first)
    }
    const [next] = await store.names.idsOf(['session'], ['next'])
    expect(next).toBe(Math.max(...(first as number[])) + 1)
    await store.close()
  })

  test('a text that no store holds has the id of the text in its place', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    // Such as the groups of a signed token.
    const ids = await store.names.idsOf(['group'], ['a\0b', 'a\ud800b', 'a\u009bb', 'a\ufffdb'])
    expect(new Set(ids).size).toBe(1)
    expect(await textsIn(store)).toEqual(['group/a\ufffdb'])
    await store.close()
  })

  test('names of callers are deleted after the day of their last use, others stay', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    let day = 20_000
    const names = createNames(store, 100, () => day * DAY)
    const other = createNames(store, 100, () => day * DAY)
    await names.idsOf(KINDS, [...KINDS.map(() => 'old'), ...KINDS.map(() => 'used')])
    day++
    const used = await names.idsOf(
      KINDS,
      KINDS.map(() => 'used'),
    )
    await names.drop(day)
    const left = [...KINDS.map(one => `${one}/used`), 'model/old', 'tags/old']
    expect((await textsIn(store)).sort()).toEqual(left.sort())
    // Whoever has cached a name uses it only on the days on which it cannot be deleted.
    expect(
      await other.idsOf(
        KINDS,
        KINDS.map(() => 'used'),
      ),
    ).toEqual(used)
    day++
    await names.drop(day)
    expect((await textsIn(store)).sort()).toEqual(['model/old', 'model/used', 'tags/old', 'tags/used'])
    const again = await other.idsOf(
      KINDS,
      KINDS.map(() => 'used'),
    )
    expect([again.slice(4), again.includes(null)]).toEqual([used.slice(4), false])
    expect((await textsIn(store)).filter(text => text.endsWith('/used'))).toHaveLength(KINDS.length)
    await store.close()
  })

  test('names that instances use, add and delete at once have one id each', async () => {
    const at = await make()
    const store = await openStore({ at, mayMigrate: true })
    // A file of SQLite has one process, with one connection.
    const stores = [store, kind === 'postgres' ? await openStore({ at, mayMigrate: true }) : store]
    for (let day = 20_000; day < 20_020; day++) {
      const turns = stores.map(async (own, index) => {
        const names = createNames(own, 100, () => day * DAY)
        const words = index === 0 ? WORDS : [...WORDS].reverse()
        const [ids] = await Promise.all([names.idsOf(['end_user'], words), names.drop(day)])
        return index === 0 ? ids : ids.reverse()
      })
      const [one, two] = await Promise.all(turns)
      expect([two, one?.includes(null)]).toEqual([one, false])
      expect((await textsIn(store)).sort()).toEqual(WORDS.map(word => `end_user/${word}`).sort())
    }
    await Promise.all([...new Set(stores)].map(own => own.close()))
  })

  test('ids may have more than 32 bits', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    if (kind === 'postgres') await sql`select setval(pg_get_serial_sequence('name', 'id'), 5000000000)`.execute(store.db)
    else await store.db.insertInto('name').values({ id: 5_000_000_000, kind: 'model', text: 'x', last: 0 }).execute()
    const row = Object.fromEntries(Object.keys(LEDGER).map(name => [name, 0])) as unknown as LedgerTable
    const columns = ['key', 'team', 'grp', 'end_user', 'session', 'tags', 'model', 'target', 'route', 'region'] as const
    for (const column of columns) [row[column]] = (await store.names.idsOf([column === 'grp' ? 'group' : column], ['a'])) as [number]
    expect(row.region).toBeGreaterThan(2 ** 32)
    const at = Date.parse('2026-11-22T10:00:00Z')
    const id = `${at.toString(16).padStart(12, '0')}${'0'.repeat(20)}`
    expect(await writeEntries(store, [{ row: { ...row, id, at }, detail: undefined }], 1, [])).toHaveLength(1)
    await store.close()
  })
})

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

test('an end user leaves the store with the last row', async () => {
  const before = await stage.start()
  expect((await ask(before.url, FILE_KEY, 'sim', { user: 'person@example.com' })).status).toBe(200)
  const at = join(before.folder, 'data/sluice.sqlite')
  const kinds = async (): Promise<string[]> => {
    const store = await openStore({ at, mayMigrate: false })
    const texts = await textsIn(store)
    await store.close()
    return texts.filter(text => /^(?:end_user|model)\//.test(text)).sort()
  }
  expect(await until(kinds, found => found.length > 1)).toEqual(['end_user/person@example.com', 'model/sim'])
  await before.stop()
  // As if all of it had been a hundred days ago.
  const store = await openStore({ at, mayMigrate: false })
  await store.db
    .updateTable('name')
    .set(({ eb }) => ({ last: eb('last', '-', 100) }))
    .execute()
  const ids = Array.from({ length: 2 * STEP + 1 }, (_, index) => `end_user:${index}/day@2020-01-01T00:00Z`)
  await store.db.transaction().execute(async trx => {
    for (const id of ids) await trx.insertInto('account').values({ id, most: 1, out: 0, spent: 1, until: 1, at: 1 }).execute()
  })
  await store.close()
  await stage.start({ ledger: { keep: '90d' } }, before.folder)
  expect(await until(kinds, found => found.length < 2)).toEqual(['model/sim'])
  const left = await openStore({ at, mayMigrate: false })
  expect(await left.db.selectFrom('account').select('id').execute()).toEqual([])
  await left.close()
})
