// `call`: another service is called during a request, and may do what a closed list allows.

import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { until } from '../polling.js'

interface Seen {
  url: string
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
}

interface Fake {
  url: string
  server: Server
  seen: Seen[]
  connections: number
  answer(response: ServerResponse, seen: Seen): void
}

async function startFake(usual: Fake['answer']): Promise<Fake> {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', chunk => {
      text += String(chunk)
    })
    request.on('end', () => {
      const one = { url: request.url as string, headers: request.headers, body: JSON.parse(text || '{}') as Record<string, unknown> }
      fake.seen.push(one)
      fake.answer(response, one)
    })
  })
  const fake: Fake = { url: '', server, seen: [], connections: 0, answer: usual }
  server.on('connection', () => {
    fake.connections++
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return fake
}

const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}
const answered: Fake['answer'] = (response, { body }) =>
  body.stream === true
    ? response.writeHead(200, { 'content-type': 'text/event-stream' }) &&
      response.end(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x', choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`,
      )
    : json(response, {
        id: 'c',
        object: 'chat.completion',
        created: 1,
        model: 'x',
        choices: [{ index: 0, message: { role: 'assistant', content: 'my secret answer' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      })

const [one, two, service] = [await startFake(answered), await startFake(answered), await startFake(response => json(response, {}))]
const TOKEN = 'token-of-the-service'
process.env.TEST_SERVICE_TOKEN = TOKEN
process.env.TEST_SERVICE_URL = `${service.url}/answer?secret=in-the-address`

const gateway: TestGateway = await startGateway({
  keys: [
    { name: 'test', value: KEY },
    { name: 'free', value: 'key-free' },
  ],
  upstreams: {
    one: { provider: 'openai', base: one.url, secret: 'secret-one' },
    two: { provider: 'openai', base: two.url, secret: 'secret-two' },
  },
  models: {
    m: { targets: [{ upstream: 'one' }, { upstream: 'two', priority: 2 }], aliases: ['other-name'] },
    optional: { targets: [{ upstream: 'one' }] },
    answers: { targets: [{ upstream: 'one' }] },
    streams: { targets: [{ upstream: 'one' }] },
    plain: { targets: [{ upstream: 'one' }] },
  },
  relay: { all: { path: '/all/*', upstream: 'one' } },
  call: {
    login: {
      at: 'admit',
      url: `${service.url}/login`,
      headers: { authorization: '$TEST_SERVICE_TOKEN' },
      send: '{ "key": key.name, "session": headers."x-session", "route": route, "all": headers }',
      keys: ['test'],
    },
    filter: {
      at: 'request',
      url: `${service.url}/filter`,
      send: '{ "text": request.messages.content, "model": model }',
      may: ['refuse', 'replace', 'target', 'facts'],
      timeout: '500ms',
      models: ['m'],
    },
    optional: {
      at: 'request',
      url: `${service.url}/optional`,
      send: '{}',
      may: ['refuse', 'replace', 'target'],
      on_fail: 'pass',
      models: ['optional'],
    },
    answer: {
      at: 'answer',
      url: '$TEST_SERVICE_URL',
      send: '{ "said": answer.choices.message.content, "asked": request.messages.content }',
      may: ['refuse', 'replace'],
      streams: 'refuse',
      models: ['answers'],
    },
    passing: {
      at: 'answer',
      url: `${service.url}/answer`,
      send: '{}',
      may: ['replace'],
      on_fail: 'pass',
      streams: 'pass',
      models: ['streams'],
    },
  },
})
beforeEach(() => {
  for (const fake of [one, two, service]) fake.seen = []
  service.answer = response => json(response, {})
})
afterAll(async () => {
  await gateway.close()
  for (const { server } of [one, two, service]) {
    server.closeAllConnections()
    server.close()
  }
})

/** What the service answers at a path; elsewhere it lets pass. */
const says = (path: string, body: unknown, status = 200): void => {
  service.answer = (response, { url }) => json(response, url.startsWith(path) ? body : {}, status)
}
const ask = (model: string, more: object = {}, key = KEY, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'my secret' }], seed: 1, ...more }),
  })
const asked = (path: string): Seen[] => service.seen.filter(({ url }) => url.startsWith(path))
const lineOf = (id: string | null): Promise<Record<string, unknown>> => until(() => gateway.log.find(line => line.id === id))

test('a call gets the result of `send` and no key, over connections that are reused', async () => {
  for (let count = 0; count < 5; count++) expect((await ask('other-name', {}, KEY, { 'x-session': 'abc' })).status).toBe(200)
  expect(asked('/login')[0]?.body).toMatchObject({ key: 'test', session: 'abc', route: 'chat' })
  expect(asked('/login')[0]?.headers.authorization).toBe(TOKEN)
  expect(asked('/filter')[0]?.body).toEqual({ text: 'my secret', model: 'other-name' })
  expect(JSON.stringify(service.seen)).not.toContain(KEY)
  expect(service.connections).toBeLessThan(4)
  expect([one.seen.length, one.seen[0]?.body.messages]).toEqual([5, [{ role: 'user', content: 'my secret' }]])
})

