// Credentials stay on their side; a client's names never become part of an address; every answer has its id, and the log a
// complete line about it.

import { describe, expect, test } from 'vitest'
import { KEY } from '../harness.js'
import { dialects, PAIRS } from './dialects.js'
import { ask, bytesOf, dial, requestLines, SECRET, type Stage, setUp, setUpPair } from './fake-upstreams.js'
import { json, type Script, stream } from './upstream.js'

const { chat, messages, generate } = dialects

/** Headers of a client that nobody else may get. */
const PRIVATE = {
  cookie: 'session=private-1',
  'proxy-authorization': 'Basic private-2',
  'x-forwarded-for': '198.51.100.7',
  'openai-organization': 'org-private-3',
  'openai-project': 'private-4',
  'x-stainless-os': 'private-5',
  'user-agent': 'private-6',
  referer: 'http://private-7/',
  'x-request-id': 'private-8',
  'x-amz-security-token': 'private-9',
}

describe.concurrent('the upstream gets from a client', () => {
  test.for(PAIRS)('%s: no credential, and only the headers that it needs', async ([, pair]) => {
    const { client, upstream } = pair
    for (const stream_ of [false, true]) {
      const { upstreams } = await askWith(pair, stream_, { ...client.headers, ...PRIVATE })
      const request = upstreams[0]?.requests[0]
      expect(request?.text).not.toContain(KEY)
      expect(request?.text).not.toContain('private')
      const version = upstream === messages ? ['anthropic-version'] : []
      const keyHeader = { openai: 'authorization', anthropic: 'x-api-key', gemini: 'x-goog-api-key' }[upstream.provider] as string
      expect(Object.keys(request?.headers ?? {}).sort()).toEqual(
        ['connection', 'content-length', 'content-type', 'host', 'user-agent', 'x-request-id', keyHeader, ...version].sort(),
      )
      expect(request?.headers[keyHeader]).toContain(SECRET)
    }
  })

  async function askWith(pair: (typeof PAIRS)[number][1], isStream: boolean, headers: Record<string, string>): Promise<Stage> {
    const { upstream } = pair
    const script: Script = isStream ? stream(upstream.begin, upstream.end) : socket => json(socket, 200, upstream.answer)
    const stage = await setUpPair(pair, [script])
    const response = await ask(stage.gateway, { dialect: pair.client, stream: isStream, headers })
    expect(response.status).toBe(200)
    await response.text()
    return stage
  }

  test.for<[string, string, Record<string, string>]>([
    ['x-api-key', '', { 'x-api-key': KEY }],
    ['a bearer token', '', { authorization: `Bearer ${KEY}` }],
    ['both, of which one is wrong', '', { 'x-goog-api-key': KEY, authorization: 'Bearer private' }],
    ['the query', `?key=${KEY}&alt=private`, {}],
  ])('no part of a key in %s', async ([, query, headers]) => {
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, generate.answer)], {}, 'gemini')
    const path = headers['x-api-key'] === undefined ? `${generate.path(false)}${query}` : messages.path(false)
    const body = headers['x-api-key'] === undefined ? generate.body(false) : messages.body(false)
    const wire = await dial(gateway)
    wire.write(bytesOf(path, headers, JSON.stringify(body)))
    expect(await wire.until(/\}$/)).toMatch(/^HTTP\/1\.1 200 /)
    expect(upstreams[0]?.requests[0]?.text).not.toMatch(new RegExp(`${KEY}|private|\\?`))
    expect(JSON.stringify(gateway.log)).not.toMatch(new RegExp(`${KEY}|private`))
  })

  test('the version and betas that the client named, if the upstream speaks the same dialect', async () => {
    const headers = { ...messages.headers, 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-2025,b-2026' }
    const same = await setUp([socket => json(socket, 200, messages.answer)], {}, 'anthropic')
    await ask(same.gateway, { dialect: messages, headers })
    expect(same.upstreams[0]?.requests[0]?.headers).toMatchObject({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-2025,b-2026' })
    expect(same.upstreams[0]?.requests[0]?.text.match(/anthropic-version/g)).toHaveLength(1)
    const other = await setUp([socket => json(socket, 200, chat.answer)])
    await ask(other.gateway, { dialect: messages, headers })
    expect(other.upstreams[0]?.requests[0]?.text).not.toContain('anthropic')
  })

  test.for<[string, string]>([
    ['letters beyond ASCII', 'caf\xe9'],
    ['letters of several bytes', 'caf\xc3\xa9 \xf0\x9f\x98\x80'],
    ['a tab', 'a\tb'],
  ])('a header with %s unchanged, or the request is refused', async ([, value]) => {
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, messages.answer)], {}, 'anthropic')
    const wire = await dial(gateway)
    wire.write(bytesOf(messages.path(false), { ...messages.headers, 'anthropic-beta': value }, JSON.stringify(messages.body(false))))
    const text = await wire.until(/\}$/)
    expect(text).toMatch(/^HTTP\/1\.1 (200|400) /)
    expect(upstreams[0]?.requests.length).toBe(text.startsWith('HTTP/1.1 200') ? 1 : 0)
  })
})

