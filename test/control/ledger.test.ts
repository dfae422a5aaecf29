// The ledger on both engines: rows once each, rollups that agree with them, what is asked of it.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as QueriesModule from '../../control/ledger/queries.js'
import type { ExchangeRecord } from '../../control/ledger/record.js'
import type * as RowsModule from '../../control/ledger/rows.js'
import type * as WriteModule from '../../control/ledger/write.js'
import { onEachEngine, openStore, type Store } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { rowsOf } = (await import(built('control/ledger/rows.js'))) as typeof RowsModule
const { writeEntries } = (await import(built('control/ledger/write.js'))) as typeof WriteModule
const { usage, listExchanges, showExchange, exportRows, verifyLedger } = (await import(
  built('control/ledger/queries.js')
)) as typeof QueriesModule

const idAt = (at: number): string => at.toString(16).padStart(12, '0') + randomBytes(10).toString('hex')

function record(at: number, more: Partial<ExchangeRecord> = {}): ExchangeRecord {
  return {
    id: idAt(at),
    at,
    key: 'k1',
    team: 'red',
    group: 'default',
    model: 'm1',
    target: 'up/m1',
    route: 'chat',
    dialect: 'chat',
    upstreamDialect: 'messages',
    status: 200,
    ended: 0,
    isStream: false,
    input: 10,
    output: 5,
    attempts: 1,
    firstByte: 3,
    total: 12.4,
    bytesIn: 100,
    bytesOut: 200,
    ...more,
  }
}

const price = (one: ExchangeRecord) => (one.model === 'm1' ? { cost: 1_000, charge: 1_500, set: 'table-1' } : undefined)
const add = async (store: Store, records: ExchangeRecord[], part = 0) => writeEntries(store, await rowsOf(records, store, price), part, [])