test('a call at admit can refuse on every route, in the form of the dialect', async () => {
  says('/login', { refuse: { message: 'Log in again.', kind: 'authentication', code: 'session_gone' } })
  const openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const claude = new Anthropic({ apiKey: KEY, baseURL: gateway.url, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'x' }]
  await expect(openai.chat.completions.create({ model: 'm', messages })).rejects.toMatchObject({ status: 401, code: 'session_gone' })
  await expect(claude.messages.create({ model: 'm', messages, max_tokens: 9 })).rejects.toThrow(/Log in again\./)
  await expect(openai.models.list()).rejects.toMatchObject({ status: 401 })
  expect((await fetch(`${gateway.url}/all/x`, { headers: { authorization: `Bearer ${KEY}` } })).status).toBe(401)
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=m`, { headers: { authorization: `Bearer ${KEY}` } })
  const status = await new Promise(resolve => {
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode))
    socket.on('open', () => resolve('open'))
    socket.on('error', () => undefined)
  })
  expect(status).toBe(401)
  expect(one.seen).toEqual([])
  // The call does not apply to another key.
  expect((await ask('plain', {}, 'key-free')).status).toBe(200)
})

test('a call can replace parts of a request, and everything else stays byte for byte', async () => {
  says('/filter', { replace: { 'messages.0.content': 'my ***', 'metadata.seen': 'yes', seed: null } })
  const body = '{"model":"m","seed":1,"messages":[{"role":"user","content":"my secret"}],"temperature":1.0,"user":"\\u0061"}'
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body,
  })
  expect(response.status).toBe(200)
  expect(one.seen[0]?.body).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'my ***' }],
    metadata: { seen: 'yes' },
    temperature: 1,
    user: 'a',
  })
  says('/filter', { replace: { messages: 'no list' } })
  expect((await ask('m')).status).toBe(400)
})

test('a call can choose the target, and add facts to the log', async () => {
  says('/filter', { target: 'two', facts: { risk: 0.5, team: 'red' } })
  const response = await ask('m')
  expect([response.status, one.seen.length, two.seen.length]).toEqual([200, 0, 1])
  expect(await lineOf(response.headers.get('x-request-id'))).toMatchObject({
    target: 'two/m',
    facts: { risk: 0.5, team: 'red' },
    calls: [
      { call: 'login', result: 'passed', total: expect.any(Number) },
      { call: 'filter', result: 'changed' },
    ],
  })
})

test('a target that the model does not have is a failure of the call that chose it', async () => {
  says('/filter', { target: 'nobody' })
  const refused = await ask('m')
  expect([refused.status, refused.headers.get('retry-after'), one.seen.length]).toEqual([503, '1', 0])
  const failed = { result: 'failed', cause: expect.stringContaining('nobody') }
  expect(await lineOf(refused.headers.get('x-request-id'))).toMatchObject({
    error: { kind: 'unavailable' },
    calls: [
      { call: 'login', result: 'passed' },
      { call: 'filter', ...failed },
    ],
  })
  says('/optional', { target: 'nobody' })
  const passed = await ask('optional')
  expect([passed.status, one.seen.length]).toEqual([200, 1])
  expect(await lineOf(passed.headers.get('x-request-id'))).toMatchObject({ calls: [{}, { call: 'optional', ...failed }] })
})

test.each([
  ['an error status', { any: 1 }, 500],
  ['a list in place of an object', '[]', 200],
  ['a text that is not JSON', 'no', 200],
  ['an unknown member', { pass: true }, 200],
  ['an index that the list does not have', { replace: { 'messages.7.content': 'x' } }, 200],
  ['an index that is none', { replace: { 'messages.first.content': 'x' } }, 200],
  ['an index without digits', { replace: { 'messages..content': 'x' } }, 200],
  ['a refusal without a message', { refuse: {} }, 200],
  ['an unknown kind', { refuse: { message: 'x', kind: 'teapot' } }, 200],
] as const)('%s is a failure, which refuses the request unless the operator lets it pass', async (_name, body, status) => {
  says('/filter', body, status)
  service.answer = (response, { url }) => json(response, url === '/login' ? {} : body, url === '/login' ? 200 : status)
  const refused = await ask('m')
  const text = await refused.text()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect(text).not.toContain(service.url)
  expect(one.seen).toEqual([])
  const line = await lineOf(refused.headers.get('x-request-id'))
  expect(line).toMatchObject({
    error: { kind: 'unavailable' },
    calls: [{ call: 'login' }, { call: 'filter', result: 'failed', cause: expect.any(String) }],
  })
  const passed = await ask('optional')
  expect(passed.status).toBe(200)
  expect(await lineOf(passed.headers.get('x-request-id'))).toMatchObject({ calls: [{}, { call: 'optional', result: 'failed' }] })
})

test('a service that does not answer in time has failed', async () => {
  service.answer = (response, { url }) => {
    if (url === '/login') json(response, {})
  }
  const refused = await ask('m')
  expect(refused.status).toBe(503)
  expect(await lineOf(refused.headers.get('x-request-id'))).toMatchObject({
    calls: [{}, { result: 'failed', cause: expect.stringContaining('in time') }],
  })
})

test('a call at answer sees the whole answer before the client, and can replace parts of it or refuse it', async () => {
  says('/answer', { replace: { 'choices.0.message.content': 'my *** answer' } })
  const response = await ask('answers')
  expect(await response.json()).toMatchObject({ id: 'c', choices: [{ message: { content: 'my *** answer' } }] })
  expect(asked('/answer')[0]?.body).toEqual({ said: 'my secret answer', asked: 'my secret' })
  says('/answer', { refuse: { message: 'Not this.', kind: 'permission' } })
  const refused = await ask('answers')
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('Not this.')])
  expect(await lineOf(refused.headers.get('x-request-id'))).toMatchObject({ error: { kind: 'permission' }, usage: { input: 1 } })
  // In a translated answer, too.
  const claude = new Anthropic({ apiKey: KEY, baseURL: gateway.url, maxRetries: 0 })
  says('/answer', { replace: { 'content.0.text': '***' } })
  const message = await claude.messages.create({ model: 'answers', messages: [{ role: 'user', content: 'x' }], max_tokens: 9 })
  expect(message.content).toMatchObject([{ type: 'text', text: '***' }])
})

test('a change that an answer cannot take is a failure of its call', async () => {
  says('/answer', { replace: { 'choices.7.message.content': 'x' } })
  const refused = await ask('answers')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await refused.text()).not.toContain('replace')
  expect(await lineOf(refused.headers.get('x-request-id'))).toMatchObject({
    error: { kind: 'unavailable' },
    calls: [{}, { call: 'answer', result: 'failed', cause: expect.stringContaining('choices.7.message.content') }],
  })
  const passed = await ask('streams')
  expect([passed.status, await passed.json()]).toMatchObject([200, { choices: [{ message: { content: 'my secret answer' } }] }])
})

test('a stream is refused before any call, or passes unchecked, as `streams` says', async () => {
  const refused = await ask('answers', { stream: true })
  expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'stream' } }])
  expect(one.seen).toEqual([])
  const passed = await ask('streams', { stream: true })
  expect([passed.status, await passed.text()]).toEqual([200, expect.stringContaining('[DONE]')])
  expect(asked('/answer')).toEqual([])
})

test('no log contains a secret of a call', async () => {
  await ask('m')
  await ask('answers')
  const text = JSON.stringify(gateway.log)
  for (const secret of [TOKEN, 'in-the-address', service.url]) expect(text).not.toContain(secret)
})

test('a wrong call is a finding, which quotes no address', async () => {
  const found = await findingsIn({
    upstreams: { one: { provider: 'openai', base: one.url, secret: 'secret-one' } },
    call: {
      a: { at: 'admit', url: 'http://127.0.0.1:1', send: 'key.name', may: ['replace'], models: ['m'] },
      b: { at: 'request', url: '$TEST_NO_ADDRESS', send: '{ "x": requests }' },
      c: { at: 'answer', url: 'ftp://user:password@host', send: 'answer', routes: ['chats'] },
      d: { at: 'answer', url: 'http://127.0.0.1:1', send: 'answer', routes: ['chats'], may: ['target'] },
    },
  })
  expect(found).not.toContain('password')
  expect(found.match(/grammar\/value/g)).toHaveLength(1)
  const rest = await findingsIn({
    upstreams: { one: { provider: 'openai', base: one.url, secret: 'secret-one' } },
    call: {
      a: { at: 'admit', url: 'http://127.0.0.1:1', send: 'key.name', may: ['replace'], models: ['m'] },
      b: { at: 'request', url: '$TEST_NO_ADDRESS', send: '{ "x": requests }' },
      d: { at: 'answer', url: 'http://127.0.0.1:1', send: 'answer', routes: ['chats'], may: ['target'] },
    },
  })
  expect(rest).not.toContain('not-one')
  expect([...rest.matchAll(/ {2}([a-z]+\/[a-z-]+)/g)].map(([, rule]) => rule).sort()).toEqual([
    'call/may',
    'call/may',
    'call/may',
    'call/url',
    'jsonata/field',
    'names/route',
  ])
})

/** What starting with a file finds. */
async function findingsIn(file: Record<string, unknown>): Promise<string> {
  process.env.TEST_NO_ADDRESS = 'not-one'
  const failed: unknown = await startGateway(file).catch((error: unknown) => error)
  return (failed as Error).message
}