describe.concurrent('the client gets no credential and no address of an upstream', () => {
  const leak = `${SECRET} at http://10.0.0.7:99/x, localhost:1234 and sk-proj-abcdefghijkl`
  const leaked = /upstream-secret|10\.0\.0\.7|localhost|sk-proj/

  test.for<[string, number, unknown]>([
    ['a message', 400, { error: { message: leak, type: 'x' } }],
    ['a code', 400, { error: { message: 'x', code: leak } }],
    ['a field', 400, { error: { message: 'x', param: leak } }],
    ['details', 400, { error: { message: 'x', details: { url: leak, headers: { authorization: `Bearer ${SECRET}` } } } }],
    ['a bare text', 500, leak],
    ['a page', 502, `<html>${leak}</html>`],
    ['a text as the error', 500, { error: leak }],
    ['a detail that is an object', 422, { detail: [{ msg: leak }] }],
  ])('in %s', async ([, status, body]) => {
    for (const provider of ['openai', 'anthropic', 'gemini']) {
      const stage = await setUp([socket => json(socket, status, body, `x-leak: ${SECRET}\r\nset-cookie: a=${SECRET}\r\n`)], {}, provider)
      for (const dialect of [chat, messages]) {
        const response = await ask(stage.gateway, { dialect })
        const seen = JSON.stringify([...response.headers]) + (await response.text())
        expect(seen).not.toMatch(leaked)
      }
      expect(JSON.stringify(stage.gateway.log)).not.toMatch(/upstream-secret|sk-proj/)
    }
  })

  test('in an event', async () => {
    for (const provider of ['openai', 'anthropic']) {
      const event = `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: 'api_error', message: leak, code: leak } })}\n\n`
      const { upstream } = provider === 'openai' ? { upstream: chat } : { upstream: messages }
      const stage = await setUp([stream(upstream.begin, event)], {}, provider)
      for (const dialect of [chat, messages]) {
        const response = await ask(stage.gateway, { dialect, stream: true })
        expect(await response.text()).not.toMatch(leaked)
      }
      expect(JSON.stringify(stage.gateway.log)).not.toMatch(/upstream-secret|sk-proj/)
    }
  })

  test('in headers, of which only those of the route pass', async () => {
    const extra = `openai-version: 2020-10-01\r\nopenai-organization: org-1\r\nset-cookie: a=b\r\nserver: nginx\r\nvia: 1.1 inner\r\n`
    const { gateway } = await setUp([socket => json(socket, 200, chat.answer, extra)])
    const response = await ask(gateway)
    expect(Object.fromEntries(response.headers)).toEqual({
      'content-length': expect.any(String),
      'content-type': 'application/json',
      date: expect.any(String),
      'openai-version': '2020-10-01',
      uwebsockets: expect.any(String),
      'x-request-id': expect.stringMatching(/^[0-9a-f]{32}$/),
    })
  })

  test('if the upstream cannot be reached', async () => {
    const { gateway, upstreams } = await setUp([() => undefined])
    await upstreams[0]?.close()
    const text = await (await ask(gateway)).text()
    expect(text).not.toMatch(/127\.0\.0\.1|ECONN/)
    // The log has it, for the operator.
    expect((await requestLines(gateway))[0]).toMatchObject({ status: 502, error: { cause: expect.stringContaining('ECONNREFUSED') } })
  })
})

