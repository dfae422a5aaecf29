// Request bodies: too large, slow, cut, of the wrong kind; and connections that are used again after a refusal.

import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { dialects } from './dialects.js'
import { ask, bytesOf, dial, flood, requestLines, type Stage, settle, setUp, sleep, statusesIn, still } from './fake-upstreams.js'
import { chunk, json } from './upstream.js'

const { chat } = dialects
const PATH = chat.path(false)
const LIMIT = 10 * 1024
const limited = { limits: { body: '10KiB' } }
const stage = (more: Record<string, unknown> = {}): Promise<Stage> => setUp([socket => json(socket, 200, chat.answer)], more)

/** A request body of exactly so many bytes. */
function bodyOf(length: number): string {
  const frame = JSON.stringify({ ...chat.body(false), messages: [{ role: 'user', content: '' }] })
  return frame.replace('"content":""', `"content":"${'x'.repeat(length - frame.length)}"`)
}

const good = bytesOf(PATH, chat.headers, JSON.stringify(chat.body(false)))
const chunkedHead = bytesOf(PATH, { ...chat.headers, 'transfer-encoding': 'chunked' })

describe.concurrent('a body over the limit', () => {
  test('is refused before any of it is sent, if its length is declared', async () => {
    const { gateway, upstreams } = await stage(limited)
    const wire = await dial(gateway)
    wire.write(bytesOf(PATH, { ...chat.headers, 'content-length': '50000000' }))
    expect(await wire.until(/\r\n\{.*\}\r\n/)).toMatch(/^HTTP\/1\.1 413 /)
    expect(wire.text()).toContain('"code":"request_too_large"')
    // The rest is read for nothing, for a while: the connection is over then, and says so.
    expect(wire.text()).toMatch(/^connection: close\r$/im)
    await wire.closed
    expect(upstreams[0]?.requests).toHaveLength(0)
  })

  test('is refused when it exceeds the limit, if its length is not declared, and the rest is read only for a while', async () => {
    const { gateway, upstreams } = await stage(limited)
    const wire = await dial(gateway)
    wire.write(chunkedHead)
    for (let count = 0; count < 10; count++) wire.write(chunk('x'.repeat(1000)))
    expect(await still(wire.text, 100)).toBe('')
    wire.write(chunk('x'.repeat(1000)))
    expect(await wire.until(/\r\n\{.*\}/)).toMatch(/^HTTP\/1\.1 413 /)
    expect(await flood(wire, chunk('x'.repeat(100_000)))).toBeLessThan(10 ** 9)
    expect(upstreams[0]?.requests).toHaveLength(0)
  })

  test.for<[string, boolean, number, number]>([
    ['exactly the limit, declared', false, LIMIT, 200],
    ['one byte more, declared', false, LIMIT + 1, 413],
    ['exactly the limit, not declared', true, LIMIT, 200],
    ['one byte more, not declared', true, LIMIT + 1, 413],
  ])('%s: %s', async ([, isChunked, length, status]) => {
    const { gateway } = await stage(limited)
    const wire = await dial(gateway)
    const body = bodyOf(length)
    wire.write(
      isChunked ? chunkedHead + chunk(body.slice(0, 5000)) + chunk(body.slice(5000)) + chunk('') : bytesOf(PATH, chat.headers, body),
    )
    await wire.until(/HTTP\/1\.1/)
    expect(statusesIn(wire.text())).toEqual([status])
  })

  test('is refused so that a client learns it that sends everything before it reads', async () => {
    const { gateway } = await stage(limited)
    const heard = await Promise.all(
      Array.from(
        { length: 10 },
        () =>
          new Promise<number | string | undefined>(resolve => {
            const asked = request(gateway.url + PATH, { method: 'POST', headers: { ...chat.headers, 'content-length': 5_000_000 } })
            asked.on('response', response => resolve(response.resume().statusCode))
            asked.on('error', error => resolve((error as NodeJS.ErrnoException).code))
            asked.end('x'.repeat(5_000_000))
          }),
      ),
    )
    expect(heard).toEqual(Array(10).fill(413))
  })

  test('is refused by the limit of the operator, on every route', async () => {
    const { gateway } = await stage(limited)
    for (const dialect of Object.values(dialects)) {
      const response = await ask(gateway, { dialect, body: bodyOf(LIMIT + 1) })
      expect({ dialect: dialect.name, status: response.status }).toEqual({ dialect: dialect.name, status: 413 })
      expect(dialect.messageOf(await response.json())).toContain(String(LIMIT))
    }
  })
})

