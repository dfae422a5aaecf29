// The guarantees of the engine for every route, with sockets that stall, break and lie.

import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { still } from '../polling.js'
import { answer, chunk, json, piece, type Script, startUpstream, streamHead, type Upstream } from './upstream.js'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function setUp(
  scripts: Script[],
  more: Record<string, unknown> = {},
  provider = 'openai',
): Promise<{ gateway: TestGateway; upstreams: Upstream[] }> {
  const upstreams = await Promise.all(scripts.map(startUpstream))
  const file = {
    upstreams: Object.fromEntries(
      upstreams.map(({ url }, index) => [`up${index}`, { provider, base: url, secret: 'upstream-secret-1234' }]),
    ),
    models: { m: { targets: upstreams.map((_, index) => ({ upstream: `up${index}`, priority: index + 1 })) } },
    ...more,
  }
  const gateway = await startGateway(file)
  open.push(...upstreams, gateway)
  return { gateway, upstreams }
}

function ask(gateway: TestGateway, stream = false, signal?: AbortSignal): Promise<Response> {
  const body = JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'x' }] })
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}` },
    body,
    ...(signal && { signal }),
  })
}

const good: Script = socket => json(socket, 200, answer)
const goodStream: Script = socket =>
  socket.write(streamHead + chunk(piece('Hi')) + chunk(`${piece('', 'stop')}data: [DONE]\n\n`) + chunk(''))

describe('deadlines', () => {
  test.each<[string, Script, boolean]>([
    ['headers', () => undefined, false],
    ['first_event', socket => socket.write(streamHead), true],
    ['total', socket => socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`), false],
  ])('%s: a late upstream is 504', async (name, script, stream) => {
    const { gateway } = await setUp([script], { limits: { [name]: '200ms' } })
    const response = await ask(gateway, stream)
    expect(response.status).toBe(504)
    expect(await response.json()).toMatchObject({ error: { type: 'timeout_error' } })
  })

  test('idle: a silent stream ends with an error event, and without an end event', async () => {
    const { gateway } = await setUp([socket => socket.write(streamHead + chunk(piece('Hi')))], { limits: { idle: '200ms' } })
    const text = await (await ask(gateway, true)).text()
    expect(text).toContain('"Hi"')
    expect(text).toMatch(/data: \{"error":.*timeout_error/)
    expect(text).not.toContain('[DONE]')
  })

  test('connect: if an address does not answer, the next target is tried', async () => {
    const { gateway, upstreams } = await setUp([good, good], { limits: { connect: '300ms' } })
    // A port on which nothing listens refuses at once; the next target serves.
    await upstreams[0]?.close()
    expect((await ask(gateway)).status).toBe(200)
    await upstreams[1]?.close()
    expect((await ask(gateway)).status).toBe(502)
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([0, 1])
  })
})

describe('targets', () => {
  test.each<[string, Script]>([
    ['500', socket => json(socket, 500, { error: { message: 'down' } })],
    ['429', socket => json(socket, 429, { error: { message: 'slow down' } }, 'retry-after: 9\r\n')],
    ['401', socket => json(socket, 401, { error: { message: 'bad key' } })],
    ['404', socket => json(socket, 404, { error: { message: 'no model' } })],
    ['a closed connection', socket => socket.destroy()],
    ['half a head', socket => socket.end('HTTP/1.1 200')],
  ])('%s: the next target is tried', async (name, bad) => {
    const { gateway, upstreams } = await setUp([bad, good])
    expect(await (await ask(gateway)).json()).toMatchObject({ id: 'c1' })
    expect(upstreams.map(upstream => upstream.requests.length)).toEqual([1, 1])
    // The one that failed three times in a row is ejected; one that says for how long, at once.
    const most = name === '429' ? 1 : 3
    for (let count = 0; count < 3; count++) await ask(gateway)
    expect(upstreams.map(upstream => upstream.requests.length)).toEqual([most, 4])
  })

  test('a stream that fails before its first event is retried at the next target, and the client sees one stream', async () => {
    const failing: Script = socket =>
      socket.write(streamHead + chunk('data: {"error":{"message":"no","type":"server_error"}}\n\n') + chunk(''))
    const { gateway, upstreams } = await setUp([failing, goodStream])
    const text = await (await ask(gateway, true)).text()
    expect(text).not.toContain('error')
    expect(text.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(upstreams.map(upstream => upstream.requests.length)).toEqual([1, 1])
  })

  test.each([
    [20, [1, 1]],
    [300, [1, 0]],
  ])('a stream that fails after a beginning of %d KiB without content is retried only while that is held', async (kibibytes, asked) => {
    const beginning = chunk(piece('').replace('"delta":{}', `"delta":{},"extra":"${'x'.repeat(10 * 1024)}"`)).repeat(kibibytes / 10)
    const failing: Script = socket =>
      socket.write(streamHead + beginning + chunk('data: {"error":{"message":"no","type":"server_error"}}\n\n') + chunk(''))
    const { gateway, upstreams } = await setUp([failing, goodStream])
    const text = await (await ask(gateway, true)).text()
    expect(upstreams.map(upstream => upstream.requests.length)).toEqual(asked)
    expect(text.includes('"error"')).toBe(asked[1] === 0)
    expect(text.includes('[DONE]')).toBe(asked[1] === 1)
  })

  test('a faulty request is not sent to the next target', async () => {
    const { gateway, upstreams } = await setUp([
      socket => json(socket, 400, { error: { message: 'bad', code: 'context_length_exceeded', param: 'messages' } }),
      good,
    ])
    const response = await ask(gateway)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { message: 'bad', code: 'context_length_exceeded', param: 'messages' } })
    expect(upstreams[1]?.requests.length).toBe(0)
  })
})