describe.concurrent('the name of a model', () => {
  const NAMES = ['../../admin', '..', '%2e%2e%2f', 'a/../b', 'a?x=1#y', 'a%0d%0aX-Evil:%201', 'm:generateContent', 'é😀', "a'b", '//host/x']

  test.for(NAMES)('%s reaches no upstream if it is unknown', async name => {
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, generate.answer)], {}, 'gemini')
    for (const dialect of [chat, messages]) expect((await ask(gateway, { dialect, model: name })).status).toBe(404)
    const wire = await dial(gateway)
    wire.write(
      bytesOf(`/v1beta/models/${encodeURIComponent(name)}:generateContent`, generate.headers, JSON.stringify(generate.body(false))),
    )
    expect(await wire.until(/\}$/)).toMatch(/^HTTP\/1\.1 404 /)
    expect(wire.text()).not.toMatch(/^x-evil/im)
    expect(upstreams[0]?.requests).toHaveLength(0)
  })

  test('is unchanged in the body of an error if it contains line ends', async () => {
    const { gateway } = await setUp([() => undefined])
    const wire = await dial(gateway)
    const model = 'a\r\nX-Evil: 1\r\n\r\nHTTP/1.1 200 OK'
    wire.write(bytesOf(chat.path(false), chat.headers, JSON.stringify(chat.body(false, model))))
    const [head, body] = (await wire.until(/\}$/)).split('\r\n\r\n') as [string, string]
    expect(head).toMatch(/^HTTP\/1\.1 404 /)
    expect(head).not.toMatch(/evil/i)
    expect(JSON.parse(body).error.message).toContain('X-Evil')
  })

  test.for(NAMES)("%s is one segment of the upstream's path if the operator configured it", async name => {
    const base = { models: { m: { targets: [{ upstream: 'up0', model: name }] } } }
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, generate.answer)], base, 'gemini')
    expect((await ask(gateway, { dialect: generate })).status).toBe(200)
    const path = upstreams[0]?.requests[0]?.line.split(' ')[1] as string
    const [, segment] = /^\/v1beta\/models\/([^/?#]*):generateContent$/.exec(path) ?? []
    expect(decodeURIComponent(segment as string)).toBe(name)
  })

  test('that a key may not use cannot be sent beside one that it may use', async () => {
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, chat.answer)])
    const body = JSON.stringify(chat.body(false)).replace('"model":"m"', '"model":"forbidden","mod\\u0065l":"other","model":"m"')
    expect((await ask(gateway, { body })).status).toBe(200)
    expect(upstreams[0]?.requests[0]?.body).not.toMatch(/forbidden|other/)
  })

  test.for(['/v1/chat/../models', '/v1//models', '/v1/models/%2e%2e/x', '/..%2f..%2fetc/passwd', '/v1/models/\\..\\x'])(
    'is not read from the path %s',
    async path => {
      const { gateway, upstreams } = await setUp([() => undefined])
      const wire = await dial(gateway)
      wire.write(bytesOf(path, chat.headers, '', 'GET'))
      expect(await wire.until(/\}$/)).toMatch(/^HTTP\/1\.1 404 /)
      expect(upstreams[0]?.requests).toHaveLength(0)
    },
  )
})

