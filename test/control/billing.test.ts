// What a key has used and may spend, in the shape that chat clients ask for.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
beforeAll(async () => {
  stage = await createStage()
  const price = { input: 1_000_000, output: 2_000_000 }
  gateway = await stage.start({ models: { sim: { targets: [{ upstream: 'up', model: 'sim' }], price } } })
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

test('a chat client that shows balances finds limit and usage of its own key', async () => {
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
  })
  expect((await get<{ access_until: number }>('/v1/dashboard/billing/subscription', FILE_KEY)).body.access_until).toBe(0)
})

test('a day that is none is refused, and so is who has no key', async () => {
  const { status, body } = await get<{ error: { param: string } }>('/v1/dashboard/billing/usage?start_date=yesterday', FILE_KEY)
  expect([status, body.error.param]).toEqual([400, 'start_date'])
  expect((await get('/v1/dashboard/billing/usage', 'nobody')).status).toBe(401)
})
