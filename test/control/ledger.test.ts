// The ledger on both engines: each row once, rollups that agree with the rows, and queries.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import type { Kysely } from 'kysely'
import { expect, test } from 'vitest'
import type * as TreasuryModule from '../../control/budgets/treasury.js'
import type * as FocusModule from '../../control/ledger/focus.js'
import type * as QueriesModule from '../../control/ledger/queries.js'
import type { ExchangeRecord } from '../../control/ledger/record.js'
import type * as RowsModule from '../../control/ledger/rows.js'
import type * as WriteModule from '../../control/ledger/write.js'
import type * as ColumnsModule from '../../control/store/columns.js'
import type * as PeriodsModule from '../../control/store/periods.js'
import { engineAt, migratorOf, onEachEngine, openStore, type Store } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { rowsOf, sumsOf } = (await import(built('control/ledger/rows.js'))) as typeof RowsModule
const { writeEntries } = (await import(built('control/ledger/write.js'))) as typeof WriteModule
const { usage, listExchanges, showExchange, exportRows, verifyLedger } = (await import(
  built('control/ledger/queries.js')
)) as typeof QueriesModule
const { focusLines } = (await import(built('control/ledger/focus.js'))) as typeof FocusModule
const { DAY, ROLLUPS, SUMS } = (await import(built('control/store/columns.js'))) as typeof ColumnsModule
const { bookSpending } = (await import(built('control/budgets/treasury.js'))) as typeof TreasuryModule
const { createPeriods } = (await import(built('control/store/periods.js'))) as typeof PeriodsModule

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
    isEstimated: false,
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

/** A query of the rows of a day. */
const everything = (from: number) => ({
  from,
  to: from + DAY,
  key: undefined,
  model: undefined,
  target: undefined,
  end_user: undefined,
  session: undefined,
  failed: false,
  before: undefined,
  limit: 20,
})

