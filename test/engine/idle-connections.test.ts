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

/** What is no answer of HTTP, or none that the gateway reads. */
const wrong: Record<string, Script> = {
  'a head of 20 KB': socket => json(socket, 200, chat.answer, `x-long: ${'a'.repeat(20_000)}\r\n`),
  'a line that is no header': socket => json(socket, 200, chat.answer, 'bad header\r\n'),
  'a length and chunks': socket => json(socket, 200, '0\r\n\r\n', 'transfer-encoding: chunked\r\n'),
  'two lengths': socket => json(socket, 200, chat.answer, 'content-length: 1\r\n'),
  'another protocol': socket => socket.write(Buffer.from([0x15, 3, 1, 0, 2, 2, 70])),
  'a text, and is closed': socket => socket.end('ERR unknown command\r\n'),
  'half a head, and is closed': socket => socket.end('HTTP/1.1 200 OK\r\ncontent-ty'),
  'half a head, and is reset': socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-ty', () => socket.resetAndDestroy())
  },
  'early hints, and is closed': socket => socket.end('HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'),
  'early hints, and is reset': socket => {
    socket.write('HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n', () => socket.resetAndDestroy())
  },
}

describe.concurrent('a request on a new connection is not sent again', () => {
  test.each(Object.entries(closes))('if it is %s', async (_name, script) => {
    const { gateway, counts } = await routed({ a: { script } })
    expect(await statuses(gateway, 1)).toEqual([502])
    expect(counts()).toEqual({ a: 1 })
  })

  test.each(Object.entries(wrong))('if it brings %s', async (_name, script) => {
    const good: Script = socket => json(socket, 200, chat.answer)
    const { gateway, counts } = await routed({ a: { script }, b: { script: good, target: { priority: 2 } } })
    expect(await statuses(gateway, 1)).toEqual([200])
    expect(counts()).toEqual({ a: 1, b: 1 })
  })
})

test('a request is sent again once at most, whatever the next connection does', async () => {
  let count = 0
  const script: Script = socket => void (count++ === 0 ? json(socket, 200, chat.answer) : socket.end())
  const { gateway, counts } = await routed({ a: { script } })
  expect(await statuses(gateway, 2)).toEqual([200, 502])
  expect(counts()).toEqual({ a: 3 })
})
