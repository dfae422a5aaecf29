// `relay`: an API without a dialect here is passed on unchanged, with the gateway's keys, limits and log.

import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { MAIN } from '../command.js'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { until } from '../polling.js'

interface Seen {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: Buffer
}

let seen: Seen[] = []
let answer: (response: ServerResponse, request: Seen) => void
const good = (response: ServerResponse): void => {
  response.writeHead(200, {
    'content-type': 'application/json',
    'set-cookie': 'a=b',
    'x-vendor': 'yes',
    'access-control-allow-origin': '*',
  })
  response.end('{"id":  "file_1"}')
}
const upstream: Server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const one = { method: request.method as string, url: request.url as string, headers: request.headers, body: Buffer.concat(chunks) }
    seen.push(one)
    answer(response, one)
  })
})
await new Promise<void>(done => upstream.listen(0, '127.0.0.1', done))
const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
const SECRET = 'secret-of-the-operator'

const gateway: TestGateway = await startGateway({
  keys: [
    { name: 'test', value: KEY },
    { name: 'files', value: 'key-files', routes: ['relay.files'] },
    { name: 'chatter', value: 'key-chatter', routes: ['chat'] },
    { name: 'bound', value: 'key-bound', models: ['m'] },
    { name: 'other', value: 'key-other', groups: ['others'] },
    { name: 'slow', value: 'key-slow', limits: { requests: '1/1h' } },
  ],
  groups: { others: {} },
  upstreams: {
    openai: { provider: 'openai', base, secret: SECRET, headers: { 'x-operator': 'mine' } },
    claude: { provider: 'anthropic', base: `${base}/below`, secret: SECRET },
    gemini: { provider: 'gemini', base, secret: SECRET },
    own: { provider: 'anthropic', base, secret: 'caller' },
    gone: { provider: 'openai', base: 'http://127.0.0.1:9', secret: 'none' },
  },
  models: { m: { targets: [{ upstream: 'openai' }] } },
  relay: {
    vendor: { path: '/vendor/*', upstream: 'openai' },
    files: { path: '/v1/files/*', to: '/v1/files', upstream: 'openai', price: 0.01 },
    claude: { path: '/claude/*', upstream: 'claude' },
    gemini: { path: '/gemini/*', upstream: 'gemini' },
    own: { path: '/own/*', upstream: 'own' },
    gone: { path: '/gone/*', upstream: 'gone' },
    words: { path: '/words/*', upstream: 'gone', error: 'messages' },
    small: { path: '/small/*', upstream: 'openai', limits: { body: '1KiB' } },
  },
})
beforeEach(() => {
  seen = []
  answer = good
})
afterAll(async () => {
  await gateway.close()
  upstream.closeAllConnections()
  upstream.close()
})

const call = (path: string, init: RequestInit = {}, key = KEY): Promise<Response> =>
  fetch(gateway.url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) } })

