// What a key has used and may spend, in the form that chat clients expect.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, exported, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
beforeAll(async () => {
  stage = await createStage()
  const price = { input: 1_000_000, output: 2_000_000 }
  gateway = await stage.start({
    admin: { listen: '127.0.0.1:0' },
    models: {
      sim: { targets: [{ upstream: 'up', model: 'sim' }], price },
      slow: { targets: [{ upstream: 'up', model: 'sim-200-20ms' }], price },
    },
    groups: {
      students: {
        models: ['sim'],
        limits: { requests: '50/1m' },
        key_limits: { requests: '10/1h', in_flight: 3 },
        budget: { limit: '1000000/month', metrics: true },
      },
      silent: { hidden: true, limits: { requests: '7/1m' }, budget: '2000000/month' },
    },
    budgets: { teams: { red: { limit: '500000/ever', metrics: true } } },
  })
})
afterAll(() => stage?.close())

interface Usage {
  object: string
  total_usage: number
  daily_costs: { timestamp: number; line_items: { name: string; cost: number }[] }[]
}

const get = async <Body>(path: string, key: string): Promise<{ status: number; body: Body }> => {
  const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}` } })
  return { status: response.status, body: (await response.json()) as Body }
}
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

test('a chat client that shows balances gets the limit and usage of its own key', async () => {
  const { body: made } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'shown', expires_at: 4_102_444_800_000 })
  const { usage } = (await (await ask(gateway.url, made.secret)).json()) as { usage: { prompt_tokens: number; completion_tokens: number } }
  await ask(gateway.url, FILE_KEY)
  const cost = usage.prompt_tokens + 2 * usage.completion_tokens
  expect(cost).toBeGreaterThan(0)
  // As they ask: from the first of the month to tomorrow; some end today.
  for (const path of ['/dashboard/billing', '/v1/dashboard/billing']) {
    const [first, end] = [`${dayOf(Date.now()).slice(0, 8)}01`, dayOf(Date.now() + 86_400_000)]
    const read = (): Promise<{ status: number; body: Usage }> =>
      get<Usage>(`${path}/usage?start_date=${first}&end_date=${end}`, made.secret)
    const { status, body } = await until(read, ({ body }) => body.total_usage > 0)
    expect(status).toBe(200)
    expect(body).toEqual({
      object: 'list',
      total_usage: cost * 100,
      daily_costs: [{ timestamp: Date.parse(dayOf(Date.now())) / 1000, line_items: [{ name: 'sim', cost: cost * 100 }] }],
    })
  }
  expect(
    (await get<Usage>(`/v1/dashboard/billing/usage?start_date=${dayOf(Date.now())}&end_date=${dayOf(Date.now())}`, made.secret)).body,
  ).toMatchObject({ total_usage: cost * 100 })
  expect((await get<Usage>('/v1/dashboard/billing/usage', made.secret)).body.total_usage).toBe(cost * 100)
  expect((await get<Usage>('/v1/dashboard/billing/usage?start_date=2020-01-01&end_date=2020-02-01', made.secret)).body).toEqual({
    object: 'list',
    total_usage: 0,
    daily_costs: [],
  })
  expect((await get('/v1/dashboard/billing/subscription', made.secret)).body).toEqual({
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: 100_000_000,
    hard_limit_usd: 100_000_000,
    system_hard_limit_usd: 100_000_000,
    access_until: 4_102_444_800,
    budgets: [],
  })
  expect((await get<{ access_until: number }>('/v1/dashboard/billing/subscription', FILE_KEY)).body.access_until).toBe(0)
})

test('an invalid day is refused, and so is a caller without a key', async () => {
  for (const query of ['start_date=yesterday', 'start_date=2026-02-31', 'start_date=2026-02-01&end_date=2026-02-29']) {
    const { status, body } = await get<{ error: { param: string } }>(`/v1/dashboard/billing/usage?${query}`, FILE_KEY)
    expect([query, status, body.error.param]).toEqual([query, 400, query.startsWith('start_date=2026-02-01') ? 'end_date' : 'start_date'])
  }
  expect((await get('/v1/dashboard/billing/usage', 'nobody')).status).toBe(401)
})

interface BudgetView {
  budget: string
  limit: number
  spent: number
  remaining: number
  resets_at: string | null
}
interface KeyPage {
  limits: { of: string; counts: string; limit: number; remaining: number; window: number | null; resets_at: string | null }[]
  budgets: BudgetView[]
}

test('the holder of a key sees its limits and budgets, the amounts spent and the ends of the windows', async () => {
  const { body: made } = await gateway.admin<{ secret: string }>('POST', '/keys', {
    name: 'rich',
    team: 'red',
    groups: ['students', 'silent'],
    budgets: [{ limit: '100000/day' }],
  })
  const { usage } = (await (await ask(gateway.url, made.secret, 'sim', { max_tokens: 20 })).json()) as {
    usage: { prompt_tokens: number; completion_tokens: number }
  }
  const cost = usage.prompt_tokens + 2 * usage.completion_tokens
  const { body } = await until(
    () => get<KeyPage>('/v1/key', made.secret),
    page => page.body.budgets.every(one => one.spent > 0),
  )
  expect(body.limits.map(({ of, counts, limit, remaining, window }) => [of, counts, limit, remaining, window])).toEqual([
    ['this API key', 'requests', 10, 9, 3600],
    ['this API key', 'in_flight', 3, 3, null],
    ["the group 'students'", 'requests', 50, 49, 60],
  ])
  expect(Date.parse(body.limits[0]?.resets_at as string)).toBeGreaterThan(Date.now())
  const midnight = Math.floor(Date.now() / 86_400_000 + 1) * 86_400_000
  const [key, group, team] = [100_000, 1_000_000, 500_000].map(limit => ({ limit, spent: cost, remaining: limit - cost, currency: 'USD' }))
  expect(body.budgets).toMatchObject([
    {
      ...key,
      budget: 'key:rich/day',
      of: 'this API key',
      every: 'day',
      zone: 'UTC',
      when_spent: 'refuse',
      resets_at: new Date(midnight).toISOString(),
    },
    { ...group, budget: 'group:students/month', every: 'month' },
    { ...team, budget: 'team:red/ever', resets_at: null },
  ])
  // A client that shows balances shows what is left of the tightest.
  const { body: subscription } = await get<{ hard_limit_usd: number; budgets: BudgetView[] }>(
    '/v1/dashboard/billing/subscription',
    made.secret,
  )
  expect(subscription.budgets).toEqual(body.budgets)
  const first = `${dayOf(Date.now()).slice(0, 8)}01`
  const { body: month } = await get<Usage>(
    `/v1/dashboard/billing/usage?start_date=${first}&end_date=${dayOf(Date.now() + 86_400_000)}`,
    made.secret,
  )
  expect(subscription.hard_limit_usd - month.total_usage / 100).toBe(100_000 - cost)
})

test('metrics show only the budgets that are configured to be shown', async () => {
  const admin = JSON.parse(gateway.log.find(line => line.includes('control process is ready')) as string).admin as string
  const series = async (name: string): Promise<string[]> =>
    (await (await fetch(`${admin}/metrics`)).text()).split('\n').filter(line => line.startsWith(`${name}{`))
  const left = await until(
    () => series('sluice_budget_remaining'),
    all => all.length === 2,
  )
  const [group, team] = [...left].sort()
  const spent = 1_000_000 - Number(group?.split(' ').at(-1))
  expect(spent).toBeGreaterThan(0)
  expect(group).toContain('{budget="group:students/month",currency="USD"}')
  expect(team).toBe(`sluice_budget_remaining{budget="team:red/ever",currency="USD"} ${500_000 - spent}`)
  const { body: made } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'slow', team: 'red' })
  const leave = new AbortController()
  const response = await ask(gateway.url, made.secret, 'slow', { stream: true }, {}, leave.signal)
  expect(response.status).toBe(200)
  const reserved = async (): Promise<number[]> => (await series('sluice_budget_reserved')).map(line => Number(line.split(' ').at(-1)))
  // The stream reserves money of the team only; workers report once a second.
  const held = (all: number[]): number => all.filter(amount => amount > 0).length
  expect(held(await until(reserved, all => held(all) === 1))).toBe(1)
  leave.abort()
  expect(await until(reserved, all => all.every(amount => amount === 0))).toEqual([0, 0])
})

test('a stream that its client leaves costs what was seen of it, also without a budget', async () => {
  const { body: made } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'leaves' })
  const leave = new AbortController()
  const response = await ask(gateway.url, made.secret, 'slow', { stream: true }, {}, leave.signal)
  const events = (response.body as ReadableStream<Uint8Array>).getReader()
  for (let count = 0; count < 5; count++) await events.read()
  leave.abort()
  type Row = { key: string; input: number | null; output: number | null; cost: number | null; estimated: boolean }
  const [row] = await until(
    async () => (await exported<Row>(gateway)).filter(({ key }) => key === 'leaves'),
    rows => rows.length > 0,
  )
  expect(row).toMatchObject({ input: expect.any(Number), output: expect.any(Number), estimated: true })
  const { input, output, cost } = row as Record<'input' | 'output' | 'cost', number>
  expect([input > 0, output >= 4 && output < 200, cost / 1e9]).toEqual([true, true, input + 2 * output])
})