describe.concurrent('a body that arrives', () => {
  test('in small pieces is put together', async () => {
    const { gateway, upstreams } = await stage()
    const wire = await dial(gateway)
    // The server reads the first line in one piece or not at all: one cut inside it is answered with 505.
    const at = good.indexOf('\r\n') + 2
    wire.socket.setNoDelay(true)
    wire.write(good.slice(0, at))
    // No more of them than come in the time that the server waits for a head, on any machine.
    for (const piece of good.slice(at).match(/.{1,5}/gs) as string[]) {
      wire.write(piece)
      await new Promise(setImmediate)
    }
    await wire.until(/"Hi"/)
    expect(JSON.parse(upstreams[0]?.requests[0]?.body as string)).toEqual(chat.body(false))
  })

  test('cut in two at any byte is put together', async () => {
    const { gateway, upstreams } = await stage()
    const text = good
      .replace('"x"', '"é😀"')
      .replace(/content-length: \d+/, `content-length: ${Buffer.byteLength(JSON.stringify(chat.body(false))) + 5}`)
    const bytes = Buffer.from(text)
    for (let from = bytes.indexOf('\r\n\r\n') - 3; from < bytes.length; from += 8) {
      await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const wire = await dial(gateway)
          wire.socket.setNoDelay(true)
          wire.socket.write(bytes.subarray(0, from + index))
          await sleep(5)
          wire.socket.write(bytes.subarray(from + index))
          await wire.until(/"Hi"/)
          wire.socket.destroy()
        }),
      )
    }
    expect(new Set(upstreams[0]?.requests.map(({ body }) => JSON.parse(body).messages[0].content))).toEqual(new Set(['é😀']))
  })

  test('in chunks of any size is put together', async () => {
    const { gateway, upstreams } = await stage()
    const body = JSON.stringify(chat.body(false))
    for (const size of [1, 7, 64, 1000]) {
      const wire = await dial(gateway)
      const parts = body.match(new RegExp(`.{1,${size}}`, 'g')) as string[]
      wire.write(chunkedHead + parts.map(chunk).join('') + chunk(''))
      await wire.until(/"Hi"/)
    }
    for (const one of upstreams[0]?.requests ?? []) expect(JSON.parse(one.body)).toEqual(chat.body(false))
  })

  test('with many megabytes is passed on complete', async () => {
    const { gateway, upstreams } = await stage()
    const content = 'é😀x'.repeat(2_000_000)
    const body = JSON.stringify({ ...chat.body(false), messages: [{ role: 'user', content }] })
    expect((await ask(gateway, { body })).status).toBe(200)
    expect(JSON.parse(upstreams[0]?.requests[0]?.body as string).messages[0].content).toBe(content)
  })

  test('slowly is awaited, for longer than an idle connection is kept', async () => {
    const { gateway, upstreams } = await stage({ limits: { upload: '10m' } })
    const [idle, wire] = [await dial(gateway), await dial(gateway)]
    wire.write(chunkedHead + chunk(JSON.stringify(chat.body(false))))
    while (!idle.isClosed()) {
      wire.write(chunk(' '))
      await sleep(200)
    }
    wire.write(chunk(' ') + chunk(''))
    await wire.until(/"Hi"/)
    expect(upstreams[0]?.requests).toHaveLength(1)
  })

  test('only half before its connection ends is not sent on', async () => {
    const { gateway, upstreams } = await stage()
    const wire = await dial(gateway)
    wire.write(good.slice(0, -10))
    await settle(() => wire.socket.writableLength, 0)
    wire.socket.destroy()
    expect((await requestLines(gateway))[0]).toMatchObject({ status: 499, partial: true })
    expect(upstreams[0]?.requests).toHaveLength(0)
  })
})

