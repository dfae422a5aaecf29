// The ledger compared with providers' bills: by day and model, for each kind of export.

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ExchangeRecord } from '../../control/ledger/record.js'
import type * as RowsModule from '../../control/ledger/rows.js'
import type * as WriteModule from '../../control/ledger/write.js'
import { MAIN, run } from '../command.js'
import { type Answer, createStage, type Instance, type Stage } from './stage.js'
import { onEachEngine, openStore } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { rowsOf } = (await import(built('control/ledger/rows.js'))) as typeof RowsModule
const { writeEntries } = (await import(built('control/ledger/write.js'))) as typeof WriteModule

const DAY = 86_400_000
const FIRST = Math.floor(Date.now() / DAY) * DAY - 3 * DAY
const dayOf = (day: number): string => new Date(FIRST + day * DAY).toISOString().slice(0, 10)

/** An exchange of a day: its cost in nano-units. */
function exchange(day: number, target: string, cost: number): ExchangeRecord {
  const at = FIRST + day * DAY + 3_600_000
  return {
    id: at.toString(16).padStart(12, '0') + randomBytes(10).toString('hex'),
    at,
    key: 'k',
    group: 'default',
    model: 'm',
    target,
    route: 'chat',
    status: 200,
    ended: 0,
    isStream: false,
    isEstimated: false,
    input: 1_000,
    output: 100,
    cached: 400,
    attempts: 1,
    total: 10,
    bytesIn: 1,
    bytesOut: 1,
    cost,
    charge: cost,
  }
}

const LEDGER = [
  exchange(0, 'openai/gpt-5-nano', 2e9),
  exchange(0, 'openai/gpt-5-nano-2025-08-07', 1e9),
  exchange(1, 'openai/gpt-5-nano', 4e9),
  exchange(0, 'claude/claude-haiku-4-5', 3e9),
  exchange(1, 'claude/claude-haiku-4-5', 5e9),
  // Of no concern to either.
  exchange(0, 'elsewhere/gpt-5-nano', 7e9),
  ...Array.from({ length: 10_100 }, (_, index) => ({ ...exchange(0, 'up/gpt-5-nano', 7e9), key: `k${index % 10_050}` })),
]

const bucket = (day: number, results: object[]): object => ({
  object: 'bucket',
  start_time: (FIRST + day * DAY) / 1000,
  end_time: (FIRST + (day + 1) * DAY) / 1000,
  results,
})
const spent = (value: number, line_item: string | null): object => ({
  object: 'organization.costs.result',
  amount: { value, currency: 'usd' },
  line_item,
  project_id: null,
})
const page = (data: object[], more = {}): string => JSON.stringify({ object: 'page', data, has_more: false, next_page: null, ...more })
const reported = (day: number, results: object[]): object => ({
  starting_at: `${dayOf(day)}T00:00:00Z`,
  ending_at: `${dayOf(day + 1)}T00:00:00Z`,
  results,
})

