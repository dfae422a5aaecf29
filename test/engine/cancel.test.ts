// A client that disconnects cancels its upstream call at once, in every state; the log has the usage until then.

import { describe, expect, test } from 'vitest'
import { dialects, eventsIn, PAIRS } from './dialects.js'
import { ask, bytesOf, dial, requestLines, settle, setUp, setUpPair, still } from './fake-upstreams.js'
import { chunk, json, type Script, streamHead, trickle } from './upstream.js'

const { chat, messages } = dialects

describe.concurrent.each(PAIRS)('%s', (_name, pair) => {
  const { client, upstream } = pair

  test.for<[string, boolean, Script, isSeen?: boolean]>([
    ['before the headers of an answer', false, () => undefined],
    ['in the middle of an answer', false, socket => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"id":')],
    ['before the headers of a stream', true, () => undefined],
    ['before the first event', true, socket => socket.write(streamHead)],
    ['in the middle of a stream', true, socket => socket.write(streamHead + chunk(upstream.begin + upstream.text('Hi'))), true],
    [
      'in a stream that continues',
      true,
      socket => void trickle(socket, [streamHead, ...Array(500).fill(chunk(upstream.text('Hi')))], 10),
      true,
    ],
  ])('a disconnect cancels the upstream call: %s', async ([, stream, script, isSeen = false]) => {
    const { gateway, upstreams } = await setUpPair(pair, [script])
    const wire = await dial(gateway)
    wire.write(bytesOf(client.path(stream), client.headers, JSON.stringify(client.body(stream))))
    expect(await settle(() => upstreams[0]?.requests.length, 1)).toBe(1)
    if (isSeen) await wire.until(/"Hi"/)
    else await still(wire.length, 60)
    expect(upstreams[0]?.closed()).toBe(0)
    wire.socket.destroy()
    const began = performance.now()
    expect(await settle(() => upstreams[0]?.closed(), 1)).toBe(1)
    expect(performance.now() - began).toBeLessThan(20_000)
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ model: 'm', target: 'up0/m', partial: true })
  })
})

describe.concurrent('the log of an abandoned request', () => {
  test('has status 499 if the answer had not begun', async () => {
    const { gateway, upstreams } = await setUp([() => undefined])
    const gone = new AbortController()
    const asked = ask(gateway, { signal: gone.signal }).catch(() => undefined)
    await settle(() => upstreams[0]?.requests.length, 1)
    gone.abort()
    await asked
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ status: 499, partial: true, bytes_out: 0 })
    // Nothing failed but the client.
    expect(line).not.toHaveProperty('error')
  })

  test('has the usage of a stream until then', async () => {
    const { gateway } = await setUp([socket => socket.write(streamHead + chunk(messages.begin + messages.text('Hi')))], {}, 'anthropic')
    const gone = new AbortController()
    const response = await ask(gateway, { dialect: messages, stream: true, signal: gone.signal })
    await response.body?.getReader().read()
    gone.abort()
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ status: 200, partial: true, usage: { input: 3, output: 1 } })
    expect(line?.bytes_out).toBeGreaterThan(0)
    expect(line).not.toHaveProperty('error')
  })
})

describe.concurrent('a client that disconnects', () => {
  test('during the first attempt causes no second attempt', async () => {
    const { gateway, upstreams } = await setUp([() => undefined, socket => json(socket, 200, chat.answer)])
    const gone = new AbortController()
    const asked = ask(gateway, { signal: gone.signal }).catch(() => undefined)
    await settle(() => upstreams[0]?.requests.length, 1)
    gone.abort()
    await asked
    await requestLines(gateway)
    await still(() => upstreams[1]?.opened(), 100)
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([1, 0])
  })

  test('ends only its own of many streams', async () => {
    const { gateway, upstreams } = await setUp([
      socket => void trickle(socket, [streamHead, ...Array(40).fill(chunk(chat.text('Hi'))), chunk(chat.end), chunk('')], 20),
    ])
    const texts = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const gone = new AbortController()
        const response = await ask(gateway, { stream: true, signal: gone.signal })
        if (index % 2 === 1) return response.text()
        const reader = response.body?.getReader()
        await reader?.read()
        gone.abort()
        return undefined
      }),
    )
    // Without the usage, which was asked for by us alone.
    for (const text of texts.filter(one => one !== undefined)) expect(eventsIn(text)).toHaveLength(42)
    expect(await settle(() => upstreams[0]?.closed(), 10)).toBe(10)
    const lines = await requestLines(gateway, 20)
    expect(lines.filter(line => line.partial === true)).toHaveLength(10)
  })

  test('may close only its half of the connection', async () => {
    const { gateway, upstreams } = await setUp([() => undefined])
    const wire = await dial(gateway)
    wire.write(bytesOf(chat.path(false), chat.headers, JSON.stringify(chat.body(false))))
    expect(await settle(() => upstreams[0]?.requests.length, 1)).toBe(1)
    wire.socket.end()
    expect((await requestLines(gateway))[0]).toMatchObject({ status: 499 })
    expect(await settle(() => upstreams[0]?.closed(), 1)).toBe(1)
  })

  test('does not affect later requests', async () => {
    let count = 0
    const { gateway, upstreams } = await setUp([socket => (count++ === 0 ? undefined : json(socket, 200, chat.answer))])
    const gone = new AbortController()
    const asked = ask(gateway, { signal: gone.signal }).catch(() => undefined)
    await settle(() => upstreams[0]?.requests.length, 1)
    gone.abort()
    await asked
    expect(await (await ask(gateway)).json()).toEqual(chat.answer)
  })
})