onEachEngine(make => {
  test('what comes twice is counted once, in every rollup', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const now = Date.parse('2026-11-22T10:30:00Z')
    const records = Array.from({ length: 500 }, (_, index) =>
      record(now + index * 1000, {
        model: `m${index % 3}`,
        key: `k${index % 7}`,
        status: index % 10 === 0 ? 503 : 200,
        ended: index % 10 === 0 ? 2 : 0,
      }),
    )
    expect((await add(store, records.slice(0, 300))).length).toBe(300)
    // A batch that is sent again, with some that are new, from several sides at once.
    const fresh = await Promise.all([add(store, records.slice(100, 400), 1), add(store, records.slice(200), 2), add(store, records)])
    expect(fresh.flat().length).toBe(200)
    expect(await verifyLedger(store)).toEqual({ rows: 500, differences: {} })
    const rows = await usage(store, {
      by: ['model'],
      from: Math.floor(now / 86_400_000) * 86_400_000,
      to: Date.now() + 1e9,
      key: undefined,
      model: undefined,
      limit: 10,
    })
    expect(rows.map(row => [row.model, row.n]).sort()).toEqual([
      ['m0', 167],
      ['m1', 167],
      ['m2', 166],
    ])
    await store.close()
  })

  test('a price that is not there is null and never 0', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const [priced, without, refused] = [
      record(1_795_000_000_000),
      record(1_795_000_000_001, { model: 'm2' }),
      record(1_795_000_000_002, { model: undefined, input: undefined, output: undefined, status: 404 }),
    ]
    await add(store, [priced, without, refused])
    expect(await showExchange(store, priced.id)).toMatchObject({
      cost: 1_000,
      charge: 1_500,
      price_set: 'table-1',
      model: 'm1',
      group: 'default',
      total_ms: 12,
    })
    expect(await showExchange(store, without.id)).toMatchObject({ cost: null, charge: null, price_set: null })
    expect(await showExchange(store, refused.id)).toMatchObject({ input: null, output: null, model: null, first_token_ms: null })
    const [row] = await usage(store, { by: ['group'], from: 0, to: Date.now() + 1e9, key: undefined, model: undefined, limit: 10 })
    expect(row).toMatchObject({ group: 'default', n: 3, unpriced: 1, cost: 1_000, charge: 1_500, failures: 1 })
    await store.close()
  })

  test('rollups and rows tell the same of the same question', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const day = Date.parse('2026-10-20T00:00:00Z')
    await add(
      store,
      Array.from({ length: 300 }, (_, index) =>
        record(day + index * 3_000_000, {
          key: `k${index % 5}`,
          model: `m${index % 4}`,
          endUser: `u${index % 9}`,
          session: 's',
          words: { tags: ['a', 'b'] },
          tags: '["k"]',
        }),
      ),
    )
    const range = { from: day, to: day + 4 * 86_400_000, key: undefined, model: undefined, limit: 1000 }
    const sorted = (rows: Record<string, unknown>[]): string[] => rows.map(row => JSON.stringify(Object.entries(row).sort())).sort()
    // A border that is none of theirs, before which there is no row.
    for (const by of [['key'], ['model', 'day'], ['key', 'model'], ['target', 'hour']] as const)
      expect(sorted(await usage(store, { ...range, by }))).toEqual(sorted(await usage(store, { ...range, to: range.to - 1, by })))
    const users = await usage(store, { ...range, by: ['end_user', 'tags'] })
    expect(users.length).toBe(9)
    expect(users[0]).toMatchObject({ tags: '["a","b","k"]' })
    expect((await usage(store, { ...range, by: ['model'], key: 'k1' })).reduce((sum, row) => sum + (row.n as number), 0)).toBe(23)
    expect(await usage(store, { ...range, by: ['model'], key: 'nobody' })).toEqual([])
    await store.close()
  })

  test('rows are found page by page, and exported whole', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const begin = Date.parse('2026-11-21T23:59:00Z')
    const records = Array.from({ length: 2_500 }, (_, index) =>
      record(begin + index * 100, {
        key: `k${index % 2}`,
        status: index % 50 === 0 ? 500 : 200,
        ...(index % 50 === 0 && { words: { message: 'no', cause: 'nobody there' }, error: 'upstream' }),
      }),
    )
    for (let index = 0; index < records.length; index += 500) await add(store, records.slice(index, index + 500))
    const query = {
      from: begin,
      to: begin + 1e9,
      key: 'k0',
      model: undefined,
      target: undefined,
      end_user: undefined,
      session: undefined,
      failed: true,
      before: undefined,
      limit: 20,
    }
    const seen: unknown[] = []
    for (let before: string | undefined; ; ) {
      const page = await listExchanges(store, { ...query, before })
      seen.push(...page.exchanges.map(one => one.id))
      if (page.next === null) break
      before = page.next
    }
    expect(seen).toEqual(
      records
        .filter((_, index) => index % 50 === 0)
        .map(one => one.id)
        .reverse(),
    )
    expect(await showExchange(store, records[0]?.id as string)).toMatchObject({
      error: 'upstream',
      detail: { message: 'no', cause: 'nobody there' },
    })
    const exported: unknown[] = []
    for await (const page of exportRows(store, { from: begin, to: begin + 1e9 })) exported.push(...page.map(one => one.id))
    expect(exported).toEqual(records.map(one => one.id))
    await store.close()
  })

  test('every meter has its place, and what a price depended on', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const at = Date.now()
    const meters = {
      cache_write_1h: 1,
      audio_input: 2,
      image_input: 3,
      audio_output: 4,
      image_output: 5,
      image: 6,
      second: 61.5,
      character: 8,
      search: 0,
      page: 10,
      tool_call: 11,
      request: 12,
    }
    const facts = { tier: 'flex', quality: 'high' }
    const full = record(at, {
      region: 'eu',
      facts: JSON.stringify(facts),
      isHedged: true,
      words: { meters, cancelled: [{ target: 'up/slow' }] },
    })
    const plain = record(at + 1, { isMirror: true })
    await add(store, [full, plain])
    expect(await showExchange(store, full.id)).toMatchObject({
      ...{ ...meters, region: 'eu', facts, hedged: true, mirror: false, detail: { cancelled: [{ target: 'up/slow' }] } },
    })
    const none = Object.fromEntries(Object.keys(meters).map(name => [name, null]))
    expect(await showExchange(store, plain.id)).toMatchObject({ ...none, region: null, facts: null, hedged: false, mirror: true })
    const rows = await usage(store, { by: ['region'], from: at - 1000, to: at + 1000, key: undefined, model: undefined, limit: 10 })
    expect(new Map(rows.map(row => [row.region, row.n]))).toEqual(
      new Map([
        ['eu', 1],
        [null, 1],
      ]),
    )
    await store.close()
  })

  test('rows of before there was a column for each meter stay', async () => {
    const at = await make()
    const store = await openStore({ at, mayMigrate: true })
    const old = record(Date.now())
    await add(store, [old])
    for (const table of ['team', 'day_team']) await store.db.schema.dropTable(table).execute()
    for (const column of ADDED) await store.db.schema.alterTable('ledger').dropColumn(column).execute()
    await store.db
      .deleteFrom('kysely_migration' as never)
      .where('name' as never, '>=', '0005-meters' as never)
      .execute()
    await store.close()
    const again = await openStore({ at, mayMigrate: true })
    expect(await showExchange(again, old.id)).toMatchObject({ id: old.id, input: 10, image: null, second: null, region: null })
    // What is counted by days is counted anew for them.
    expect(await verifyLedger(again)).toEqual({ rows: 1, differences: {} })
    await again.close()
  })
})

const ADDED = [
  ...['region', 'facts', 'cache_write_1h', 'audio_input', 'image_input', 'audio_output', 'image_output', 'image', 'second', 'character'],
  ...['search', 'page', 'tool_call', 'request'],
]