onEachEngine((make, kind) => {
  let stage: Stage
  let gateway: Instance
  beforeAll(async () => {
    stage = await createStage()
    const at = kind === 'postgres' ? await make() : undefined
    const upstream = (provider: string): object => ({ provider, base: stage.simulator.url, secret: 'none' })
    gateway = await stage.start({
      store: at === undefined ? 'sqlite' : { at },
      upstreams: { up: upstream('ollama'), openai: upstream('openai'), claude: upstream('anthropic'), elsewhere: upstream('ollama') },
    })
    const store = await openStore({ at: at ?? join(gateway.folder, 'data', 'sluice.sqlite'), mayMigrate: true })
    const price = ({ cost = 0 }: ExchangeRecord) => ({ cost, charge: cost, set: 'x' })
    await writeEntries(store, await rowsOf(LEDGER, store, price), 0, [])
    await store.close()
  })
  afterAll(() => stage?.close())

  const reconcile = async (name: string, text: string, ...words: string[]): ReturnType<Instance['command']> => {
    writeFileSync(join(gateway.folder, name), text)
    return gateway.command('ledger', 'reconcile', name, ...words)
  }

  test('usage has all rows, in pages that follow each other', async () => {
    const { code, out, err } = await gateway.command('usage', '--by', 'key,day', '--json')
    expect([code, err]).toEqual([0, ''])
    const { rows, currency } = JSON.parse(out) as { rows: { key: string; n: number }[]; currency: string }
    // Those of up, and of the others two days.
    expect([rows.length, new Set(rows.map(row => row.key)).size, currency]).toEqual([10_052, 10_051, 'USD'])
    expect(rows.reduce((sum, row) => sum + row.n, 0)).toBe(LEDGER.length)
    const paged: unknown[] = []
    for (const by of ['key,day', 'status,key,day']) {
      for (let after: string | null = ''; after !== null; ) {
        const answer: Answer<{ rows: object[]; next: string | null }> = await gateway.admin(
          'GET',
          `/usage?by=${by}&limit=4000${after && `&after=${after}`}`,
        )
        expect(answer.body.rows.length).toBeLessThanOrEqual(4_000)
        paged.push(...answer.body.rows)
        after = answer.body.next
      }
    }
    const names = (list: readonly object[]): string[] =>
      list.map(row => JSON.stringify([(row as { key: string }).key, (row as { day: string }).day]))
    expect(names(paged as object[])).toEqual([...names(rows), ...names(rows)])
    expect((await gateway.admin('GET', '/usage?by=key&after=1.2.3')).body).toMatchObject({ status: 422, field: 'after' })
  })

  test('who reads only the beginning of an export gets no error', async () => {
    const words = '"$0" "$1" ledger export | head -c 4; echo ":${PIPESTATUS[0]}"'
    expect(await run('bash', ['-c', words, process.execPath, MAIN], gateway.folder)).toMatchObject({
      out: expect.stringMatching(/:0\n$/),
      err: '',
    })
  })

  describe('the export of a provider', () => {
    test('agrees with the ledger: costs of OpenAI as JSON and CSV, with dated names and line items of one model added up', async () => {
      const json = page([
        bucket(0, [spent(1.2, 'gpt-5-nano-2025-08-07, input_tokens'), spent(1.8, 'gpt-5-nano-2025-08-07, output_tokens')]),
        bucket(1, [spent(4.004, 'gpt-5-nano, output_tokens')]),
      ])
      const { code, out, err } = await reconcile('costs.json', json)
      expect([code, err]).toEqual([0, ''])
      expect(out).toBe(
        `openai (openai), ${dayOf(0)} to ${dayOf(1)}: cost 7.004000 USD, ledger 7.000000 USD\ncompared (a model and a day each): 2; differences: 0`,
      )
      const start = (day: number): number => (FIRST + day * DAY) / 1000
      const csv = [
        'start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,quantity,quantity_unit,line_item,project_id',
        `${start(-1)},${start(0)},x,x,,,,,,`,
        `${start(0)},${start(1)},x,x,3.0000000,usd,1000,tokens,"gpt-5-nano, input_tokens",proj`,
        `${start(1)},${start(2)},x,x,4,usd,1000,tokens,"gpt-5-nano, input_tokens",proj`,
      ].join('\n')
      expect(await reconcile('costs.csv', csv)).toMatchObject({ code: 0, err: '' })
    })

    test('agrees with the ledger: costs of Anthropic in cents as JSON, and with display names as CSV', async () => {
      const tokens = (amount: string): object => ({ amount, currency: 'USD', cost_type: 'tokens', model: 'claude-haiku-4-5-20251001' })
      const json = page([reported(0, [tokens('100.5'), tokens('199.5')]), reported(1, [tokens('500')])])
      expect(await reconcile('report.json', json)).toMatchObject({ code: 0, err: '' })
      const csv = [
        'usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,list_price_usd,cost_type',
        `${dayOf(0)},Claude Haiku 4.5,Default,k,message,≤ 200k,input_no_cache,1,1,token`,
        `${dayOf(0)},Claude Haiku 4.5,Default,k,message,≤ 200k,output,2,2,token`,
        `${dayOf(1)},Claude Haiku 4.5,Default,k,message,≤ 200k,output,5,5,token`,
      ].join('\n')
      expect(await reconcile('console.csv', csv)).toMatchObject({ code: 0, err: '' })
    })

    test('differs from the ledger on a day for which the provider reports nothing', async () => {
      const json = page([bucket(0, [spent(3, 'gpt-5-nano, input_tokens')]), bucket(1, [])])
      const { code, out } = await reconcile('empty.json', json)
      expect([code, out.split('\n')[1]?.replaceAll(/ {2,}/g, ' | ')]).toEqual([1, `${dayOf(1)} | gpt-5-nano | cost | - | 4.000000 USD | -`])
      const tokens = (amount: string): object => ({ amount, currency: 'USD', cost_type: 'tokens', model: 'claude-haiku-4-5' })
      expect((await reconcile('empty2.json', page([reported(0, [tokens('300')]), reported(1, [])]))).code).toBe(1)
    })

    test('differs from the ledger where no compared day has a row', async () => {
      const start = (day: number): number => (FIRST + day * DAY) / 1000
      const header =
        'start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,quantity,quantity_unit,line_item,project_id'
      const today = [spent(1, 'gpt-5-nano, input_tokens')]
      for (const [name, text] of [
        // The only row is of a day that has not ended.
        ['today.json', page([bucket(1, []), bucket(3, today)])],
        ['blank.csv', `${header}\n${start(1)},${start(2)},x,x,,,,,,`],
        ['no-rows.json', page([bucket(1, [])])],
        ['no-rows2.json', page([reported(1, [])])],
        ['pages.json', `[${page([bucket(1, [])])},${page([bucket(0, [spent(3, 'gpt-5-nano, input_tokens')])])}]`],
      ] as const) {
        const { code, out, err } = await reconcile(name, text)
        expect([name, code, err, out]).toEqual([name, 1, '', expect.stringMatching(new RegExp(`^${dayOf(1)} .* cost +- +[45]\\.0`, 'm'))])
      }
    })

    test('differs from the ledger: another price, a billed model that is unknown, a known model that is not billed', async () => {
      const json = page([
        bucket(0, [spent(3.3, 'gpt-5-nano, input_tokens'), spent(0.5, 'code interpreter sessions'), spent(0.002, 'rounding')]),
        bucket(1, [spent(0.4, 'gpt-6, output')]),
      ])
      const { code, out } = await reconcile('different.json', json)
      expect(code).toBe(1)
      expect(out.split('\n').map(line => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
        'day | model | figure | provider | ledger | difference',
        `${dayOf(0)} | code-interpreter-sessions | cost | 0.500000 USD | - | -100.0 %`,
        `${dayOf(0)} | gpt-5-nano | cost | 3.300000 USD | 3.000000 USD | -9.1 %`,
        `${dayOf(1)} | gpt-5-nano | cost | - | 4.000000 USD | -`,
        `${dayOf(1)} | gpt-6 | cost | 0.400000 USD | - | -100.0 %`,
        '',
        `openai (openai), ${dayOf(0)} to ${dayOf(1)}: cost 4.202000 USD, ledger 7.000000 USD`,
        'compared (a model and a day each): 5; differences: 4',
      ])
      expect((await reconcile('different.json', json, '--tolerance', '10%', '--least', '4.5')).code).toBe(0)
      const { differences } = JSON.parse((await reconcile('different.json', json, '--json')).out) as { differences: object[] }
      expect(differences[1]).toMatchObject({ model: 'gpt-5-nano', figure: 'cost', provider: 3.3, ledger: 3 })
    })

    test('is compared by tokens and requests if it has usage, and with the upstreams that are named', async () => {
      const used = (input_tokens: number): object => ({
        object: 'organization.usage.completions.result',
        input_tokens,
        output_tokens: 200,
        input_cached_tokens: 800,
        num_model_requests: 2,
        model: 'gpt-5-nano-2025-08-07',
      })
      expect(await reconcile('usage.json', page([bucket(0, [used(2_000)])]))).toMatchObject({ code: 0, err: '' })
      const { code, out } = await reconcile('usage.json', page([bucket(0, [used(2_500)])]))
      expect([code, out]).toEqual([1, expect.stringContaining('input')])
      const json = page([bucket(0, [spent(7, 'gpt-5-nano, input')])])
      expect((await reconcile('costs.json', json, '--upstream', 'elsewhere')).code).toBe(0)
    })

    test('may have its pages in several files, and its days are in UTC wherever it is read', async () => {
      const first = page([bucket(0, [spent(3, 'gpt-5-nano, input')])], { has_more: true, next_page: 'page_2' })
      writeFileSync(join(gateway.folder, 'first.json'), first)
      const second = page([bucket(1, [spent(4, 'gpt-5-nano, input')])])
      writeFileSync(join(gateway.folder, 'second.json'), second)
      expect(await gateway.command('ledger', 'reconcile', 'first.json', 'second.json')).toMatchObject({ code: 0, err: '' })
      expect((await gateway.command('ledger', 'reconcile', 'second.json', 'first.json')).err).toContain('first.json continues with')
      writeFileSync(join(gateway.folder, 'utc.csv'), `usage_date_utc,model,cost_usd\n${dayOf(0)} 00:00:00,Claude Haiku 4.5,3\n`)
      const words = ['ledger', 'reconcile', 'utc.csv', '--json']
      const { code, out } = await run(process.execPath, [MAIN, ...words], gateway.folder, { TZ: 'Asia/Tokyo' })
      expect([code, JSON.parse(out).days]).toEqual([0, [dayOf(0)]])
    })

    // Nothing of it is the store's.
    test.skipIf(kind === 'postgres')('is refused with a reason if it cannot be compared', async () => {
      for (const [text, said] of [
        ['{"data":[{"some":"thing"}]}', /is not a known export/],
        ['{"data":', /neither JSON nor CSV/],
        [page([bucket(0, [spent(1, null)])]), /group_by\[\]=line_item/],
        [page([bucket(0, [spent(1, 'x, y')])], { has_more: true, next_page: 'page_2' }), /continues with the page page_2/],
        [page([bucket(0, [{ ...spent(1, 'gpt-5-nano, x'), amount: { value: 1, currency: 'eur' } }])]), /in EUR, and the ledger in USD/],
        [page([{ ...bucket(0, []), start_time: 1e20 }]), /has a row with the date 100000000000000000000, which is not valid/],
        ['usage_date_utc,model,cost_usd\n2026-11-03,claude-haiku-4-5,"1,200.5"\n', /has a value that cannot be read: .*"1,200.5"/],
        ['usage_date_utc,model,cost_usd\n11/03/2026,claude-haiku-4-5,1\n', /has a row with the date 11\/03\/2026, which is not valid/],
      ] as const) {
        const { code, err } = await reconcile('refused.json', text)
        expect(code).toBe(1)
        expect(err).toMatch(said)
        expect(err.trimEnd()).not.toContain('\n')
      }
      // A day that is not over has not been billed as a whole.
      const now = page([bucket(3, [spent(1, 'gpt-5-nano, x')])])
      expect(await reconcile('today.json', now)).toMatchObject({ code: 1, out: expect.stringContaining('No day of the export has ended.') })
    })
  })
})