describe('truncation', () => {
  test.each<[string, Script]>([
    ['the body ends without an end event', socket => socket.write(streamHead + chunk(piece('Hi')) + chunk(''))],
    ['the connection breaks', socket => socket.write(streamHead + chunk(piece('Hi')), () => setTimeout(() => socket.destroy(), 30))],
    ['an event is cut in half', socket => socket.write(streamHead + chunk(piece('Hi') + piece('there').slice(0, 30)) + chunk(''))],
    ['an event is not JSON', socket => socket.write(streamHead + chunk(`${piece('Hi')}data: {"error": oops\n\n`) + chunk(''))],
  ])('%s: the client gets an error event and no end event', async (_name, script) => {
    const { gateway } = await setUp([script])
    const text = await (await ask(gateway, true)).text()
    expect(text).toContain('"Hi"')
    expect(text).toContain('"error"')
    expect(text).not.toContain('[DONE]')
  })

  test.each<[string, Script]>([
    ['HTML', socket => json(socket, 200, '<html>oops</html>')],
    ['an error with status 200', socket => json(socket, 200, { error: { message: 'no', type: 'server_error' } })],
    ['nothing', socket => json(socket, 200, '')],
  ])('%s instead of an answer is 502', async (_name, script) => {
    const { gateway } = await setUp([script])
    expect((await ask(gateway)).status).toBe(502)
  })
})

describe('the client', () => {
  test('cancels the upstream call at once by disconnecting', async () => {
    const { gateway, upstreams } = await setUp([socket => socket.write(streamHead + chunk(piece('Hi')))])
    const gone = new AbortController()
    const response = await ask(gateway, true, gone.signal)
    await response.body?.getReader().read()
    gone.abort()
    await expect.poll(() => upstreams[0]?.closed()).toBe(1)
    await expect.poll(() => gateway.log.find(line => line.msg === 'request')?.partial).toBe(true)
  })

  test('holds the upstream back if it is slow, and gets every byte', async () => {
    // More than systems keep of two connections that nobody reads: some 75 MB here.
    const most = 100_000
    const event = piece('x'.repeat(1000))
    let sent = 0
    let isRead = false
    const flood: Script = socket => {
      socket.write(streamHead)
      const pump = (): void => {
        while (sent < most && !isRead) {
          sent++
          if (!socket.write(chunk(event))) return void socket.once('drain', pump)
        }
        socket.write(chunk('data: [DONE]\n\n') + chunk(''))
      }
      pump()
    }
    const { gateway } = await setUp([flood])
    const text = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] })
    const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      request(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` } }, resolve)
        .on('error', reject)
        .end(text)
    })
    response.pause()
    expect(await still(() => sent, 500)).toBeLessThan(most)
    isRead = true
    let length = 0
    let tail = ''
    for await (const part of response) {
      length += (part as Buffer).length
      tail = (tail + (part as Buffer).toString('latin1')).slice(-20)
    }
    const end = 'data: [DONE]\n\n'
    expect({ length, tail: tail.slice(-end.length) }).toEqual({ length: sent * event.length + end.length, tail: end })
  })

  test('gets 413 for a body over the limit, with or without a declared length', async () => {
    const { gateway, upstreams } = await setUp([good], { limits: { body: '10KiB' } })
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(20_000) }] })
    const headers = { authorization: `Bearer ${KEY}` }
    const url = `${gateway.url}/v1/chat/completions`
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(413)
    const parts = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(body))
        controller.close()
      },
    })
    const chunked = await fetch(url, { method: 'POST', headers, body: parts, duplex: 'half' } as RequestInit).then(
      response => response.status,
      () => 'closed',
    )
    expect([413, 'closed']).toContain(chunked)
    expect(upstreams[0]?.requests.length).toBe(0)
  })
})

test('neither side sees the credentials of the other', async () => {
  const { gateway, upstreams } = await setUp([
    socket => json(socket, 400, { error: { message: 'your key upstream-secret-1234 at http://10.0.0.7:99/x is odd' } }),
  ])
  const text = await (await ask(gateway)).text()
  expect(text).not.toContain('upstream-secret-1234')
  expect(text).not.toContain('10.0.0.7')
  expect(upstreams[0]?.requests[0]?.text).toContain('authorization: Bearer upstream-secret-1234')
  expect(upstreams[0]?.requests[0]?.text).not.toContain(KEY)
  expect(JSON.stringify(gateway.log)).not.toMatch(/upstream-secret-1234|test-key/)
})

test('the access log has the result', async () => {
  const { gateway } = await setUp([goodStream])
  const response = await ask(gateway, true)
  await response.text()
  const line = await expect
    .poll(() => gateway.log.find(entry => entry.msg === 'request'))
    .toBeTruthy()
    .then(() => gateway.log.find(entry => entry.msg === 'request'))
  expect(line).toMatchObject({
    route: 'chat',
    model: 'm',
    target: 'up0/m',
    key: 'test',
    status: 200,
    id: response.headers.get('x-request-id'),
  })
  expect(line?.bytes_out).toBeGreaterThan(0)
  expect(line?.total).toBeGreaterThanOrEqual(line?.first_byte as number)
})