/** Sends a path as it is written: `fetch` would make it plain. */
function raw(path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(gateway.url)
    const sent = httpRequest({ host: '127.0.0.1', port, path, headers: { authorization: `Bearer ${KEY}` } }, response => {
      let body = ''
      response.on('data', chunk => {
        body += String(chunk)
      })
      response.on('end', () => resolve({ status: response.statusCode as number, body }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('a relay passes the method, the rest of the path, the query, the body and the answer unchanged', async () => {
  const body = '{"a" :  1e400, "b":1.0}'
  const response = await call('/vendor/v1/things/a%20b?x=1&x=2&y[]=%C3%A4', {
    method: 'PATCH',
    body,
    headers: {
      'content-type': 'application/x-own',
      cookie: 'mine=1',
      'x-own': 'yes',
      'x-forwarded-for': '10.0.0.1',
      'x-operator': 'theirs',
    },
  })
  expect([response.status, await response.text()]).toEqual([200, '{"id":  "file_1"}'])
  expect(Object.fromEntries(response.headers)).toMatchObject({ 'content-type': 'application/json', 'x-vendor': 'yes' })
  for (const name of ['set-cookie', 'access-control-allow-origin']) expect(response.headers.get(name)).toBeNull()
  const [one] = seen as [Seen]
  expect([one.method, one.url, one.body.toString()]).toEqual(['PATCH', '/v1/things/a%20b?x=1&x=2&y[]=%C3%A4', body])
  expect(one.headers).toMatchObject({
    authorization: `Bearer ${SECRET}`,
    'content-type': 'application/x-own',
    'x-own': 'yes',
    'x-operator': 'mine',
    'content-length': String(body.length),
  })
  for (const name of ['cookie', 'x-forwarded-for']) expect(one.headers[name]).toBeUndefined()
  expect(JSON.stringify(one.headers)).not.toContain(KEY)
  const line = await until(() => gateway.log.find(({ path }) => String(path).startsWith('/vendor/v1/things')))
  expect(line).toMatchObject({ bytes_in: body.length })
})

test("a relay sends the credential in the provider's header, and no key of a caller", async () => {
  expect((await call('/claude/v1/files', { headers: { 'anthropic-version': '2099-01-01' } })).status).toBe(200)
  expect((await fetch(`${gateway.url}/gemini/upload/v1beta/files?key=${KEY}&uploadType=media`)).status).toBe(200)
  expect(seen.map(({ url }) => url)).toEqual(['/below/v1/files', '/upload/v1beta/files?uploadType=media'])
  expect(seen[0]?.headers).toMatchObject({ 'x-api-key': SECRET, 'anthropic-version': '2099-01-01' })
  expect(seen[0]?.headers.authorization).toBeUndefined()
  expect(seen[1]?.headers['x-goog-api-key']).toBe(SECRET)
  expect(JSON.stringify(seen.map(({ url, headers }) => [url, headers]))).not.toContain(KEY)
})

test("a caller's own credential is passed to an upstream with `secret: caller`", async () => {
  const response = await fetch(`${gateway.url}/own/v1/files`, { headers: { 'x-api-key': 'own-credential', 'x-sluice-key': KEY } })
  expect(response.status).toBe(200)
  expect([seen[0]?.headers['x-api-key'], seen[0]?.headers['x-sluice-key']]).toEqual(['own-credential', undefined])
})

test('the official SDK uploads a file through a relay', async () => {
  const client = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const file = await client.files.create({ file: await toFile(randomBytes(300_000), 'a.bin'), purpose: 'batch' })
  expect(file.id).toBe('file_1')
  expect([seen[0]?.method, seen[0]?.url]).toEqual(['POST', '/v1/files'])
  expect(seen[0]?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
  expect(seen[0]?.body.length).toBeGreaterThan(300_000)
  const line = await until(() => gateway.log.find(({ route, status }) => route === 'relay.files' && status === 200))
  expect(line).toMatchObject({ key: 'test', target: 'openai', method: 'POST', cost: 0.01, usage: { request: 1 } })
})

test('a relay passes bodies while they arrive, in both directions, and a slow side makes the other wait', async () => {
  const piece = randomBytes(1024 * 1024)
  const count = 24
  const hash = createHash('sha256')
  for (let index = 0; index < count; index++) hash.update(piece)
  const expected = hash.digest('hex')
  answer = (response, { body }) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    response.end(body)
  }
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let index = 0; index < count; index++) yield piece
  }
  const response = await call('/vendor/echo', { method: 'PUT', body: pieces() as never, duplex: 'half' } as RequestInit)
  const back = createHash('sha256')
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) back.update(chunk)
  expect(back.digest('hex')).toBe(expected)
})

test('a relay passes an event stream piece by piece', async () => {
  let finish: (() => void) | undefined
  answer = response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: one\n\n')
    finish = () => response.end('data: two\n\n')
  }
  const response = await call('/vendor/events')
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe('data: one\n\n')
  finish?.()
  expect(Buffer.from((await reader.read()).value as Uint8Array).toString()).toBe('data: two\n\n')
  expect((await reader.read()).done).toBe(true)
})

test('a relay passes HEAD and answers without a body', async () => {
  answer = (response, { method }) => {
    response.writeHead(method === 'HEAD' ? 200 : 204, method === 'HEAD' ? { 'content-length': '1234' } : {})
    response.end()
  }
  const head = await call('/vendor/x', { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '1234', ''])
  const gone = await call('/vendor/x', { method: 'DELETE' })
  expect([gone.status, await gone.text()]).toEqual([204, ''])
})

test('a relay passes all lines of a header of an answer', async () => {
  answer = response => {
    response.setHeader('vary', ['a', 'b'])
    response.writeHead(200, {
      link: ['<a>; rel=next', '<b>; rel=last'],
      'set-cookie': ['a=1', 'b=2'],
      connection: ['x-near', 'x-here'],
      'x-here': '1',
    })
    response.end()
  }
  const response = await call('/vendor/x')
  expect(Object.fromEntries(response.headers)).toMatchObject({ link: '<a>; rel=next, <b>; rel=last', vary: 'a, b' })
  for (const name of ['set-cookie', 'x-here']) expect(response.headers.get(name)).toBeNull()
})

test.each([
  ['/vendor', '/'],
  ['/vendor?a=1', '/?a=1'],
  ['/vendor/', '/'],
  ['/v1/files?a=1', '/v1/files?a=1'],
])('a relay passes %s as %s', async (path, url) => {
  expect((await call(path)).status).toBe(200)
  expect(seen.map(one => one.url)).toEqual([url])
})

test.each([
  '/vendor/../v1/x',
  '/vendor/..',
  '/vendor/./x',
  '/vendor/a/%2e%2e/b',
  '/vendor/a/.%2E/b',
  '/vendor/a%2fb',
  '/vendor/a%5Cb',
  '/vendor/a\\b',
  '/vendor/%252e%252e/b',
  '/vendor/a%252fb',
  '/vendor/..;/b',
  '/vendor/a%00b',
])('%s is not relayed', async path => {
  const response = await raw(path)
  expect([response.status, response.body]).toEqual([400, expect.stringContaining('not passed on')])
  expect(seen).toEqual([])
})

test('the routes, groups and models of a key decide whether it may use a relay', async () => {
  const statuses = async (key: string, paths: string[]): Promise<number[]> =>
    Promise.all(paths.map(async path => (await call(path, {}, key)).status))
  const paths = ['/vendor/x', '/v1/files']
  expect(await statuses(KEY, paths)).toEqual([200, 200])
  expect(await statuses('key-files', paths)).toEqual([403, 200])
  expect(await statuses('key-chatter', paths)).toEqual([403, 403])
  expect(await statuses('key-bound', paths)).toEqual([403, 403])
  expect(await statuses('key-other', paths)).toEqual([403, 403])
  expect(await statuses('nobody', paths)).toEqual([401, 401])
  expect((await call('/vendor/x', {}, 'key-slow')).status).toBe(200)
  expect((await call('/vendor/x', {}, 'key-slow')).status).toBe(429)
})

test('errors of the gateway have the dialect of the provider or of `error:`, and errors of the upstream pass', async () => {
  const gone = await call('/gone/x')
  expect([gone.status, await gone.json()]).toMatchObject([502, { error: { message: expect.any(String), type: expect.any(String) } }])
  const words = await call('/words/x')
  expect([words.status, await words.json()]).toMatchObject([502, { type: 'error' }])
  answer = response => {
    response.writeHead(422, { 'content-type': 'application/problem+json', 'retry-after': '7' })
    response.end('{"odd": true}')
  }
  const refused = await call('/v1/files')
  expect([refused.status, await refused.text(), refused.headers.get('retry-after')]).toEqual([422, '{"odd": true}', '7'])
  const line = await until(() => gateway.log.find(({ route, status }) => route === 'relay.files' && status === 422))
  expect(line.cost).toBeUndefined()
  answer = response => {
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end(`{"error": "wrong key ${SECRET}"}`)
  }
  const ours = await call('/vendor/x')
  expect([ours.status, await ours.text()]).toEqual([502, expect.not.stringContaining(SECRET)])
})

test('a body beyond the limit is refused while it arrives', async () => {
  expect((await call('/small/x', { method: 'POST', body: 'x'.repeat(1025) })).status).toBe(413)
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let index = 0; index < 4; index++) yield Buffer.alloc(512)
  }
  const response = await call('/small/x', { method: 'POST', body: pieces() as never, duplex: 'half' } as RequestInit)
  expect(response.status).toBe(413)
})

