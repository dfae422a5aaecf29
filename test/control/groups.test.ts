// The groups of a key: the models that it may use and see, its charges and its limits, for keys of the file and of the store.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Instance, type Stage, until } from './stage.js'

const OWN = `title: Own
source: this test
read: 2026-11-01
models:
  sim-2-empty: { prices: [{ from: 2026-01-01, input: 2, output: 10 }] }
  sim-20-20ms: { prices: [{ from: 2026-01-01, input: 2, output: 10, request: 0.5, regions: { eu: 1.1 } }] }
`
let stage: Stage
let gateway: Instance
const folder = mkdtempSync(join(tmpdir(), 'sluice-g-'))
beforeAll(async () => {
  stage = await createStage()
  mkdirSync(join(folder, 'models'))
  writeFileSync(join(folder, 'models', 'own.yaml'), OWN)
  gateway = await stage.start(
    {
      admin: { listen: '127.0.0.1:0' },
      expose: ['cost'],
      keys: [
        { name: 'file', value: FILE_KEY },
        { name: 'student', value: 'key-of-a-student', groups: ['students', 'silent'] },
      ],
      key_limits: { requests: '1000/1m' },
      groups: {
        students: { models: ['sim', 'costly*'], times: 1.5, key_limits: { requests: '3/1h' } },
        silent: { hidden: true, limits: { in_flight: 100 } },
        staff: {},
        secretgroup: { hidden: true, models: ['sim', 'failing'], times: 3, budget: '1000/month' },
      },
      upstreams: {
        up: { provider: 'openai', base: stage.simulator.url, secret: 'none' },
        cheap: { provider: 'openai', base: stage.simulator.url, secret: 'none', times: 0.5 },
        counter: { provider: 'anthropic', base: stage.simulator.url, secret: 'none' },
      },
      models: {
        sim: { targets: [{ upstream: 'up' }], price: { input: 1, output: 5 } },
        'sim-200-20ms': { targets: [{ upstream: 'up' }] },
        // The catalogue has the price of this one.
        'costly-1': { targets: [{ upstream: 'cheap', model: 'sim-2-empty' }], groups: ['staff'] },
        regional: { targets: [{ upstream: 'cheap', model: 'sim-20-20ms', traits: { region: 'eu' } }] },
        known: { targets: [{ upstream: 'cheap', model: 'sim-4', known_as: 'sim-2-empty' }], groups: ['staff'] },
        'by-*': { targets: [{ upstream: 'cheap', model: 'sim-*' }], groups: ['staff'] },
        listed: { targets: [{ upstream: 'up', model: 'sim-2-empty' }] },
        counting: { targets: [{ upstream: 'counter', model: 'sim' }], groups: ['staff'] },
        failing: { targets: [{ upstream: 'up', model: 'sim-error-500' }], groups: ['staff'], price: { input: 1, output: 5 } },
      },
    },
    folder,
  )
})
afterAll(async () => {
  await stage?.close()
  rmSync(folder, { recursive: true, force: true })
})

const make = async (name: string, fields: Record<string, unknown> = {}): Promise<string> => {
  const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name, ...fields })
  return body.secret
}
interface Listed {
  id: string
  pricing?: Record<string, unknown>
}
const modelsOf = async (key: string): Promise<string[]> => {
  const response = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  return ((await response.json()) as { data: Listed[] }).data.map(one => one.id)
}
interface Row {
  status: number
  id: string
  input: number
  output: number
  cost: number | null
  charge: number | null
}
const rowOf = async (response: Response): Promise<Row> => {
  await response.text()
  const id = response.headers.get('x-request-id')
  const { body } = await until(
    () => gateway.admin<Row>('GET', `/exchanges/${id}`),
    answer => answer.status === 200,
  )
  return body
}

test('a group with `models` may use only these models, even if others name the group', async () => {
  const stored = await make('stored-student', { groups: ['students'] })
  for (const key of ['key-of-a-student', stored]) {
    expect(await modelsOf(key)).toEqual(['costly-1', 'sim'])
    expect((await ask(gateway.url, key, 'listed')).status).toBe(403)
  }
  expect(await modelsOf(FILE_KEY)).toEqual(['listed', 'regional', 'sim', 'sim-200-20ms'])
  expect((await ask(gateway.url, FILE_KEY, 'costly-1')).status).toBe(403)
})

