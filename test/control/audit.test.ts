// The audit log: the check finds entries that were changed, removed or renumbered; those at the end, with a head that was told.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type * as AuditModule from '../../control/audit.js'
import { onEachEngine, openStore, type Store } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { verifyAudit, write } = (await import(built('control/audit.js'))) as typeof AuditModule

const ACTOR = { name: 'owner', via: 'socket', role: 'owner' } as const

async function written(at: string, heads: string[] = []): Promise<Store> {
  const store = await openStore({ at, mayMigrate: true })
  store.audited = head => void heads.push(head)
  for (let index = 1; index <= 5; index++)
    await write(store, ACTOR, 'keys.set', async () => ({
      result: undefined,
      subject: `key_${index}`,
      before: { n: index },
      after: { n: index + 1 },
    }))
  return store
}

onEachEngine(make => {
  test('the check finds a changed byte in every column', async () => {
    const store = await written(await make())
    expect(await verifyAudit(store)).toMatchObject({ entries: 5, broken: null })
    const entry = (await store.db.selectFrom('audit').selectAll().where('seq', '=', 3).executeTakeFirstOrThrow()) as unknown as Record<
      string,
      string | number
    >
    for (const [column, value] of Object.entries(entry)) {
      if (column === 'seq') continue
      const changed = typeof value === 'number' ? value + 1 : `${value.slice(0, 1) === 'x' ? 'y' : 'x'}${value.slice(1)}`
      const put = (one: string | number): Promise<unknown> =>
        sql`update audit set ${sql.ref(column)} = ${one} where seq = 3`.execute(store.db)
      await put(changed)
      expect([column, (await verifyAudit(store)).broken]).toEqual([column, 3])
      await put(value)
    }
    expect(await verifyAudit(store)).toMatchObject({ entries: 5, broken: null })
    await store.close()
  })

  test('the check finds that the last entries were removed, or all written anew, with a head that was told', async () => {
    const heads: string[] = []
    const store = await written(await make(), heads)
    expect(heads.map(head => head.split(':')[0])).toEqual(['1', '2', '3', '4', '5'])
    for (const head of heads) expect(await verifyAudit(store, head)).toEqual({ entries: 5, broken: null, head: heads[4] })
    await store.db.deleteFrom('audit').where('seq', '>', 3).execute()
    // Alone, what is left is a whole chain.
    expect(await verifyAudit(store)).toEqual({ entries: 3, broken: null, head: heads[2] })
    expect(await verifyAudit(store, heads[2])).toMatchObject({ broken: null })
    for (const head of heads.slice(3)) expect(await verifyAudit(store, head)).toMatchObject({ entries: 3, broken: 4 })
    const more = async (): Promise<void> => write(store, ACTOR, 'keys.set', async () => ({ result: undefined, subject: 'another' }))
    await more()
    await more()
    expect(await verifyAudit(store)).toMatchObject({ entries: 5, broken: null })
    expect(await verifyAudit(store, heads[3])).toMatchObject({ entries: 3, broken: 4 })
    expect(await verifyAudit(store, heads[4])).toMatchObject({ entries: 4, broken: 5 })
    await store.db.deleteFrom('audit').execute()
    expect(await verifyAudit(store)).toEqual({ entries: 0, broken: null, head: null })
    expect(await verifyAudit(store, heads[0])).toMatchObject({ entries: 0, broken: 1 })
    await store.close()
  })

  test('what is not written has no head', async () => {
    const heads: string[] = []
    const store = await written(await make(), heads)
    const refused = write(store, ACTOR, 'keys.set', () => Promise.reject(new Error('refused')))
    await expect(refused).rejects.toThrow('refused')
    expect(heads).toHaveLength(5)
    await store.close()
  })

  test('the check finds a removed entry, and renumbered ones', async () => {
    const store = await written(await make())
    await store.db.deleteFrom('audit').where('seq', '=', 2).execute()
    expect((await verifyAudit(store)).broken).toBe(2)
    for (const seq of [3, 4, 5])
      await store.db
        .updateTable('audit')
        .set({ seq: seq - 1 })
        .where('seq', '=', seq)
        .execute()
    expect((await verifyAudit(store)).broken).toBe(2)
    await store.close()
  })
})