test('a client that disconnects ends the call', async () => {
  let isClosed = false
  answer = response => {
    response.writeHead(200)
    response.write('x')
    response.on('close', () => {
      isClosed = true
    })
  }
  const gone = new AbortController()
  const response = await call('/vendor/long', { signal: gone.signal })
  expect(response.status).toBe(200)
  gone.abort()
  await until(() => isClosed)
})

const folder = mkdtempSync(join(tmpdir(), 'sluice-relays-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs a command of the built program in a folder with this file. */
function sluice(file: string, args: string[], input = ''): { code: number | null; out: string; err: string } {
  writeFileSync(join(folder, 'gateway.yaml'), file)
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    cwd: folder,
    input,
    encoding: 'utf8',
  })
  return { code: status, out: stdout, err: stderr }
}

/** The line and rule of each finding of `sluice check`. */
function findingsIn(file: string): { code: number | null; found: string[] } {
  const { code, err } = sluice(file, ['check'])
  return { code, found: err.split('\n').flatMap(line => /^\S+:(\d+):\d+ {2}(\S+)/.exec(line)?.slice(1).join(' ') ?? []) }
}

test('a relay that hides a route, and an unknown name, are findings', () => {
  const file = `keys: [{ name: me, value: abcdefghijkl }]
upstreams: { a: { provider: openai, secret: none } }
relay:
  all: { path: /v1/*, upstream: a }
  below: { path: /v1/models/own/*, upstream: a }
  said: { path: /v1/chat/*, upstream: a, replaces: true }
  open: { path: /v1/files/*, upstream: a }
  twice: { path: /v1/files/*, upstream: a }
  nobody: { path: /x/*, upstream: b }
  words: { path: /y/*, upstream: a, error: klingon }
`
  const found = ['4 relay/shadows', '5 relay/shadows', '8 relay/path', '9 names/upstream', '10 names/dialect']
  expect(findingsIn(file).found).toEqual(found)
  expect(findingsIn(`${file}  climbs: { path: /z/../*, upstream: a }\n`)).toEqual({ code: 1, found: [...found, '11 grammar/value'] })
})

test('`explain`, `routes` and `openapi` show a relay', () => {
  const file = `keys: [{ name: me, value: $ME }]
upstreams: { a: { provider: openai, secret: $SECRET_OF_A } }
relay: { files: { path: /v1/files/*, to: /v1/files, upstream: a, price: 0.01 } }
`
  const { out } = sluice(file, ['explain', '--key', 'me', '--json'], 'GET /v1/files/x?limit=2 HTTP/1.1\r\nauthorization: Bearer x\r\n\r\n')
  expect(JSON.parse(out)).toMatchObject({
    route: { name: 'relay.files', answered: 'by the upstream, unchanged' },
    targets: [
      {
        target: 'a',
        price: '0.01 a request',
        request: { url: 'https://api.openai.com/v1/files/x?limit=2', headers: { authorization: '***' } },
      },
    ],
  })
  expect(sluice(file, ['routes']).out).toMatch(/any +\/v1\/files\/\* +relay\.files +a/)
  const { document } = JSON.parse(sluice(file, ['openapi', '--json']).out) as { document: { paths: Record<string, object> } }
  expect(Object.keys(document.paths['/v1/files/{rest}'] ?? {})).toEqual(['get', 'post', 'put', 'patch', 'delete'])
})