test('the charge is the cost times the factor of the first group, and missing without a price', async () => {
  const plain = await rowOf(await ask(gateway.url, FILE_KEY))
  expect(plain.cost).toBe(plain.input * 1_000 + plain.output * 5_000)
  expect(plain.charge).toBe(plain.cost)
  const stored = await make('charged', { groups: ['students', 'default'] })
  const response = await ask(gateway.url, stored)
  const row = await rowOf(response)
  expect([row.cost, row.charge]).toEqual([plain.cost, (plain.cost as number) * 1.5])
  expect(response.headers.get('x-sluice-cost')).toBe(String((row.charge as number) / 1e9))
  const free = await rowOf(await ask(gateway.url, FILE_KEY, 'sim-200-20ms'))
  expect([free.cost, free.charge]).toEqual([null, null])
})

test("the cost at an upstream with `times` is that part of the catalogue's price", async () => {
  const whole = await rowOf(await ask(gateway.url, FILE_KEY, 'listed'))
  const part = await rowOf(await ask(gateway.url, await make('staff', { groups: ['staff'] }), 'costly-1'))
  expect(whole.cost).toBeGreaterThan(0)
  expect([part.input, part.output]).toEqual([whole.input, whole.output])
  expect(part.cost).toBe((whole.cost as number) / 2)
})

test('`key_limits` of a group limit each key of the store separately', async () => {
  const [one, other] = [await make('one', { groups: ['students'] }), await make('other', { groups: ['students'] })]
  const statuses: number[] = []
  for (let count = 0; count < 4; count++) statuses.push((await ask(gateway.url, one)).status)
  expect(statuses).toEqual([200, 200, 200, 429])
  expect((await ask(gateway.url, other)).status).toBe(200)
  // The key is looked up again, and its usage stays.
  expect((await gateway.admin('PATCH', '/keys/one', { tags: ['changed'] })).status).toBe(200)
  expect((await ask(gateway.url, one)).status).toBe(429)
})

test('callers never see a hidden group', async () => {
  const page = (key: string): Promise<{ groups: string[] }> =>
    fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } }).then(
      response => response.json() as Promise<{ groups: string[] }>,
    )
  expect((await page('key-of-a-student')).groups).toEqual(['students'])
})

