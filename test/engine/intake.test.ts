// Input is bounded: connections, ambiguous heads, bodies that are slow, large, in tiny pieces or compressed. A refusal reaches
// its client even while that still sends.

import { connect } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { KEY, startGateway } from '../harness.js'
import { bytesOf, closing, dial, flood, requestLines, settle, setUp, sleep, statusesIn } from './fake-upstreams.js'
import { json, type Script } from './upstream.js'

const CHAT = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
const HEALTH = bytesOf('/health', {}, '', 'GET')
const ANSWER = { id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices: [{}] }

const ok: Script = socket => json(socket, 200, ANSWER)
const gatewayOf = async (more: Record<string, unknown> = {}) => closing(await startGateway({ upstreams: {}, models: {}, ...more }))

describe.concurrent('connections', () => {
  test.each([
    ['a health check', HEALTH],
    ['an unknown path', bytesOf('/nowhere', {}, '', 'GET')],
    ['a request without a key', bytesOf('/v1/chat/completions', { 'content-type': 'application/json' }, BODY)],
    ['nothing', ''],
  ])('that are idle are closed after %s', async (_name, bytes) => {
    const wire = await dial(await gatewayOf())
    wire.write(bytes)
    if (bytes !== '') await wire.until(/HTTP\/1\.1 \d+/)
    const began = performance.now()
    await wire.closed
    // The server closes them after 10 s.
    expect(performance.now() - began).toBeLessThan(120_000)
  })

  test('are limited in number, and closed ones make room', async () => {
    const gateway = await gatewayOf({ capacity: { connections: 10 } })
    const wires = await Promise.all(Array.from({ length: 30 }, () => dial(gateway)))
    expect(await settle(() => wires.filter(wire => wire.isClosed()).length, 20)).toBe(20)
    for (const wire of wires) wire.socket.destroy()
    const again = async (): Promise<string> => {
      for (;;) {
        const wire = await dial(gateway)
        wire.write(HEALTH)
        const text = await wire.until(/HTTP\/1\.1 \d+/).catch(() => '')
        if (text !== '') return text
      }
    }
    expect(statusesIn(await again())).toEqual([200])
  })
})

