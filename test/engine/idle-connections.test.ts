// An upstream may close an idle connection at the moment that a request is sent on it.

import { describe, expect, test } from 'vitest'
import { dialects } from './dialects.js'
import { ask } from './fake-upstreams.js'
import { routed } from './routed.js'
import { json, type Script } from './upstream.js'

const { chat } = dialects

/** Answers the first request of each connection; at the second one, does something else instead. */
const onceEach = (instead: Script): Script => {
  const seen = new WeakSet()
  return (socket, request) => {
    if (seen.has(socket)) instead(socket, request)
    else json(socket, 200, chat.answer)
    seen.add(socket)
  }
}

const closes: Record<string, Script> = {
  closed: socket => socket.end(),
  destroyed: socket => socket.destroy(),
  reset: socket => socket.resetAndDestroy(),
}

const statuses = async (gateway: { url: string }, times: number): Promise<number[]> => {
  const found: number[] = []
  for (let count = 0; count < times; count++) {
    const response = await ask(gateway)
    await response.text()
    found.push(response.status)
  }
  return found
}

describe.concurrent('a request on a used connection', () => {
  test.each(Object.entries(closes))('is sent again if the connection is %s without an answer', async (_name, instead) => {
    const { gateway, upstreams, counts } = await routed({ a: { script: onceEach(instead) } })
    expect(await statuses(gateway, 2)).toEqual([200, 200])
    // The second request was sent twice.
    expect(counts()).toEqual({ a: 3 })
    expect(upstreams.a?.opened()).toBe(2)
  })

  test('is not sent again if the answer began', async () => {
    const script = onceEach(socket => socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{'))
    const { gateway, counts } = await routed({ a: { script } })
    expect((await statuses(gateway, 2))[0]).toBe(200)
    expect(counts()).toEqual({ a: 2 })
  })

  test('is not sent again if the upstream had time to work on it', async () => {
    const script = onceEach(socket => setTimeout(() => socket.destroy(), 1_500))
    const { gateway, counts } = await routed({ a: { script } })
    expect(await statuses(gateway, 2)).toEqual([200, 502])
    expect(counts()).toEqual({ a: 2 })
  })
})

test.each(Object.entries(closes))('a request on a new connection that is %s is not sent again', async (_name, script) => {
  const { gateway, counts } = await routed({ a: { script } })
  expect(await statuses(gateway, 1)).toEqual([502])
  expect(counts()).toEqual({ a: 1 })
})
