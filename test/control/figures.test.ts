// End users and sessions of exchanges, metrics, and what a holder sees of a key.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
beforeAll(async () => {
  stage = await createStage()
  gateway = await stage.start({
    admin: { listen: '127.0.0.1:0' },
    labels: { end_user: 'x-end-user', session: 'x-session', tags: 'x-tags' },
  })
})
afterAll(() => stage?.close())

const exchanges = async (query = ''): Promise<Record<string, unknown>[]> =>
  (await gateway.admin<{ exchanges: Record<string, unknown>[] }>('GET', `/exchanges${query}`)).body.exchanges
const adminUrl = (): string => JSON.parse(gateway.log.find(line => line.includes('control process is ready')) as string).admin

describe('the end user of a request', () => {
  test('is named by the body of its dialect, or by a header, which takes precedence', async () => {
    await ask(gateway.url, FILE_KEY, 'sim', { user: 'from-body' })
    await ask(gateway.url, FILE_KEY, 'sim', { user: 'from-body', safety_identifier: 'safe' })
    await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': FILE_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'sim',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'x' }],
        metadata: { user_id: 'of-messages' },
      }),
    })
    await ask(
      gateway.url,
      FILE_KEY,
      'sim',
      { user: 'from-body' },
      { 'x-end-user': 'from-header', 'x-session': 'run-7', 'x-tags': 'b, a,,' },
    )
    const rows = await until(
      () => exchanges(),
      all => all.length === 4,
    )
    expect(rows.map(row => [row.end_user, row.session, row.tags]).reverse()).toEqual([
      ['from-body', null, null],
      ['safe', null, null],
      ['of-messages', null, null],
      ['from-header', 'run-7', ['a', 'b']],
    ])
    expect((await exchanges('?end_user=safe')).length).toBe(1)
    expect((await exchanges('?session=run-7')).map(row => row.end_user)).toEqual(['from-header'])
  })
})

describe('metrics', () => {
  const metrics = async (): Promise<string> => (await fetch(`${adminUrl()}/metrics`)).text()
  const sumOf = (page: string, name: string, labels = ''): number =>
    page
      .split('\n')
      .filter(line => line.startsWith(`${name}{`) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)

  test('count the same as the rows', async () => {
    for (let index = 0; index < 5; index++) await ask(gateway.url, FILE_KEY)
    await ask(gateway.url, FILE_KEY, 'sim-error-500')
    await (await ask(gateway.url, FILE_KEY, 'sim-20-20ms', { stream: true })).text()
    const rows = await until(
      () => exchanges(),
      all => all.length === 11,
    )
    const page = await metrics()
    expect(sumOf(page, 'sluice_requests_total')).toBe(rows.length)
    expect(sumOf(page, 'sluice_requests_total', 'ended="failed"')).toBe(1)
    expect(sumOf(page, 'sluice_tokens_total', 'kind="output"')).toBe(
      rows.reduce((sum, row) => sum + ((row.output as number | null) ?? 0), 0),
    )
    expect(sumOf(page, 'sluice_first_token_seconds_count', 'model="sim-20-20ms"')).toBe(1)
    expect(sumOf(page, 'sluice_unpriced_total')).toBe(rows.filter(row => row.output !== null).length)
    for (const name of ['sluice_in_flight', 'sluice_loop_delay_seconds', 'process_resident_memory_bytes'])
      expect(page).toContain(`${name}{worker="`)
    expect(page).toMatch(/^sluice_store_up 1$/m)
  })

  test('have no series for names that a client invents, and contain no key', async () => {
    const before = (await metrics()).split('\n').length
    await Promise.all(Array.from({ length: 200 }, (_, index) => ask(gateway.url, FILE_KEY, `invented-${index}`, { user: `u${index}` })))
    await until(
      () => exchanges('?failed=true&limit=200'),
      all => all.length === 200,
    )
    const page = await metrics()
    expect(page).not.toContain('invented')
    expect(page).not.toContain('"file"')
    expect(page.split('\n').length - before).toBeLessThan(40)
  })
})

test('the ledger is exported as CSV, as lines of JSON, and with the columns of FOCUS', async () => {
  const exported = async (format: string): Promise<string[]> => {
    const { code, out, err } = await gateway.command('ledger', 'export', '--format', format)
    expect([code, err]).toEqual([0, ''])
    return out.split(/\r?\n/)
  }
  const [csv, ndjson, focus] = [await exported('csv'), await exported('ndjson'), await exported('focus')]
  expect(csv[0]).toMatch(/^id,at,key,team,group,/)
  expect([csv.length - 1, ndjson.length]).toEqual([211, 211])
  expect(JSON.parse(ndjson[3] as string)).toMatchObject({ end_user: 'from-header', tags: ['a', 'b'] })
  expect(focus[0]).toMatch(/^BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,/)
  const requests = (focus[0] as string).split(',').indexOf('x_Requests') - (focus[0] as string).split(',').length
  const sum = focus.slice(1).reduce((all, line) => all + Number(line.split(',').at(requests)), 0)
  expect(sum).toBe(211)
})

