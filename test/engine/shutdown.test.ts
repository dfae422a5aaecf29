// The end of the gateway: exchanges under way continue, and nothing new begins, not even on existing connections.

import { Client } from 'undici'
import { expect, test } from 'vitest'
import { KEY } from '../harness.js'
import { setUp } from './fake-upstreams.js'
import { answer, json, type Script } from './upstream.js'

const ask = {
  method: 'POST' as const,
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
}

test('the last exchange is finished in the grace period, and a kept connection gets no other', async () => {
  let release: (() => void) | undefined
  const { gateway, upstreams } = await setUp(
    [
      (socket, { body }) => {
        release = () => json(socket, 200, answer)
        if (!body.includes('last')) release()
      },
    ],
    { grace: '60s' },
  )
  const [kept, busy] = [new Client(gateway.url), new Client(gateway.url)]
  const first = await kept.request(ask)
  await first.body.dump()
  expect(first.statusCode).toBe(200)

  const last = busy.request({ ...ask, body: ask.body.replace('Hi', 'last') })
  await expect.poll(() => upstreams[0]?.requests.length).toBe(2)
  const closed = gateway.close()
  const late = await kept.request(ask)
  expect(late.statusCode).toBe(503)
  expect(late.headers.connection).toBe('close')
  expect(await late.body.json()).toMatchObject({ error: { message: 'The gateway is shutting down.' } })

  release?.()
  const finished = await last
  expect(finished.statusCode).toBe(200)
  expect(await finished.body.json()).toHaveProperty('choices')
  await closed
  await Promise.all([kept.destroy(), busy.destroy()])
})

test.each([
  ['waits for its first target', {}],
  ['waits for its only target, which may be tried again', { single: true }],
])(
  'an exchange that %s when the grace period is over calls nobody else, and its target has not failed',
  async (_name, { single = false }: { single?: boolean }) => {
    const silent: Script = () => undefined
    const { gateway, upstreams } = await setUp(single ? [silent] : [silent, socket => json(socket, 200, answer)], {
      grace: '50ms',
      models: { m: { targets: (single ? [0] : [0, 1]).map(at => ({ upstream: `up${at}`, priority: at + 1 })), retry: { attempts: 3 } } },
    })
    const client = new Client(gateway.url)
    const asked = client.request(ask)
    await expect.poll(() => upstreams[0]?.requests.length).toBe(1)
    await gateway.close()
    expect((await asked).statusCode).toBe(503)
    expect(upstreams.map(({ requests }) => requests.length)).toEqual(single ? [1] : [1, 0])
    expect(gateway.log.filter(({ msg }) => msg === 'request')).toMatchObject([{ status: 503 }])
    expect(gateway.log.filter(({ msg }) => msg === 'request')[0]).not.toHaveProperty('failed')
    await client.destroy()
  },
)

test('a draining gateway is not ready, but serves, with `connection: close`', async () => {
  const { gateway } = await setUp([socket => json(socket, 200, answer)], { grace: '60s', drain: '4s' })
  const kept = new Client(gateway.url)
  const ready = (): Promise<number> => fetch(`${gateway.url}/readyz`).then(({ status }) => status)
  expect(await ready()).toBe(200)
  const closed = gateway.close()
  expect(await ready()).toBe(503)
  expect((await fetch(`${gateway.url}/livez`)).status).toBe(200)
  const late = await kept.request(ask)
  expect([late.statusCode, late.headers.connection]).toEqual([200, 'close'])
  await late.body.dump()
  await closed
  await expect(ready()).rejects.toThrow()
  await kept.destroy()
})