describe.concurrent('an ambiguous head is refused', () => {
  const hidden = 'GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n'
  test.each([
    ['two lengths', 'content-length: 3\r\ncontent-length: 47\r\n', `abc${hidden}`],
    ['the same length twice', 'content-length: 3\r\ncontent-length: 3\r\n', `abc${hidden}`],
    ['a coding whose name ends with chunked', 'transfer-encoding: xchunked\r\n', `3\r\nabc\r\n0\r\n\r\n${hidden}`],
    ['an empty length', 'content-length:\r\n', hidden],
    ['two hosts', 'host: other\r\n', hidden],
    ['two keys', `authorization: Bearer ${KEY}\r\nauthorization: Bearer other\r\n`, hidden],
  ])('with %s', async (_name, lines, rest) => {
    const wire = await dial(await gatewayOf())
    wire.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\n${lines}\r\n${rest}`)
    await wire.closed
    expect(statusesIn(wire.text())).toEqual([400])
    // The library's release for Node 24 answers a second Host itself.
    expect(wire.text()).toMatch(lines.startsWith('host') ? /invalid_request_error|Bad Request/ : /invalid_request_error/)
  })

  test('unless it is a list in two lines', async () => {
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, { type: 'message', content: [] })], {}, 'anthropic')
    const wire = await dial(gateway)
    const body = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
    const head = bytesOf('/v1/messages', { 'x-api-key': KEY, 'content-type': 'application/json', 'anthropic-beta': 'one' }, body)
    wire.write(head.replace('anthropic-beta: one', 'anthropic-beta: one\r\nanthropic-beta: two'))
    await wire.until(/HTTP\/1\.1 200/)
    expect(upstreams[0]?.requests[0]?.headers['anthropic-beta']).toBe('one, two')
  })
})

describe.concurrent('a refusal arrives while the body is still sent', () => {
  /** Writes all of it, whatever comes back, and gives what came. */
  const shout = (url: string, head: string, length: number): Promise<string> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      const piece = Buffer.alloc(64 * 1024, 0x20)
      let sent = 0
      let text = ''
      const push = (): void => {
        while (sent < length) {
          sent += piece.length
          if (!socket.write(piece)) return
        }
      }
      socket.on('connect', () => {
        socket.write(head)
        push()
      })
      socket.on('drain', push)
      socket.on('data', chunk => {
        text += chunk.toString('latin1')
        if (sent >= length && text.endsWith('0\r\n\r\n')) socket.end()
      })
      socket.on('error', reject)
      socket.on('close', () => (sent < length ? reject(new Error('cut off')) : resolve(text)))
    })

  test.each([
    ['no key', '/v1/chat/completions', {}, 401, 24],
    ['a wrong key', '/v1/messages', { 'x-api-key': 'wrong' }, 401, 24],
    ['an unknown path', '/nowhere', {}, 404, 24],
    ['a body that is too large', '/v1/chat/completions', CHAT, 413, 40],
  ])('for %s', async (_name, path, headers, status, mebibytes) => {
    const gateway = await gatewayOf()
    const length = mebibytes * 1024 * 1024
    for (let round = 0; round < 3; round++) {
      const text = await shout(gateway.url, bytesOf(path, { ...headers, 'content-length': String(length) }), length)
      expect(statusesIn(text)).toEqual([status])
      expect(text).toMatch(/"error"/)
    }
  })

  test('until a limit, at which the connection is closed', async () => {
    const gateway = await gatewayOf()
    const wire = await dial(gateway)
    wire.write(bytesOf('/nowhere', { 'content-length': String(10 ** 12) }))
    expect(await flood(wire, 'x'.repeat(100_000))).toBeLessThan(10 ** 9)
  })
})

describe.concurrent('a body', () => {
  const trickle = async (gateway: { url: string }, head: string, every: number) => {
    const wire = await dial(gateway)
    wire.write(head)
    for (let sent = 0; sent < 200 && !/HTTP\/1\.1/.test(wire.text()) && !wire.isClosed(); sent++) {
      wire.write(' ')
      await sleep(every)
    }
    return wire
  }

  const FORM = { ...CHAT, 'content-type': 'multipart/form-data; boundary=b' }
  test.each([
    ['JSON', bytesOf('/v1/chat/completions', { ...CHAT, 'content-length': '100000' })],
    ['a form', bytesOf('/v1/audio/transcriptions', { ...FORM, 'content-length': '100000' })],
    ['JSON, after a quick beginning,', bytesOf('/v1/chat/completions', { ...CHAT, 'content-length': '100000' }) + ' '.repeat(50_000)],
  ])('of %s that comes byte by byte is refused after a time limit', async (_name, head) => {
    const { gateway } = await setUp([ok], { limits: { upload: '300ms' } })
    const wire = await trickle(gateway, head, 20)
    expect(statusesIn(await wire.until(/HTTP\/1\.1 \d+/))).toEqual([408])
  })

  test('in tiny pieces needs no more memory than one that comes at once', async () => {
    const { gateway } = await setUp([ok], { capacity: { bodies: '256KiB' } })
    const wire = await dial(gateway)
    const body = BODY + ' '.repeat(150_000)
    wire.write(bytesOf('/v1/chat/completions', { ...CHAT, 'transfer-encoding': 'chunked' }))
    wire.write([...body].map(letter => `1\r\n${letter}\r\n`).join(''))
    wire.write('0\r\n\r\n')
    expect(statusesIn(await wire.until(/HTTP\/1\.1 \d+/))).toEqual([200])
  })

  test('counts in a limit for all bodies until it is handled', async () => {
    const { gateway } = await setUp([ok], { capacity: { bodies: '512KiB' } })
    const whole = bytesOf('/v1/chat/completions', CHAT, BODY + ' '.repeat(300_000))
    const waiting = await dial(gateway)
    waiting.write(whole.slice(0, -1))
    const second = async (): Promise<string> => {
      const wire = await dial(gateway)
      wire.write(whole)
      return wire.until(/HTTP\/1\.1 \d+[\s\S]*\r\n\r\n/)
    }
    // The first one is not there at once.
    let text = await second()
    for (let tries = 0; tries < 100 && text.includes(' 200 '); tries++) text = await second()
    expect(statusesIn(text)).toEqual([503])
    expect(text).toMatch(/retry-after: 1/)
    waiting.write(' ')
    await waiting.until(/HTTP\/1\.1 200/)
    expect(statusesIn(await second())).toEqual([200])
  })

  const LONG = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(2_000_000) }] })
  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('in %s counts in that limit with its length after decompression', async (coding, compress) => {
    const { gateway, upstreams } = await setUp([ok], { capacity: { bodies: '1MiB' } })
    const post = (body: string): Promise<Response> =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...CHAT, 'content-encoding': coding },
        body: new Uint8Array(compress(body)),
      })
    const refused = await post(LONG)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(upstreams[0]?.requests).toEqual([])
    expect((await post(BODY)).status).toBe(200)
  })

  test('that is a form to be translated counts in that limit with its pictures', async () => {
    const { gateway, upstreams } = await setUp([ok], { capacity: { bodies: '1MiB' } }, 'gemini')
    const post = (length: number): Promise<Response> => {
      const form = new FormData()
      form.append('model', 'm')
      form.append('prompt', 'x')
      form.append(
        'image',
        new Blob([new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), new Uint8Array(length)], { type: 'image/png' }),
        'a.png',
      )
      return fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body: form })
    }
    const refused = await post(2_000_000)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(upstreams[0]?.requests).toEqual([])
    await post(1_000)
    expect(upstreams[0]?.requests.length).toBe(1)
  })

  test.each(['model', 'x'.repeat(1024 * 1024)])('with a huge value or name is not quoted in the error or the log', async name => {
    const { gateway } = await setUp([ok])
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: CHAT,
      body: JSON.stringify({
        [name]: 'y'.repeat(8 * 1024 * 1024),
        model: 'z'.repeat(600),
        metadata: { [name]: 5 },
        messages: [{ role: 'x' }],
      }),
    })
    expect(response.status).toBe(400)
    expect((await response.text()).length).toBeLessThan(8 * 1024)
    expect(JSON.stringify(await requestLines(gateway)).length).toBeLessThan(8 * 1024)
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['GZIP, identity', gzipSync],
    ['identity', Buffer.from],
    ['', Buffer.from],
  ])('in %s is read', async (coding, compress) => {
    const { gateway, upstreams } = await setUp([ok])
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...CHAT, 'content-encoding': coding },
      body: new Uint8Array(compress(BODY)),
    })
    expect(response.status).toBe(200)
    expect(JSON.parse(upstreams[0]?.requests[0]?.body ?? '')).toEqual(JSON.parse(BODY))
    expect(upstreams[0]?.requests[0]?.headers).not.toHaveProperty('content-encoding')
  })

  test('in a coding is read by a route that the gateway answers itself', async () => {
    const { gateway } = await setUp([ok])
    const show = (body: Buffer, headers: Record<string, string>): Promise<Response> =>
      fetch(`${gateway.url}/api/show`, { method: 'POST', headers: { ...CHAT, ...headers }, body: new Uint8Array(body) })
    const plain = await show(Buffer.from('{"model":"m"}'), {})
    const coded = await show(gzipSync('{"model":"m"}'), { 'content-encoding': 'gzip' })
    expect([coded.status, await coded.json()]).toEqual([200, await plain.json()])
    expect((await show(gzipSync(Buffer.alloc(40 * 1024 * 1024)), { 'content-encoding': 'gzip' })).status).toBe(413)
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(40 * 1024 * 1024)), 413],
    ['gzip', Buffer.from('no gzip'), 400],
    ['compress', Buffer.from(BODY), 415],
    ['gzip, br', gzipSync(BODY), 415],
  ])('in %s that cannot be read is refused (%#)', async (coding, body, status) => {
    const { gateway } = await setUp([ok])
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...CHAT, 'content-encoding': coding },
      body: new Uint8Array(body),
    })
    expect(response.status).toBe(status)
    expect(await response.json()).toHaveProperty('error.message')
  })
})
