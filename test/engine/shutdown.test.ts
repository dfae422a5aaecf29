// The end of the gateway: what is under way goes on, nothing new begins, not even on connections that are there already.

import { Client } from 'undici'
import { expect, test } from 'vitest'
import { KEY } from '../harness.js'
import { answer, json } from './scripted.js'
import { setUp } from './stage.js'

const ask = {
  method: 'POST' as const,
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
}

test('in the time of grace the last exchange is finished, and a kept connection gets no other', async () => {
  let isSlow = false
  const { gateway } = await setUp([
    socket => {
      setTimeout(() => json(socket, 200, answer), isSlow ? 600 : 0)
    },
  ])
  const [kept, busy] = [new Client(gateway.url), new Client(gateway.url)]
  const first = await kept.request(ask)
  await first.body.dump()
  expect(first.statusCode).toBe(200)

  isSlow = true
  const last = busy.request(ask)
  await new Promise(done => setTimeout(done, 100))
  const closed = gateway.close()
  await new Promise(done => setTimeout(done, 50))
  const late = await kept.request(ask)
  expect(late.statusCode).toBe(503)
  expect(late.headers.connection).toBe('close')
  expect(await late.body.json()).toMatchObject({ error: { message: 'The gateway is shutting down.' } })

  const finished = await last
  expect(finished.statusCode).toBe(200)
  expect(await finished.body.json()).toHaveProperty('choices')
  await closed
  await Promise.all([kept.destroy(), busy.destroy()])
})