describe('a token that is bound to keys', () => {
  type Seen = Record<string, unknown>
  const ROWS = '/exchanges?key=holder'
  let token = ''
  beforeAll(async () => {
    const key = await make('holder', { groups: ['secretgroup'], budgets: [{ limit: '5/day' }] })
    for (const model of ['sim', 'failing']) await (await ask(gateway.url, key, model)).text()
    const { body } = await gateway.admin<{ secret: string }>('POST', '/tokens', { name: 'holder', role: 'member', keys: ['holder'] })
    token = body.secret
    const rows = async (): Promise<number> => (await gateway.admin<{ exchanges: Seen[] }>('GET', ROWS)).body.exchanges.length
    await until(rows, count => count === 2)
  })
  const asked = async (path: string, method = 'GET'): Promise<{ status: number; text: string }> => {
    const { admin } = JSON.parse(gateway.log.find(line => line.includes('control process is ready')) as string) as { admin: string }
    const response = await fetch(`${admin}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(method === 'POST' && { 'content-type': 'application/json' }) },
      ...(method === 'POST' && { body: '{}' }),
    })
    return { status: response.status, text: await response.text() }
  }
  /** The members that the owner sees, and the token does not. */
  const hidden = (owners: Seen, members: Seen): string[] => Object.keys(owners).filter(name => !(name in members))

  test('shows no hidden group, no target and no cost in any answer', async () => {
    const { body } = await gateway.admin<{ exchanges: Seen[] }>('GET', ROWS)
    expect(JSON.stringify(body)).toMatch(/secretgroup.*up\/sim/)
    const paths = ['/exchanges', '/usage?by=key', '/usage?by=model,day,key', '/usage?by=session', '/keys', '/keys/holder']
    for (const path of [...paths, ...body.exchanges.map(({ id }) => `/exchanges/${id}`)]) {
      const { status, text } = await asked(path)
      expect([path, status]).toEqual([path, 200])
      expect(text).not.toMatch(/secretgroup|up\/|"(cost|target|groups?)"/)
    }
    const rotated = await asked('/keys/holder/rotate', 'POST')
    expect([rotated.status, rotated.text]).toEqual([200, expect.stringMatching(/^(?!.*secretgroup).*"secret":"sk-slc_/)])
  })

  test('shows everything else', async () => {
    const { body } = await gateway.admin<{ exchanges: Seen[] }>('GET', ROWS)
    const seen = JSON.parse((await asked('/exchanges')).text) as { exchanges: Seen[]; next: null }
    expect(seen.exchanges.map(({ id, charge }) => [id, charge])).toEqual(body.exchanges.map(({ id, charge }) => [id, charge]))
    expect(hidden(body.exchanges[0] as Seen, seen.exchanges[0] as Seen).sort()).toEqual(
      ['group', 'target', 'upstream_dialect', 'price_set', 'budgets', 'region', 'cost'].sort(),
    )
    const failed = body.exchanges.find(({ status }) => (status as number) >= 400)?.id
    const [owners, members] = [await gateway.admin<{ detail: Seen }>('GET', `/exchanges/${failed}`), await asked(`/exchanges/${failed}`)]
    expect(members.text).toContain(JSON.stringify({ message: owners.body.detail.message }).slice(1, -1))
    const usage = await gateway.admin<{ rows: Seen[] }>('GET', '/usage?by=key&key=holder')
    const row = (JSON.parse((await asked('/usage?by=key')).text) as { rows: Seen[] }).rows[0] as Seen
    expect(hidden(usage.body.rows[0] as Seen, row)).toEqual(['cost'])
    const key = JSON.parse((await asked('/keys/holder')).text) as Seen
    expect([hidden((await gateway.admin<Seen>('GET', '/keys/holder')).body, key), key.budgets]).toEqual([['groups'], [{ limit: '5/day' }]])
  })

  test.each(['/exchanges?target=up%2Fsim', '/usage?by=group', '/usage?by=target', '/usage?by=day,region'])(
    'cannot find it out with %s',
    async path => {
      const { status, text } = await asked(path)
      expect([status, JSON.parse(text)]).toEqual([403, expect.objectContaining({ code: 'role' })])
    },
  )

  test('can be used with the commands', async () => {
    const { admin } = JSON.parse(gateway.log.find(line => line.includes('control process is ready')) as string) as { admin: string }
    process.env.SLUICE_ADMIN_TOKEN = token
    for (const words of ['usage --by key', 'ledger list', 'keys list']) {
      const { code, out, err } = await gateway.command(...words.split(' '), '--url', admin)
      expect([code, err]).toEqual([0, ''])
      expect(out).not.toMatch(/NaN|undefined|secretgroup/)
    }
    delete process.env.SLUICE_ADMIN_TOKEN
  })
})

describe('sluice cost', () => {
  const told = async (key: string, model: string): Promise<{ out: string; row: Row }> => {
    const row = await rowOf(await ask(gateway.url, key, model))
    const { code, err, out } = await gateway.command('cost', row.id)
    expect([code, err]).toEqual([0, ''])
    return { out, row }
  }

  test('explains a charge term by term, with the line of each price and factor', async () => {
    const { out, row } = await told(await make('explained', { groups: ['staff'] }), 'costly-1')
    // It says nothing, and so has no tokens of output.
    const [head, input, upstream, cost, charge, ...more] = out.split('\n')
    expect(head).toMatch(/^[0-9a-f]{32} .* costly-1 → cheap\/sim-2-empty$/)
    expect(input).toMatch(new RegExp(`^  input +${row.input} × 2 USD a million × 0\\.5 = .* USD  \\(models/own\\.yaml:5\\)$`))
    expect(upstream).toMatch(/^ +× 0\.5 of the upstream cheap {2}\(gateway\.yaml:\d+\)$/)
    expect(cost).toBe(`  cost         ${(row.cost as number) / 1e9} USD`)
    expect(charge).toBe(`  charge       ${(row.charge as number) / 1e9} USD`)
    expect(more).toEqual([])
  })

  test('shows the factor of a region, and costs besides tokens', async () => {
    const { out, row } = await told(FILE_KEY, 'regional')
    expect(out).toMatch(/^ {2}request +1 × 0\.5 USD each × 0\.5 = 0\.25 USD {2}\(models\/own\.yaml:6\)$/m)
    expect(out).toMatch(/^ +× 1\.1 of the region eu {2}\(models\/own\.yaml:6\)$/m)
    const cost = Math.round(((row.input * 1e3 + row.output * 5e3 + 0.25e9) * 11) / 10)
    expect(row.cost).toBe(cost)
    expect(out).toContain(`  cost         ${cost / 1e9} USD`)
    expect(out).not.toContain('The ledger has')
  })

  test('finds the price of a model that the catalogue knows by another name', async () => {
    const { out, row } = await told(await make('knowing', { groups: ['staff'] }), 'known')
    expect(row.cost).toBe((row.input * 2e3 + row.output * 1e4) / 2)
    expect(out).toContain(`  cost         ${(row.cost as number) / 1e9} USD`)
    expect(out).toContain('(models/own.yaml:5)')
    expect(out).not.toContain('The ledger has')
  })

  test('says that a row of a pattern does not have the name of its model', async () => {
    const row = await rowOf(await ask(gateway.url, await make('by', { groups: ['staff'] }), 'by-2-empty'))
    expect(row.cost).toBeGreaterThan(0)
    expect(await gateway.command('cost', row.id)).toMatchObject({
      code: 1,
      err: `The exchange ${row.id} is of the pattern by-*, and its row does not have the model's name: its price is unknown here.`,
    })
  })

  test("names the group that a charge is multiplied for, and the operator's own price", async () => {
    const { out, row } = await told(await make('paying', { groups: ['students'] }), 'sim')
    const lines = readFileSync(join(folder, 'gateway.yaml'), 'utf8').split('\n')
    const line = Number(/gateway\.yaml:(\d+)/.exec(out)?.[1])
    expect(lines[line - 1]).toMatch(/^ +input: 1$/)
    expect(out).toMatch(/× 1\.5 of the group students {2}\(gateway\.yaml:\d+\)/)
    expect(out).toContain(`  charge       ${(row.charge as number) / 1e9} USD`)
  })

  test('reports a missing price, a refusal, a failure, and an unknown exchange', async () => {
    expect((await told(FILE_KEY, 'sim-200-20ms')).out).toContain('  cost         no price')
    const refused = await rowOf(await ask(gateway.url, FILE_KEY, 'costly-1'))
    expect(await gateway.command('cost', refused.id)).toEqual({
      code: 0,
      err: '',
      out: `The exchange ${refused.id} was refused with the status 403 before any provider was called: it cost nothing.`,
    })
    expect(JSON.parse((await gateway.command('cost', refused.id, '--json')).out)).toEqual({
      ok: true,
      findings: [],
      terms: [],
      cost: 0,
      charge: 0,
    })
    const leaving = request(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json', 'content-length': 99, expect: '100-continue' },
    })
    leaving.on('error', () => undefined)
    leaving.on('continue', () => leaving.write('{', () => leaving.destroy()))
    leaving.flushHeaders()
    const { exchanges } = await until(
      async () => (await gateway.admin<{ exchanges: { id: string; ended: string }[] }>('GET', '/exchanges?failed=true')).body,
      body => body.exchanges.some(({ ended }) => ended === 'aborted'),
    )
    const left = exchanges.find(({ ended }) => ended === 'aborted')
    expect((await gateway.command('cost', left?.id ?? '')).out).toBe(
      `The exchange ${left?.id} was given up by its client before any provider was called: it cost nothing.`,
    )
    const counting = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await make('counter', { groups: ['staff'] })}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'counting', messages: [{ role: 'user', content: 'Hi' }] }),
    })
    const counted = await rowOf(counting)
    expect([counting.status, await gateway.command('cost', counted.id)]).toEqual([
      200,
      { code: 0, err: '', out: `The exchange ${counted.id} was of the route messages.count_tokens, which is free: it cost nothing.` },
    ])
    const failed = await rowOf(await ask(gateway.url, await make('failed', { groups: ['staff'] }), 'failing'))
    const out = `The exchange ${failed.id} failed with the status ${failed.status}: nobody is charged for it.`
    expect(await gateway.command('cost', failed.id)).toEqual({ code: 0, err: '', out })
    // A row may have what its calls used.
    const store = new DatabaseSync(join(folder, 'data', 'sluice.sqlite'))
    store.prepare('update ledger set input = 12, output = 14 where id = ?').run(failed.id)
    store.close()
    expect(await gateway.command('cost', failed.id)).toEqual({ code: 0, err: '', out })
    expect((await gateway.command('cost', '0'.repeat(32))).err).toMatch(/^There is no exchange with the id/)
  })
})