describe.concurrent('a body that continues after its answer', () => {
  test('slowly leaves its connection usable', async () => {
    const { gateway } = await stage()
    const [silent, wire] = [await dial(gateway), await dial(gateway)]
    for (const one of [silent, wire]) {
      one.write(bytesOf(PATH, { 'transfer-encoding': 'chunked' }))
      await one.until(/HTTP\/1\.1 401 /)
    }
    // For longer than a connection is kept on which nothing comes, and so than after which the server is told that one lives.
    while (!silent.isClosed()) {
      wire.write(chunk('x'))
      await sleep(200)
    }
    wire.write(chunk('') + good)
    await wire.until(/"Hi"/)
    expect(statusesIn(wire.text())).toEqual([401, 200])
  })
})

describe.concurrent('a body of JSON', () => {
  test.for<[string, string, Record<string, string>, number, string | null]>([
    ['nothing', '', {}, 400, 'invalid_json'],
    ['half of it', '{"model":"m"', {}, 400, 'invalid_json'],
    ['a list', '[]', {}, 400, 'invalid_type'],
    ['null', 'null', {}, 400, 'invalid_type'],
    ['a text', '"x"', {}, 400, 'invalid_type'],
    ['a form', 'a=1', { 'content-type': 'multipart/form-data; boundary=x' }, 415, 'unsupported_content_type'],
    ['a form, in capitals', 'a=1', { 'content-type': 'Multipart/Form-Data; boundary=x' }, 415, 'unsupported_content_type'],
    ['without a model', '{"messages":[]}', {}, 400, 'missing_required_parameter'],
    ['with an empty model', '{"model":"","messages":[{"role":"user","content":"x"}]}', {}, 400, 'string_below_min_length'],
    ['not UTF-8', '{"model":"\xff', {}, 400, 'invalid_json'],
  ])('is refused: %s', async ([, body, headers, status, code]) => {
    const { gateway } = await stage()
    const response = await ask(gateway, { body, headers })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', code } })
  })

  test.for([8, 100_000])('is refused for bytes that are not UTF-8, after %i valid ones', async length => {
    const { gateway, upstreams } = await stage()
    const [before, behind] = JSON.stringify(chat.body(false))
      .replace('"x"', `"${'y'.repeat(length)}|"`)
      .split('|') as [string, string]
    for (const wrong of ['ff', 'c3', 'eda080', 'f8888080', 'c0af']) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(wrong, 'hex'), Buffer.from(behind)])
      const response = await fetch(gateway.url + PATH, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...chat.headers },
        body,
      })
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({ error: { code: 'invalid_json', message: 'The request body is not UTF-8.' } })
    }
    expect(upstreams[0]?.requests).toHaveLength(0)
  })

  test('may begin with a byte order mark', async () => {
    const { gateway } = await stage()
    expect((await ask(gateway, { body: `\uFEFF${JSON.stringify(chat.body(false))}` })).status).toBe(200)
  })

  test('may have another content type', async () => {
    const { gateway } = await stage()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=utf-8'])
      expect((await ask(gateway, { headers: { 'content-type': type } })).status).toBe(200)
  })
})

