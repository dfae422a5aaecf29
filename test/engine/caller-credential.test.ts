// `secret: caller`: the caller's own credential is passed to the upstream that has this setting, and to nothing else.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'

/** The one of the caller, which no log and no other host may see. */
const OWN = 'oat01_own-credential_of-the-caller'

interface Fake {
  url: string
  seen: IncomingHttpHeaders[]
  answer(response: ServerResponse, request: IncomingMessage): void
  server: Server
}

async function startFake(): Promise<Fake> {
  const server = createServer((request, response) => {
    fake.seen.push(request.headers)
    request.resume()
    request.on('end', () => fake.answer(response, request))
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const fake: Fake = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen: [], answer: good, server }
  return fake
}

const send = (response: ServerResponse, status: number, body: unknown, headers = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
const good: Fake['answer'] = response =>
  send(response, 200, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'x',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  })

const [own, other] = [await startFake(), await startFake()]
const gateway: TestGateway = await startGateway({
  upstreams: {
    own: { provider: 'anthropic', base: own.url, secret: 'caller' },
    company: { provider: 'anthropic', base: other.url, secret: 'secret-of-the-company' },
  },
  models: {
    mine: { targets: [{ upstream: 'own' }] },
    either: { targets: [{ upstream: 'own' }, { upstream: 'company', priority: 2 }] },
    both: { targets: [{ upstream: 'own' }, { upstream: 'company', priority: 2 }] },
  },
})
beforeEach(() => {
  for (const one of [own, other]) Object.assign(one, { seen: [], answer: good })
})
afterAll(async () => {
  await gateway.close()
  for (const { server } of [own, other]) server.close()
})

const ask = (model: string, headers: Record<string, string>, path = '/v1/messages'): Promise<Response> =>
  fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }),
  })
const MINE = { authorization: `Bearer ${OWN}`, 'x-sluice-key': KEY }

test("the caller's credential is passed on in its header, and the gateway's key is not", async () => {
  const claude = new Anthropic({
    authToken: OWN,
    apiKey: null,
    baseURL: gateway.url,
    defaultHeaders: { 'x-sluice-key': KEY },
    maxRetries: 0,
  })
  const answer = await claude.messages.create({ model: 'mine', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
  expect(answer.content).toMatchObject([{ text: 'Hello' }])
  expect((await ask('mine', { 'x-api-key': OWN, 'x-sluice-key': KEY })).status).toBe(200)
  expect(own.seen.map(seen => [seen.authorization, seen['x-api-key'], seen['x-sluice-key']])).toEqual([
    [`Bearer ${OWN}`, undefined, undefined],
    [undefined, OWN, undefined],
  ])
  expect(JSON.stringify(own.seen)).not.toContain(KEY)
})

test("the caller's credential is sent in the provider's header, with another dialect, too", async () => {
  expect((await ask('mine', MINE, '/v1/chat/completions')).status).toBe(200)
  expect([own.seen[0]?.['x-api-key'], own.seen[0]?.authorization]).toEqual([OWN, undefined])
})

test("the caller's credential is not sent to another host, neither after a failure nor after a redirect", async () => {
  own.answer = response => send(response, 500, { type: 'error', error: { type: 'api_error', message: `broken for ${OWN}` } })
  expect((await ask('both', MINE)).status).toBe(200)
  expect(other.seen.map(seen => [seen['x-api-key'], seen.authorization])).toEqual([['secret-of-the-company', undefined]])
  own.answer = response => send(response, 307, {}, { location: `${other.url}/v1/messages` })
  expect((await ask('mine', MINE)).status).toBe(502)
  expect(other.seen).toHaveLength(1)
  expect(JSON.stringify(other.seen)).not.toContain(OWN)
})

test("a caller without a credential is refused, and the gateway's key does not count as one", async () => {
  for (const headers of [
    { 'x-sluice-key': KEY },
    { authorization: `Bearer ${KEY}` },
    { 'x-sluice-key': KEY, authorization: `Bearer ${KEY}` },
  ]) {
    const response = await ask('mine', headers as Record<string, string>)
    expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('x-sluice-key')])
  }
  expect((await ask('mine', { authorization: `Bearer ${OWN}`, 'x-sluice-key': 'nobody' })).status).toBe(401)
  expect(own.seen).toEqual([])
})

test('only the owner of a credential learns that the upstream refused it', async () => {
  own.answer = response => send(response, 401, { type: 'error', error: { type: 'authentication_error', message: `bad token ${OWN}` } })
  const refused = await ask('mine', MINE)
  expect(refused.status).toBe(401)
  const text = await refused.text()
  expect(text).toContain('authentication_error')
  expect(text).not.toContain(OWN)
  own.answer = response =>
    send(response, 429, { type: 'error', error: { type: 'rate_limit_error', message: 'yours' } }, { 'retry-after': '60' })
  expect((await ask('mine', MINE)).status).toBe(429)
  expect((await ask('either', MINE)).status).toBe(200)
  expect(other.seen).toHaveLength(1)
  // If one caller's account is exhausted, the upstream is not ejected for others.
  own.answer = good
  expect((await ask('either', MINE)).status).toBe(200)
  expect(other.seen).toHaveLength(1)
})

test.each([
  [401, 'authentication_error', 'invalid_request_error'],
  [403, 'permission_error', 'permission_error'],
])('a provider that refuses one caller with %d refuses nobody else, and says so in every dialect', async (status, type, inChat) => {
  own.answer = response => send(response, status, { type: 'error', error: { type, message: 'not this one' } })
  for (let count = 0; count < 12; count++) {
    const refused = await ask('mine', MINE)
    expect([refused.status, await refused.json()]).toMatchObject([status, { error: { type, message: 'not this one' } }])
  }
  const translated = await ask('mine', MINE, '/v1/chat/completions')
  expect([translated.status, await translated.json()]).toMatchObject([status, { error: { type: inChat, message: 'not this one' } }])
  // The operator does not pay for what the caller's own account may not have.
  expect((await ask('either', MINE)).status).toBe(status)
  expect(other.seen).toEqual([])
  own.answer = good
  expect((await ask('either', MINE)).status).toBe(200)
  expect(other.seen).toEqual([])
})

test("no log contains a caller's credential", () => {
  expect(gateway.log.length).toBeGreaterThan(5)
  expect(JSON.stringify(gateway.log)).not.toContain(OWN)
})

test.each([
  [
    'two hosts',
    { a: { provider: 'anthropic', base: 'http://a', secret: 'caller' }, b: { provider: 'anthropic', base: 'http://b', secret: 'caller' } },
  ],
  [
    'a credential that is made of a secret',
    { a: { provider: 'kling', base: 'http://a', secret: 'caller' }, b: { provider: 'anthropic', base: 'http://b', secret: 'none' } },
  ],
])('%s is a finding', async (_name, upstreams) => {
  const starting = startGateway({ upstreams, models: { m: { targets: [{ upstream: 'a' }, { upstream: 'b' }] } } })
  await expect(starting).rejects.toThrow('upstream/caller')
})

test('an upstream without a secret of its own cannot list the models of its account', async () => {
  const upstreams = { a: { provider: 'anthropic', base: 'http://a', secret: 'caller' } }
  const starting = startGateway({ upstreams, models: { 'a/*': { targets: [{ upstream: 'a' }], list: 'account' } } })
  await expect(starting).rejects.toThrow('model/list')
})
