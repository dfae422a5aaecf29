// How answers are kept: for whom, how long, and how many.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import type * as KeptModule from '../../control/kept/kept.js'
import type { Room } from '../../control/kept/room.js'
import type * as SealModule from '../../control/kept/seal.js'
import type * as QuestionsModule from '../../control/questions.js'
import type { Keeper } from '../../control/store/keeper.js'
import type { Question } from '../../engine/control/messages.js'
import type { NewAnswer } from '../../engine/snapshot/model.js'
import { still } from '../polling.js'
import { onEachEngine, openStore, type Store } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { change, conversation, expire, answersWithItems, keep, look, remove, shrink } = (await import(
  built('control/kept/kept.js')
)) as typeof KeptModule
const { createSeal } = (await import(built('control/kept/seal.js'))) as typeof SealModule

const { createAnswerers } = (await import(built('control/questions.js'))) as typeof QuestionsModule

const folder = mkdtempSync(join(tmpdir(), 'sluice-kept-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const HOUR = 3_600_000
const options = { seal: createSeal(['a secret of some length'], ''), for: HOUR, size: 1e9 }
const turn = (id: string, previous: string | null, more = {}): NewAnswer => ({
  caller: 'ada',
  id,
  previous,
  conversation: null,
  items: [`item-of-${id}`],
  input: JSON.stringify([`asked ${id}`]),
  answer: JSON.stringify({ id }),
  ...more,
})

onEachEngine((make, kind) => {
  const open = async (): Promise<Store> => openStore({ at: await make(), mayMigrate: true })
  const row = (store: Store, id: string) => store.db.selectFrom('kept').selectAll().where('id', '=', id).executeTakeFirst()

  test('a conversation has the requests and answers up to an answer, and only its owner can read it', async () => {
    const store = await open()
    for (const [id, previous] of [
      ['a', null],
      ['b', 'a'],
      ['c', 'b'],
      ['other', 'a'],
    ] as const)
      await keep(store, options, turn(id, previous))
    const found = await conversation(store, options, 'ada', 'c')
    expect(found?.map(({ answer }) => JSON.parse(answer).id)).toEqual(['a', 'b', 'c'])
    expect(found?.[1]?.input).toBe('["asked b"]')
    expect(await conversation(store, options, 'bob', 'c')).toEqual([])
    expect(await look(store, options, 'bob', 'c')).toBe(null)
    expect(await answersWithItems(store, options, 'bob', ['item-of-c'], false)).toEqual([])
    expect(
      (await answersWithItems(store, options, 'ada', ['item-of-c', 'item-of-a', 'unknown'], false))
        ?.map(one => JSON.parse(one.answer).id)
        .sort(),
    ).toEqual(['a', 'c'])
    // The same message may come twice.
    await keep(store, options, turn('c', null))
    expect(await conversation(store, options, 'ada', 'c')).toHaveLength(3)
    expect([await remove(store, 'bob', 'b'), await remove(store, 'ada', 'b'), await remove(store, 'ada', 'b')]).toEqual([
      false,
      true,
      false,
    ])
    expect(await answersWithItems(store, options, 'ada', ['item-of-b'], false)).toEqual([])
    // Half a conversation would be another one.
    expect(await conversation(store, options, 'ada', 'c')).toEqual([])
    await store.close()
  })

  test('answers that end at the same time all become part of their conversation, each once', async () => {
    const store = await open()
    const idsOf = async (id: string): Promise<string[] | undefined> => (await conversation(store, options, 'ada', id))?.map(({ id }) => id)
    await keep(store, options, turn('talk', null))
    const ids = Array.from({ length: 20 }, (_, index) => `turn-${index}`)
    // The same message may come twice.
    await Promise.all([...ids, ...ids].map(id => keep(store, options, turn(id, null, { conversation: 'talk' }))))
    const all = await idsOf('talk')
    expect(all?.at(-1)).toBe('talk')
    expect(all?.slice(0, -1).sort()).toEqual(ids.sort())
    // An answer can be continued beside the conversation that it is in.
    await keep(store, options, turn('aside', all?.[2] ?? null))
    expect(await idsOf('aside')).toEqual([...(all?.slice(0, 3) ?? []), 'aside'])
    // Of a conversation that was deleted meanwhile it is an answer like others.
    await remove(store, 'ada', 'talk')
    await keep(store, options, turn('late', null, { conversation: 'talk' }))
    expect([await idsOf('late'), await idsOf('talk')]).toEqual([['late'], []])
    await store.close()
  })

  // Of SQLite there is one instance, which reads when it has written.
  test.runIf(kind === 'postgres')('a turn that comes while a conversation is read does not hide it', async () => {
    const store = await open()
    await keep(store, options, turn('talk', null))
    let isRead = false
    const late: KyselyPlugin = {
      transformQuery: ({ node }: PluginTransformQueryArgs) => node,
      async transformResult({ result }: PluginTransformResultArgs) {
        if (!isRead) await keep(store, options, turn('late', null, { conversation: 'talk' }))
        isRead = true
        return result
      },
    }
    const busy = { ...store, db: store.db.withPlugin(late) }
    expect((await conversation(busy, options, 'ada', 'talk'))?.map(({ id }) => id)).toEqual(['talk'])
    expect((await conversation(store, options, 'ada', 'talk'))?.map(({ id }) => id)).toEqual(['late', 'talk'])
    await store.close()
  })

  test('a conversation of more turns than may be continued can be read', async () => {
    const store = await open()
    for (let index = 0; index <= 1_000; index++) await keep(store, options, turn(`${index}`, index === 0 ? null : `${index - 1}`))
    expect(await conversation(store, options, 'ada', '1000')).toBe(null)
    expect(await conversation(store, options, 'ada', '1000', true)).toHaveLength(1_001)
    await store.close()
  })

  test('of changes that cross each other one takes place, and the others learn that they did not', async () => {
    const store = await open()
    await keep(store, options, turn('talk', null, { answer: '0' }))
    const to = (to: string, from = '0', caller = 'ada'): Promise<boolean> => change(store, options, { caller, id: 'talk', from, to })
    const done = await Promise.all(['1', '2', '3', '4'].map(text => to(text)))
    expect(done.filter(one => one)).toHaveLength(1)
    const { answer, input } = (await look(store, options, 'ada', 'talk')) ?? { answer: '', input: '' }
    expect([answer, input]).toEqual([['1', '2', '3', '4'][done.indexOf(true)], '["asked talk"]'])
    expect([await to(answer), await to('5', answer, 'bob'), await to('5', answer), await to('6')]).toEqual([true, false, true, false])
    await store.close()
  })

  test.each([
    ['a conversation', 'kept', { id: 'late' }],
    ['an item', 'items', { ids: ['item-of-late'], isAwaited: true }],
    ['an answer', 'look', { id: 'late' }],
  ] as const)('%s is there for its caller while it is still being written', async (_name, name, asked) => {
    const store = await open()
    let release = (): void => undefined
    const released = new Promise<void>(done => (release = done))
    const seal: SealModule.Seal = {
      ...options.seal,
      async close(text, owner) {
        await released
        return options.seal.close(text, owner)
      },
    }
    const keeper = { get: () => store, succeeded: () => undefined, failed: () => undefined } as unknown as Keeper
    const ask = createAnswerers(keeper, { ...options, seal }, { add: () => undefined } as unknown as Room)
    const kept = ask({ type: 'ask', ask: 1, name: 'keep', asked: turn('late', null) } as Question)
    const found = ask({ type: 'ask', ask: 2, name, asked: { caller: 'ada', ...asked } } as Question)
    let isThere = false
    void found.then(() => (isThere = true))
    // Longer than an answer of another process is waited for.
    expect(await still(() => isThere, 1_200)).toBe(false)
    release()
    await kept
    expect(JSON.stringify(await found)).toContain('late')
    await store.close()
  })

  test('items are found however long the requests of their answers were, up to a bound', async () => {
    const store = await open()
    const image = randomBytes(6 * 1024 * 1024).toString('base64')
    for (const id of ['a', 'b', 'c', 'd']) await keep(store, options, turn(id, null, { input: JSON.stringify([image]) }))
    const itemsOf = (...ids: string[]) => ids.map(id => `item-of-${id}`)
    const found = await answersWithItems(store, options, 'ada', itemsOf('a', 'b', 'c', 'd'), false)
    expect(found?.map(({ answer }) => JSON.parse(answer).id).sort()).toEqual(['a', 'b', 'c', 'd'])
    // Answers that are short in the store, and long outside of it.
    for (const id of ['e', 'f']) await keep(store, options, turn(id, null, { answer: JSON.stringify('x'.repeat(13 * 1024 * 1024)) }))
    expect(await answersWithItems(store, options, 'ada', itemsOf('e'), false)).toHaveLength(1)
    expect(await answersWithItems(store, options, 'ada', itemsOf('e', 'f'), false)).toBe(null)
    await store.db
      .updateTable('kept')
      .set({ size: 60 * 1024 * 1024 })
      .where('id', 'in', ['a', 'b'])
      .execute()
    expect(await answersWithItems(store, options, 'ada', itemsOf('a', 'b'), false)).toBe(null)
    await store.close()
  })

  test('an answer that an earlier version kept is found', async () => {
    const store = await open()
    const sealed = await options.seal.close(JSON.stringify(['["asked"]', '{"id":"old"}']), 'ada\nold')
    const row = { caller: 'ada', id: 'old', previous: null, created_at: 1, expires_at: Date.now() + HOUR, size: sealed.length, sealed }
    await store.db.insertInto('kept').values(row).execute()
    await store.db.insertInto('kept_item').values({ caller: 'ada', item_id: 'i', kept_id: 'old' }).execute()
    const whole = { input: '["asked"]', answer: '{"id":"old"}' }
    expect(await look(store, options, 'ada', 'old')).toEqual(whole)
    expect(await conversation(store, options, 'ada', 'old')).toEqual([{ id: 'old', ...whole }])
    expect(await answersWithItems(store, options, 'ada', ['i'], false)).toMatchObject([{ answer: whole.answer }])
    await store.close()
  })

  test('the store is not asked about each turn of a long conversation', async () => {
    const store = await open()
    for (let index = 0; index < 200; index++) await keep(store, options, turn(`t${index}`, index === 0 ? null : `t${index - 1}`))
    let asked = 0
    const counting = {
      transformQuery: ({ node }: PluginTransformQueryArgs) => {
        asked++
        return node
      },
      transformResult: async ({ result }: PluginTransformResultArgs) => result,
    }
    const turns = await conversation({ ...store, db: store.db.withPlugin(counting) }, options, 'ada', 't199')
    expect(turns?.map(one => one.answer)).toEqual(Array.from({ length: 200 }, (_, index) => JSON.stringify({ id: `t${index}` })))
    expect(asked).toBeLessThan(5)
    await store.close()
  })

  test('an answer that is about to be written is awaited', async () => {
    const store = await open()
    const asked = look(store, options, 'ada', 'late')
    setTimeout(() => void keep(store, options, turn('late', null)), 50)
    expect((await asked)?.answer).toBe('{"id":"late"}')
    await store.close()
  })

  test('a request that continues an answer waits longer for it: a busy store may need so long to write', async () => {
    const store = await open()
    const asked = conversation(store, options, 'ada', 'later')
    const items = answersWithItems(store, options, 'ada', ['item-later'], true)
    setTimeout(() => void keep(store, options, { ...turn('later', null), items: ['item-later'] }), 400)
    expect([(await asked)?.length, (await items)?.length]).toEqual([1, 1])
    await store.close()
  })

  test('a continued answer is kept longer, and others expire', async () => {
    const store = await open()
    const at = Date.now()
    await keep(store, options, turn('old', null))
    await store.db
      .updateTable('kept')
      .set({ expires_at: at + 1_000 })
      .execute()
    await keep(store, options, turn('next', 'old'))
    expect(await conversation(store, options, 'ada', 'next')).toHaveLength(2)
    expect((await row(store, 'old'))?.expires_at).toBeGreaterThan(at + HOUR / 2)
    await store.db
      .updateTable('kept')
      .set({ expires_at: at - 1 })
      .where('id', '=', 'next')
      .execute()
    expect(await look(store, options, 'ada', 'next')).toBe(null)
    await expire(store)
    expect([await row(store, 'next'), (await row(store, 'old'))?.id]).toEqual([undefined, 'old'])
    await store.close()
  })

  test('a conversation that is changed does not outlive its turns', async () => {
    const store = await open()
    await keep(store, options, turn('talk', null, { answer: '0' }))
    await keep(store, options, turn('one', null, { conversation: 'talk' }))
    await store.db
      .updateTable('kept')
      .set({ expires_at: Date.now() + 1_000 })
      .execute()
    expect(await change(store, options, { caller: 'ada', id: 'talk', from: '0', to: '1' })).toBe(true)
    expect((await row(store, 'talk'))?.expires_at).toBe((await row(store, 'one'))?.expires_at)
    await store.close()
  })

  test('only answers that are older than a tenth of the lifetime are written when they are continued', async () => {
    const store = await open()
    const at = Date.now()
    for (const [id, previous] of [
      ['old', null],
      ['young', 'old'],
    ] as const)
      await keep(store, options, turn(id, previous))
    for (const read of [
      () => conversation(store, options, 'ada', 'young'),
      () => answersWithItems(store, options, 'ada', ['item-of-old', 'item-of-young'], false),
    ]) {
      for (const [id, share] of [
        ['old', 0.8],
        ['young', 0.95],
      ] as const)
        await store.db
          .updateTable('kept')
          .set({ expires_at: at + share * HOUR })
          .where('id', '=', id)
          .execute()
      expect(await read()).toHaveLength(2)
      expect((await row(store, 'old'))?.expires_at).toBeGreaterThanOrEqual(at + HOUR)
      expect((await row(store, 'young'))?.expires_at).toBe(at + 0.95 * HOUR)
    }
    await store.close()
  })

  test('when all together are too large, the answers go first that were not continued for the longest', async () => {
    const store = await open()
    for (let index = 0; index < 60; index++) await keep(store, options, turn(`r${index}`, null))
    await store.db
      .updateTable('kept')
      .set({ expires_at: Date.now() + 1_000 })
      .where('id', '<', 'r5')
      .execute()
    const { size } = (await row(store, 'r59')) as { size: number }
    expect(await shrink(store, size * 20)).toBeGreaterThanOrEqual(40)
    const left = await store.db.selectFrom('kept').select('id').execute()
    expect(left.length).toBeLessThanOrEqual(20)
    expect(left.map(({ id }) => id)).toContain('r59')
    expect(await shrink(store, size * 20)).toBe(0)
    await store.close()
  })

  test('only those lose answers who keep more than an equal share, in chunks of any size', async () => {
    const store = await open()
    const of = (caller: string, id: string) => ({ ...turn(id, null), caller, items: [] })
    for (let index = 0; index < 3; index++) await keep(store, options, of('ada', `r1${index}`))
    for (let index = 0; index < 700; index++) await keep(store, options, of('hog', `r${100 + index}`))
    for (let index = 0; index < 40; index++) await keep(store, options, of('bob', `r2${10 + index}`))
    const { size } = (await row(store, 'r100')) as { size: number }
    const counts = async () => {
      const rows = await store.db.selectFrom('kept').select(['caller', 'id']).orderBy('id').execute()
      return ['ada', 'bob', 'hog'].map(caller => rows.filter(one => one.caller === caller).length)
    }
    await shrink(store, size * 100)
    const [ada, bob, hog = 0] = await counts()
    expect([ada, bob]).toEqual([3, 40])
    expect(hog).toBeGreaterThan(50)
    expect(hog).toBeLessThanOrEqual(58)
    expect(await row(store, 'r799')).toBeDefined()
    // Two who keep more share what is left.
    await shrink(store, size * 43)
    const [few, some = 0, many = 0] = await counts()
    expect(few).toBe(3)
    expect(Math.abs(some - many)).toBeLessThanOrEqual(1)
    expect(some + many).toBeGreaterThan(35)
    await store.close()
  })

  test('the content of the store can be opened only with the key', async () => {
    const store = await open()
    await keep(store, options, turn('a', null, { items: [], answer: '{"said":"a word that is sought"}' }))
    expect(JSON.stringify(await row(store, 'a'))).not.toContain('sought')
    const other = { ...options, seal: createSeal(['another secret of some length'], '') }
    expect([await look(store, other, 'ada', 'a'), await conversation(store, other, 'ada', 'a')]).toEqual([null, []])
    const both = { ...options, seal: createSeal(['another secret of some length', 'a secret of some length'], '') }
    expect((await look(store, both, 'ada', 'a'))?.answer).toContain('sought')
    // Nor does it open for another owner.
    await store.db.updateTable('kept').set({ caller: 'bob' }).execute()
    expect(await look(store, options, 'bob', 'a')).toBe(null)
    await store.close()
  })
})

test('only its user can read a generated key, which is reused', async () => {
  const file = join(folder, 'kept.key')
  const sealed = await createSeal(undefined, file).close('x', 'me')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await createSeal(undefined, file).open(sealed, 'me')).toBe('x')
})

test('an empty file of the key, which a full disk leaves, seals nothing', async () => {
  const file = join(folder, 'empty.key')
  writeFileSync(file, '')
  const sealed = await createSeal(undefined, file).close('x', 'me')
  expect(await createSeal([''], '').open(sealed, 'me')).toBe(undefined)
  expect(await createSeal(undefined, file).open(sealed, 'me')).toBe('x')
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('while a long answer is sealed and opened, other events come', async () => {
  const text = Array.from({ length: 400_000 }, (_, index) => `the word ${index} of a long answer`).join(' ')
  /** The turns of the event loop until a task has ended. */
  const turnsDuring = async <Value>(task: () => Value): Promise<[turns: number, Awaited<Value>]> => {
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const value = await task()
    isOver = true
    return [turns, value]
  }
  const [closing, sealed] = await turnsDuring(() => options.seal.close(text, 'me'))
  const [opening, opened] = await turnsDuring(() => options.seal.open(sealed, 'me'))
  expect(opened === text).toBe(true)
  expect(closing).toBeGreaterThan(10)
  expect(opening).toBeGreaterThan(10)
})