describe.concurrent('a connection is reused', () => {
  const body = JSON.stringify(chat.body(false))
  const REFUSED: [string, string, number][] = [
    ['401 without a body', bytesOf('/v1/models', {}, '', 'GET'), 401],
    ['401', bytesOf(PATH, { authorization: 'Bearer wrong' }, body), 401],
    ['401 of a chunked body', bytesOf(PATH, { 'transfer-encoding': 'chunked' }) + chunk(body) + chunk(''), 401],
    ['404 of a path', bytesOf('/nowhere', chat.headers, body), 404],
    ['404 of a chunked body', bytesOf('/nowhere', { 'transfer-encoding': 'chunked' }) + chunk(body) + chunk(''), 404],
    ['404 of a model', bytesOf(PATH, chat.headers, body.replace('"m"', '"nobody"')), 404],
    ['405', bytesOf(PATH, chat.headers, body, 'PUT'), 405],
    ['400', bytesOf(PATH, chat.headers, '{"oops'), 400],
    ['415', bytesOf(PATH, { ...chat.headers, 'content-type': 'multipart/form-data' }, body), 415],
    ['501', bytesOf('/v1/files', chat.headers, body), 501],
    ['a HEAD', bytesOf('/', {}, '', 'HEAD'), 200],
  ]

  test.for(REFUSED)('after %s', async ([, refused, status]) => {
    const { gateway } = await stage()
    const wire = await dial(gateway)
    wire.write(refused)
    await wire.until(/\r\n\r\n/)
    await still(wire.length, 50)
    wire.write(good)
    await wire.until(/"Hi"/)
    expect(statusesIn(wire.text())).toEqual([status, 200])
  })

  test.for(REFUSED)('if the next request comes with %s', async ([, refused, status]) => {
    const { gateway } = await stage()
    const wire = await dial(gateway)
    wire.write(refused + good)
    await wire.until(/"Hi"/)
    expect(statusesIn(wire.text())).toEqual([status, 200])
  })

  test.for(REFUSED.filter(([, text]) => text.endsWith('}')))('if the body comes after its refusal: %s', async ([, refused, status]) => {
    const { gateway } = await stage()
    const wire = await dial(gateway)
    const at = refused.indexOf('\r\n\r\n') + 4
    wire.write(refused.slice(0, at))
    await still(wire.length, 50)
    for (const letter of refused.slice(at)) wire.write(letter)
    await still(wire.length, 50)
    wire.write(good)
    await wire.until(/"Hi"/)
    expect(statusesIn(wire.text())).toEqual([status, 200])
  })

  test('after answers, errors of upstreams and streams, in any order', async () => {
    let count = 0
    const { gateway } = await setUp([socket => (count++ % 2 === 0 ? json(socket, 200, chat.answer) : json(socket, 400, chat.error))])
    const wire = await dial(gateway)
    for (let asked = 1; asked <= 6; asked++) {
      wire.write(good)
      await wire.until(new RegExp(`(HTTP/1.1 [^]*){${asked}}\\}$`))
    }
    expect(statusesIn(wire.text())).toEqual([200, 400, 200, 400, 200, 400])
  })
})

describe.concurrent('an ambiguous request', () => {
  test.for<[string, string]>([
    ['a length and chunks', bytesOf(PATH, { ...chat.headers, 'transfer-encoding': 'chunked' }, '0\r\n\r\n') + good],
    ['two lengths', good.replace('content-length', 'content-length: 5\r\ncontent-length')],
    ['a length that is not a number', good.replace(/content-length: \d+/, 'content-length: 1x')],
    ['a negative length', good.replace(/content-length: \d+/, 'content-length: -5')],
    ['an invalid chunk size', `${chunkedHead}zz\r\n{}\r\n0\r\n\r\n`],
    ['a line without a colon', good.replace('host: gateway', 'host gateway')],
    ['a name with a blank', good.replace('content-length', 'content-length ')],
    ['no host', good.replace('host: gateway\r\n', '')],
    ['another version of HTTP', good.replace('HTTP/1.1', 'HTTP/3.0')],
  ])('with %s is not passed on', async ([, text]) => {
    const { gateway, upstreams } = await stage()
    const wire = await dial(gateway)
    wire.write(text)
    await Promise.race([wire.closed, still(() => wire.length() + (upstreams[0]?.requests.length ?? 0), 300)])
    // Refused or cut off; and whatever follows is not taken for a request of its own.
    expect(statusesIn(wire.text()).filter(status => status < 400)).toEqual([])
    expect(upstreams[0]?.requests).toHaveLength(0)
  })
})

describe.concurrent('HEAD and GET of the root', () => {
  test.for(['HEAD', 'GET'])('%s / needs no key', async method => {
    const { gateway } = await stage()
    const response = await fetch(`${gateway.url}/`, { method })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
    expect((await response.text()).length > 0).toBe(method === 'GET')
  })

  test('HEAD has the length of GET, and no body', async () => {
    const { gateway } = await stage()
    const wire = await dial(gateway)
    wire.write(bytesOf('/', {}, '', 'HEAD') + bytesOf('/', {}, '', 'GET'))
    const text = await wire.until(/\}$/)
    const [first, second, body] = text.split('\r\n\r\n')
    expect(/content-length: (\d+)/i.exec(first as string)?.[1]).toBe(String(body?.length))
    expect(/content-length: (\d+)/i.exec(second as string)?.[1]).toBe(String(body?.length))
  })
})