test('commands list the exchanges that match the options, and instances', async () => {
  const lines = async (...words: string[]): Promise<string[]> => {
    const { code, out, err } = await gateway.command(...words)
    expect([code, err]).toEqual([0, ''])
    return out.split('\n')
  }
  expect((await lines('ledger', 'list', '--limit', '3')).length).toBe(4)
  const [head, ...rows] = await lines('ledger', 'list', '--end-user', 'from-header', '--session', 'run-7', '--key', 'file')
  expect(head).toMatch(/^at +id +key +model +target +status/)
  expect(rows).toEqual([expect.stringMatching(/^\S+Z +[0-9a-f]{32} +file +sim +up\/sim +200 +ok /)])
  expect((await lines('ledger', 'list', '--failed', '--model', 'sim-error-500')).length).toBe(2)
  const instances = await lines('instances')
  expect(instances[0]).toMatch(/^id +host +started +seen +config$/)
  expect(instances.length).toBe(2)
})

test('rows of mirrored requests are listed page by page, shown and explained', async () => {
  const own = await stage.start({
    models: {
      seen: {
        price: { input: 1, output: 1 },
        targets: [{ upstream: 'up', model: 'sim' }],
        mirror: { to: { upstream: 'up', model: 'sim' }, share: '100%' },
      },
    },
  })
  for (let count = 0; count < 2; count++) await ask(own.url, FILE_KEY, 'seen')
  const page = async (query: string) =>
    (await own.admin<{ exchanges: { id: string; mirror: boolean }[]; next: string | null }>('GET', `/exchanges?limit=${query}`)).body
  const all = await until(
    async () => (await page('200')).exchanges,
    rows => rows.length === 4,
  )
  const ids: string[] = []
  for (let before: string | null = ''; before !== null; ) {
    const { exchanges: rows, next }: Awaited<ReturnType<typeof page>> = await page(`1${before && `&before=${before}`}`)
    ids.push(...rows.map(({ id }) => id))
    before = next
  }
  expect(ids).toEqual(all.map(({ id }) => id))
  const { id } = all.find(({ mirror }) => mirror) as { id: string }
  const shown = await own.command('ledger', 'show', id)
  expect([shown.code, shown.out.includes(id)]).toEqual([0, true])
  const { code, out } = await own.command('cost', id)
  expect([code, out.split('\n').at(-1)]).toEqual([0, '  charge       0 USD  (nobody is charged for a mirror)'])
  await own.stop()
})

test('the holder of a key sees its name, team, models and limits', async () => {
  const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'own', team: 'red', models: ['sim-2*'], tags: ['t'] })
  const response = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${body.secret}` } })
  expect(await response.json()).toEqual({
    object: 'key',
    name: 'own',
    team: 'red',
    groups: ['default'],
    models: ['sim-20-20ms', 'sim-200-20ms'],
    routes: null,
    ips: null,
    tags: ['t'],
    expires_at: null,
    limits: [],
    budgets: [],
  })
  expect((await fetch(`${gateway.url}/v1/key`)).status).toBe(401)
})

describe('the admin API over the network', () => {
  test('requires a token, and allows each role only its operations', async () => {
    const get = (path: string, token?: string, method = 'GET', body?: unknown): Promise<Response> =>
      fetch(`${adminUrl()}/admin/v1${path}`, {
        method,
        headers: { ...(token && { authorization: `Bearer ${token}` }), ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    expect((await get('/keys')).status).toBe(401)
    expect((await get('/keys', 'sk-adm_none')).status).toBe(401)
    const { document } = (await gateway.admin<{ document: never }>('GET', '/openapi.json').then(({ body }) => ({ document: body }))) as {
      document: { paths: Record<string, Record<string, { operationId: string }>> }
    }
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => ({ path, method, id: one.operationId })),
    )
    expect(operations.length).toBeGreaterThan(15)
    // The first token is made by who has the link, and no token yet.
    const byToken = operations.filter(({ id }) => id !== 'tokens.first')
    for (const role of ['owner', 'admin', 'operator', 'auditor']) {
      const made = await gateway.command('token', 'create', role, '--role', role)
      const { operations: mine } = (await (await get('/whoami', made.out)).json()) as { operations: string[] }
      for (const { path, method, id } of byToken) {
        const response = await get(
          path.replace('{name}', 'nobody').replace('{id}', '0'.repeat(32)),
          made.out,
          method.toUpperCase(),
          method === 'post' || method === 'patch' ? {} : undefined,
        )
        expect([role, id, response.status === 403]).toEqual([role, id, !mine.includes(id)])
        await response.body?.cancel()
      }
    }
    const { out: auditor } = await gateway.command('token', 'create', 'second', '--role', 'auditor')
    expect((await get('/audit', auditor)).status).toBe(200)
    expect((await gateway.command('token', 'revoke', 'second')).code).toBe(0)
    expect((await get('/audit', auditor)).status).toBe(401)
    expect((await gateway.command('token', 'create', 'third', '--role', 'king')).err).toContain('There is no role king')
  })
})