describe.concurrent('the id of a request', () => {
  test('is new for every answer, and the same in the log and at the upstream', async () => {
    const { gateway, upstreams } = await setUp([socket => json(socket, 200, chat.answer)], { limits: { body: '10KiB' } })
    const url = gateway.url
    const post = (path: string, body: string, headers: Record<string, string> = chat.headers): Promise<Response> =>
      fetch(url + path, { method: 'POST', headers, body })
    const body = JSON.stringify(chat.body(false))
    const answers = [
      await ask(gateway),
      await fetch(`${url}/`),
      await fetch(`${url}/`, { method: 'HEAD' }),
      await fetch(`${url}/v1/models`, { headers: chat.headers }),
      await fetch(`${url}/v1/models`),
      await fetch(`${url}/nowhere`),
      await post('/v1/chat/completions', '{'),
      await post('/v1/chat/completions', body, { authorization: 'Bearer no' }),
      await post('/v1/messages', '{}', messages.headers),
      await fetch(`${url}/v1/messages`, { method: 'PUT' }),
      await post('/v1/chat/completions', 'x'.repeat(20_000)),
      await post('/v1/chat/completions', body, { 'content-type': 'multipart/form-data', ...chat.headers }),
      await post('/v1/files', body),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 401, 404, 400, 401, 400, 405, 413, 415, 501])
    const ids = answers.map(({ headers }) => headers.get('x-request-id'))
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(ids).size).toBe(ids.length)
    expect(upstreams[0]?.requests[0]?.headers['x-request-id']).toBe(ids[0])
    const lines = await requestLines(gateway, answers.length)
    expect(new Set(lines.map(line => line.id))).toEqual(new Set(ids))
    for (const [index, { status }] of answers.entries()) expect(lines.find(line => line.id === ids[index])?.status).toBe(status)
  })

  test('is in a stream, and in errors that contain an id', async () => {
    const { gateway } = await setUp([stream(messages.begin)], {}, 'anthropic')
    const response = await ask(gateway, { dialect: messages, stream: true })
    const id = response.headers.get('x-request-id')
    expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(await response.text()).toContain(`"request_id":"${id}"`)
  })
})

describe.concurrent('the access log', () => {
  test.for(PAIRS)('%s: has a line with all facts of an exchange', async ([, pair]) => {
    const { client, upstream } = pair
    for (const isStream of [false, true]) {
      const script: Script = isStream
        ? stream(upstream.begin, upstream.text('Hi'), upstream.end)
        : socket => json(socket, 200, upstream.answer)
      const { gateway } = await setUpPair(pair, [script])
      const response = await ask(gateway, { dialect: client, stream: isStream })
      const text = await response.text()
      const [line] = await requestLines(gateway)
      expect(line).toEqual({
        level: expect.anything(),
        time: expect.any(Number),
        msg: 'request',
        id: response.headers.get('x-request-id'),
        route: expect.stringMatching(new RegExp(`^${client.name}`)),
        method: 'POST',
        path: client.path(isStream).replace(/\?.*/, ''),
        key: 'test',
        model: 'm',
        target: 'up0/m',
        status: 200,
        bytes_in: JSON.stringify(client.body(isStream)).length,
        bytes_out: Buffer.byteLength(text),
        usage: expect.objectContaining({ input: 3, output: 2 }),
        first_byte: expect.any(Number),
        ...(isStream && { first_token: expect.any(Number) }),
        total: expect.any(Number),
        upstream: { status: 200, connect: expect.any(Number), headers: expect.any(Number), first_event: expect.any(Number) },
      })
      const { first_byte, total } = line as { first_byte: number; total: number }
      expect(total).toBeGreaterThanOrEqual(first_byte)
    }
  })

  test('has the reason of a refusal, and the key', async () => {
    const { gateway } = await setUp([() => undefined])
    await ask(gateway, { headers: { authorization: 'Bearer wrong-key' } })
    await ask(gateway, { model: 'nobody' })
    await fetch(`${gateway.url}/nowhere?secret=1`)
    const [first, second, third] = await requestLines(gateway, 3)
    expect(first).toMatchObject({ route: 'chat', status: 401, error: { kind: 'authentication' } })
    expect(first).not.toHaveProperty('key')
    expect(second).toMatchObject({ route: 'chat', key: 'test', model: 'nobody', status: 404, error: { kind: 'not_found' } })
    expect(second).not.toHaveProperty('target')
    expect(third).toMatchObject({ path: '/nowhere', status: 404 })
    expect(JSON.stringify(gateway.log)).not.toMatch(/wrong-key|secret/)
  })

  test('counts several targets, and names the last', async () => {
    const { gateway } = await setUp([socket => json(socket, 500, chat.error), socket => json(socket, 200, chat.answer)])
    await ask(gateway)
    expect((await requestLines(gateway))[0]).toMatchObject({ attempts: 2, target: 'up1/m', status: 200 })
  })
})