onEachEngine(make => {
  test('a record that comes twice is counted once in every rollup', async () => {
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

  test('rollups whose rows have all been deleted agree, and so do the accounts that they were booked in', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const now = Date.now()
    const accounts = ['key:k1/ever@ever', `key:k1/month@${new Date(now - 20 * DAY).toISOString().slice(0, 16)}Z`]
    const entries = await rowsOf([record(now - 5 * DAY, { accounts: JSON.stringify(accounts) })], store, price)
    await writeEntries(store, entries, 0, [trx => bookSpending(store, trx, 1, [{ accounts, holder: 'w', charge: 1_500 }])])
    expect(await verifyLedger(store)).toEqual({ rows: 1, differences: {} })
    await store.periods.drop('ledger', now)
    expect(await verifyLedger(store)).toEqual({ rows: 0, differences: {} })
    // What the accounts say of themselves is still compared.
    await store.db.updateTable('share').set({ spent: 0 }).execute()
    expect(Object.keys((await verifyLedger(store)).differences)).toEqual(accounts)
    await store.close()
  })

  test('the cost is null without a price, and never 0', async () => {
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

  test('rollups and rows give the same answer to the same query', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const day = Date.parse('2026-10-20T00:00:00Z')
    await add(
      store,
      Array.from({ length: 300 }, (_, index) =>
        record(day + index * 3_000_000, {
          key: `k${index % 5}`,
          model: `m${index % 4}`,
          team: `t${index % 3}`,
          ...(index % 2 === 0 && { region: 'eu' }),
          endUser: `u${index % 9}`,
          session: 's',
          words: { tags: ['a', 'b'] },
          tags: '["k"]',
        }),
      ),
    )
    const range = { from: day, to: day + 4 * 86_400_000, key: undefined, model: undefined, limit: 1000 }
    const sorted = (rows: Record<string, unknown>[]): string[] => rows.map(row => JSON.stringify(Object.entries(row).sort())).sort()
    // A range that starts at no boundary of a rollup, with no row before it.
    const names = ['key', 'team', 'group', 'model', 'target', 'route', 'region', 'tags'] as const
    const pairs = names.flatMap((one, index) => names.slice(index + 1).map(other => [one, other] as const))
    for (const by of [['end_user'], ['end_user', 'day'], ['model', 'day'], ['target', 'hour'], ...pairs] as const)
      expect(sorted(await usage(store, { ...range, by }))).toEqual(sorted(await usage(store, { ...range, to: range.to - 1, by })))
    const users = await usage(store, { ...range, by: ['end_user', 'tags'] })
    expect(users.length).toBe(9)
    expect(users[0]).toMatchObject({ tags: '["a","b","k"]' })
    expect((await usage(store, { ...range, by: ['model'], key: 'k1' })).reduce((sum, row) => sum + (row.n as number), 0)).toBe(23)
    expect(await usage(store, { ...range, by: ['model'], key: 'nobody' })).toEqual([])
    await store.close()
  })

  test('rows are listed page by page, and exported completely', async () => {
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
    const query = { ...everything(begin), to: begin + 1e9, key: 'k0', failed: true }
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

  test('costs by day have the columns of FOCUS, even after rows were deleted', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const day = Date.parse('2026-10-31T12:00:00Z')
    await add(store, [
      record(day, { tags: '["a","b"]', region: 'eu' }),
      record(day + 1, { tags: '["a","b"]', region: 'eu', input: 3 }),
      record(day + 2, { model: 'm2', target: 'down/m2', team: undefined }),
      record(day + DAY),
    ])
    await add(store, [record(day + 3, { tags: '["a","b"]', region: 'eu' })], 1)
    await store.db.deleteFrom('ledger').execute()
    const lines: Record<string, unknown>[] = []
    for await (const page of focusLines(store, { from: day, to: day + DAY / 2 }, 'USD')) lines.push(...page)
    expect(lines.map(line => line.ResourceId)).toEqual(['down/m2', 'up/m1'])
    expect(lines[1]).toEqual({
      BilledCost: 0.000_003,
      BillingAccountId: 'up',
      BillingAccountName: 'up',
      BillingCurrency: 'USD',
      BillingPeriodStart: '2026-10-01T00:00:00Z',
      BillingPeriodEnd: '2026-11-01T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargeClass: null,
      ChargeDescription: 'm1 at up/m1',
      ChargeFrequency: 'Usage-Based',
      ChargePeriodStart: '2026-10-31T00:00:00Z',
      ChargePeriodEnd: '2026-11-01T00:00:00Z',
      ConsumedQuantity: 38,
      ConsumedUnit: 'Tokens',
      ContractedCost: 0.000_003,
      EffectiveCost: 0.000_003,
      InvoiceIssuerName: 'up',
      ListCost: null,
      ProviderName: 'up',
      PublisherName: 'up',
      RegionId: 'eu',
      ResourceId: 'up/m1',
      ResourceName: 'm1',
      ResourceType: 'Model',
      ServiceCategory: 'AI and Machine Learning',
      ServiceName: 'chat',
      SkuId: 'up/m1',
      SubAccountId: 'red',
      SubAccountName: 'red',
      Tags: '{"a":true,"b":true}',
      x_Key: 'k1',
      x_Group: 'default',
      x_Requests: 3,
      x_UnpricedRequests: 0,
      x_InputTokens: 23,
      x_OutputTokens: 15,
      x_Charge: 0.000_004_5,
    })
    // A missing price is not 0.
    expect(lines[0]).toMatchObject({ BilledCost: null, x_Charge: null, x_UnpricedRequests: 1, SubAccountId: null, Tags: null })
    await store.close()
  })

  test('long texts are cut where a store can hold them, and lists only between their words', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const at = Date.parse('2026-11-21T12:00:00Z')
    const tags = Array.from({ length: 32 }, (_, index) => `${String(index).padStart(2, '0')}${'語'.repeat(62)}`)
    await add(store, [record(at, { key: `${'k'.repeat(255)}😀`, tags: JSON.stringify(tags) })])
    const { exchanges } = await listExchanges(store, everything(at))
    expect(exchanges[0]?.key).toMatch(/^k{255}.?$/)
    const kept = exchanges[0]?.tags as string[]
    expect(kept.length).toBeGreaterThan(5)
    expect(tags.slice(0, kept.length)).toEqual(kept)
    await store.close()
  })

  test('of a list that an earlier version cut, the whole words are read', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const at = Date.parse('2026-11-21T12:00:00Z')
    await add(store, [record(at, { tags: '["cut"]', facts: '{"cut":"cut"}' })])
    for (const [kind, text] of [
      ['tags', '["a","b\\"c","d\\'],
      ['facts', '{"tier":"flex","quality":"hi'],
    ] as const)
      await store.db.updateTable('name').set({ text }).where('kind', '=', kind).execute()
    const { exchanges } = await listExchanges(store, everything(at))
    expect(exchanges).toMatchObject([{ tags: ['a', 'b"c'], facts: { tier: 'flex' } }])
    const lines: Record<string, unknown>[] = []
    for await (const page of focusLines(store, { from: at, to: at + DAY / 2 }, 'USD')) lines.push(...page)
    expect(lines.map(line => line.Tags)).toEqual(['{"a":true,"b\\"c":true}'])
    await store.close()
  })

  test('a row keeps every meter and every fact that a price depends on', async () => {
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

  test('rollups are the sums of their rows in each group, whoever wrote the rows and however often', async () => {
    const store = await openStore({ at: await make(), mayMigrate: true })
    const begin = Date.parse('2026-11-20T22:00:00Z')
    const one = fc.record({
      at: fc.nat(6 * 3_600_000).map(time => begin + time),
      key: fc.constantFrom('k1', 'k2', undefined),
      team: fc.constantFrom('red', undefined),
      model: fc.constantFrom('m1', 'm2', undefined),
      route: fc.constantFrom('chat', 'messages'),
      status: fc.constantFrom(200, 429, 503),
      ended: fc.nat(5),
      input: fc.option(fc.nat(1000), { nil: undefined }),
      user: fc.constantFrom('ann', undefined),
    })
    const batches = fc.array(fc.tuple(fc.nat(2), fc.array(one, { maxLength: 12 })), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(batches, async drawn => {
        for (const [part, exchanges] of drawn) {
          const records = exchanges.map(({ at, user, ...more }) => record(at, { ...more, endUser: user }))
          await add(store, records, part)
          await add(store, records, part + 1)
        }
        const expected = sumsOf(await store.db.selectFrom('ledger').selectAll().execute(), 0)
        for (const name of Object.keys(ROLLUPS) as (keyof typeof ROLLUPS)[]) {
          const by = ROLLUPS[name].filter(column => column !== 'part')
          const found = await store.db.selectFrom(name).selectAll().execute()
          const groups = new Map<string, number[]>()
          for (const row of found as unknown as Record<string, number>[]) {
            const at = by.map(column => row[column]).join()
            const sums = groups.get(at) ?? SUMS.map(() => 0)
            groups.set(
              at,
              sums.map((sum, index) => sum + (row[SUMS[index] as string] as number)),
            )
          }
          const lists = expected[name].map(list => [list.slice(0, by.length).join(), list.slice(by.length + 1)] as const)
          expect(groups).toEqual(new Map(lists))
        }
      }),
      { numRuns: 12 },
    )
    expect((await verifyLedger(store)).differences).toEqual({})
    await store.close()
  })

  test('a store of any earlier version is migrated, and keeps its counts', async () => {
    const day = Math.floor(Date.now() / DAY) - 3
    const newest = engineAt(await make())
    const steps = (await migratorOf(newest).getMigrations()).map(one => one.name)
    await newest.db.destroy()
    expect(steps.length).toBeGreaterThan(10)
    for (const step of steps.slice(0, -1)) {
      const at = await make()
      const engine = engineAt(at)
      const { error } = await migratorOf(engine).migrateTo(step)
      expect(error).toBeUndefined()
      // A row of the ledger, which its rollups contain; and rollups of a day whose rows have been deleted.
      const old = record(day * DAY)
      await createPeriods(engine).ensure([old.at])
      const { db } = engine as unknown as { db: Kysely<Record<string, Record<string, unknown>>> }
      const named = await db
        .insertInto('name')
        .values([
          { kind: 'key', text: 'k1' },
          { kind: 'model', text: 'm1' },
        ])
        .returning('id')
        .execute()
      const [key, model] = named.map(row => row.id)
      const known = { at: old.at, status: 200, ended: 0, flags: 0, attempts: 1, total_ms: 12, bytes_in: 1, bytes_out: 1 }
      await db
        .insertInto('ledger')
        .values({ ...known, id: old.id, key, model, input: 10, output: 5, cost: 1_000, charge: 1_500 })
        .execute()
      const sums: Record<string, unknown> = { n: 1, input: 10, output: 5, cost: 1_000, charge: 1_500, ms_sum: 12, key, model }
      // Whatever rollups that version had, with whatever columns.
      for (const { name, columns } of await engine.db.introspection.getTables()) {
        if (!/^(hour|day)/.test(name)) continue
        const row = Object.fromEntries(columns.map(column => [column.name, sums[column.name] ?? 0]))
        const time = name.startsWith('hour') ? 'hour' : 'day'
        await db
          .insertInto(name)
          .values({ ...row, [time]: time === 'hour' ? day * 24 : day })
          .execute()
        if (time === 'day')
          await db
            .insertInto(name)
            .values({ ...row, day: day - 100, part: 3, n: 7 })
            .execute()
      }
      await engine.db.destroy()

      const again = await openStore({ at, mayMigrate: true })
      expect(await showExchange(again, old.id)).toMatchObject({ id: old.id, input: 10, image: null, second: null, region: null })
      expect(await verifyLedger(again)).toEqual({ rows: 1, differences: {} })
      const range = { from: (day - 200) * DAY, to: Date.now() + DAY, key: undefined, model: undefined, limit: 10 }
      expect(await usage(again, { ...range, by: ['key', 'model'] })).toMatchObject([{ key: 'k1', model: 'm1', n: 8, input: 20 }])
      expect(await usage(again, { ...range, by: ['key'] })).toMatchObject([{ key: 'k1', n: 8 }])
      expect(await usage(again, { ...range, by: ['hour', 'model'] })).toMatchObject([{ model: 'm1', n: 1, input: 10 }])
      expect(await usage(again, { ...range, by: ['end_user'] })).toMatchObject([{ end_user: null, n: 8 }])
      await add(again, [record(old.at)])
      expect((await verifyLedger(again)).differences).toEqual({})
      await again.close()
    }
  })

  test('what an earlier version counted as free, because it had no tokens, has an unknown price', async () => {
    const at = await make()
    const engine = engineAt(at)
    expect((await migratorOf(engine).migrateTo('0012-retention')).error).toBeUndefined()
    const day = Math.floor(Date.now() / DAY) - 3
    await createPeriods(engine).ensure([day * DAY])
    const { db } = engine as unknown as { db: Kysely<Record<string, Record<string, unknown>>> }
    const [model] = await db.insertInto('name').values({ kind: 'model', text: 'm1' }).returning('id').execute()
    const known = { status: 200, ended: 0, flags: 0, attempts: 1, total_ms: 12, bytes_in: 1, bytes_out: 1, model: model?.id }
    const rows = [{ second: 10 }, { image: 2 }, { image: 1, cost: 5, charge: 5 }, { request: 1 }].map(more => {
      const { id, at } = record(day * DAY)
      return { ...known, id, at, ...more }
    })
    for (const row of rows) await db.insertInto('ledger').values(row).execute()
    const sums: Record<string, unknown> = { n: 2, cost: 5, charge: 5, ms_sum: 24, model: model?.id }
    for (const [name, [time]] of Object.entries(ROLLUPS)) {
      const columns = [...ROLLUPS[name as keyof typeof ROLLUPS], ...SUMS]
      // Two parts, as two instances make them.
      for (const part of [1, 2]) {
        const row = {
          ...Object.fromEntries(columns.map(column => [column, sums[column] ?? 0])),
          [time]: time === 'hour' ? day * 24 : day,
          part,
        }
        await db
          .insertInto(name)
          .values(part === 1 ? row : { ...row, cost: 0, charge: 0 })
          .execute()
      }
    }
    await engine.db.destroy()
    const again = await openStore({ at, mayMigrate: true })
    expect(await verifyLedger(again)).toEqual({ rows: 4, differences: {} })
    const range = { from: (day - 1) * DAY, to: Date.now(), key: undefined, model: undefined, limit: 10 }
    expect(await usage(again, { ...range, by: ['model'] })).toMatchObject([{ model: 'm1', n: 4, unpriced: 2 }])
    await again.close()
  })

  test('usage by tags includes what was counted before its rollup existed', async () => {
    const at = await make()
    const engine = engineAt(at)
    expect((await migratorOf(engine).migrateTo('0009-hour-model')).error).toBeUndefined()
    const { db } = engine as unknown as { db: Kysely<Record<string, Record<string, unknown>>> }
    const texts = [
      { kind: 'tags', text: '["a"]' },
      { kind: 'model', text: 'm1' },
    ]
    const [tags, model] = (await db.insertInto('name').values(texts).returning('id').execute()).map(row => row.id)
    const day = Math.floor(Date.now() / DAY) - 100
    const counted = {
      ...Object.fromEntries(SUMS.map(name => [name, 0])),
      day,
      team: 0,
      grp: 0,
      model,
      target: 0,
      route: 0,
      region: 0,
      part: 0,
    }
    await db
      .insertInto('day_all')
      .values([
        { ...counted, key: 1, tags, n: 3, input: 30 },
        { ...counted, key: 2, tags, n: 4, input: 40 },
        { ...counted, key: 2, tags: 0, n: 1, input: 10 },
      ])
      .execute()
    await engine.db.destroy()

    const again = await openStore({ at, mayMigrate: true })
    const range = { from: (day - 1) * DAY, to: Date.now() + DAY, key: undefined, model: undefined, limit: 10 }
    expect(await usage(again, { ...range, by: ['tags', 'model'] })).toMatchObject([
      { tags: '["a"]', model: 'm1', n: 7, input: 70 },
      { tags: null, model: 'm1', n: 1, input: 10 },
    ])
    await again.close()
  })
})
