// Requests of a relay have a price: budgets count it, and the ledger has a row for each.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStage, exported, FILE_KEY, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
beforeAll(async () => {
  stage = await createStage()
  gateway = await stage.start({
    keys: [
      { name: 'file', value: FILE_KEY, budget: '1/day' },
      { name: 'free', value: 'key-free' },
    ],
    relay: {
      sim: { path: '/sim/*', upstream: 'up', price: 0.4 },
      unpriced: { path: '/unpriced/*', upstream: 'up' },
    },
  })
})
afterAll(() => stage?.close())

const ask = (relay: string, key = FILE_KEY, model = 'sim'): Promise<Response> =>
  fetch(`${gateway.url}/${relay}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] }),
  })

interface Row {
  id: string
  route: string
  key: string
  charge: number | null
  status: number
}

test('a budget pays for requests until it is spent, and refused requests cost nothing', async () => {
  expect((await ask('sim', FILE_KEY, 'nobody-has-it')).status).toBe(404)
  expect([(await ask('sim')).status, (await ask('sim')).status]).toEqual([200, 200])
  const spent = await ask('sim')
  expect([spent.status, spent.headers.get('x-sluice-budget')]).toEqual([429, expect.stringContaining('file')])
  const unpriced = await ask('unpriced')
  expect([unpriced.status, await unpriced.text()]).toEqual([403, expect.stringContaining('is unknown')])
  expect((await ask('unpriced', 'key-free')).status).toBe(200)
  const rows = await until(
    () => exported<Row>(gateway),
    found => found.length >= 6,
  )
  expect(rows.filter(({ route, status }) => route === 'relay.sim' && status === 200).map(({ charge }) => charge)).toEqual([4e8, 4e8])
  expect(rows.filter(({ status }) => status === 404).map(({ charge }) => charge ?? 0)).toEqual([0])
  const { id } = rows.find(({ status }) => status === 404) as Row
  expect(await gateway.command('cost', id)).toEqual({
    code: 0,
    err: '',
    out: `The exchange ${id} failed with the status 404: nobody is charged for it.`,
  })
  const served = rows.find(({ route, status }) => route === 'relay.unpriced' && status === 200) as Row
  expect(await gateway.command('cost', served.id)).toMatchObject({ code: 1, err: expect.stringMatching(/^The usage of the exchange/) })
  expect((await gateway.admin<{ differences: Record<string, unknown> }>('GET', '/ledger/verify')).body.differences).toEqual({})
})
