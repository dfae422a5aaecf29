// Signed tokens of an identity provider in place of keys: a provider on a real port, whose keys appear, disappear and are
// unreachable.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as TokensModule from '../../engine/control/tokens.js'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { PATIENCE } from '../polling.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { TokenKeys } = (await import(built('engine/control/tokens.js'))) as typeof TokensModule

const ISSUER = 'https://login.example.com/'
const AUDIENCE = 'sluice'

/** A provider's published keys. */
interface Identity {
  url: string
  keys: object[]
  /** Whether it answers. */
  isThere: boolean
  asked: number
  server: Server
}

async function startIdentity(): Promise<Identity> {
  const server = createServer((_request, response) => {
    identity.asked++
    response.statusCode = identity.isThere ? 200 : 503
    response.end(JSON.stringify({ keys: identity.keys }))
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const identity: Identity = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    keys: [],
    isThere: true,
    asked: 0,
    server,
  }
  return identity
}

interface Signing {
  kid: string
  alg: string
  key: CryptoKey
  published: object
}

async function signing(kid: string, alg = 'ES256'): Promise<Signing> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  return { kid, alg, key: privateKey, published: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

const sign = ({ kid, alg, key }: Signing, claims: Record<string, unknown> = {}, lifetime = 300): Promise<string> =>
  new SignJWT({ sub: 'ada', iss: ISSUER, aud: AUDIENCE, groups: ['default'], exp: Math.floor(Date.now() / 1000) + lifetime, ...claims })
    .setProtectedHeader({ alg, kid })
    .sign(key)

let simulator: Awaited<ReturnType<typeof startSimulator>>
let identity: Identity
let first: Signing
let gateway: TestGateway
const running: { close(): Promise<void> }[] = []

const start = async (jwks: string, more: object = {}): Promise<TestGateway> => {
  const { upstreams, models } = simulated(simulator.url, ['sim'])
  const few = { targets: [{ upstream: 'openai', model: 'sim' }], groups: ['few'] }
  const started = await startGateway({
    upstreams,
    models: { ...(models as object), few },
    jwt: { issuer: ISSUER, audience: AUDIENCE, jwks, groups_from: 'groups', team_from: 'org.unit', ...more },
  })
  running.push(started)
  return started
}

beforeAll(async () => {
  simulator = await startSimulator({})
  identity = await startIdentity()
  first = await signing('first')
  identity.keys = [first.published]
  gateway = await start(identity.url)
})
afterAll(async () => {
  for (const one of running) await one.close()
  await simulator.close()
  identity.server.close()
})

const ask = (token: string, model = 'openai/sim', at = gateway): Promise<Response> =>
  fetch(`${at.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] }),
  })
const told = async (answer: Promise<Response>): Promise<[number, string]> => {
  const response = await answer
  return [response.status, ((await response.json()) as { error?: { message: string } }).error?.message ?? '']
}

test('a token gives its holder the groups that it names, beside keys', async () => {
  const token = await sign(first, { org: { unit: 'red' } })
  const answer = await new OpenAI({ apiKey: token, baseURL: `${gateway.url}/v1` }).chat.completions.create({
    model: 'openai/sim',
    messages: [{ role: 'user', content: 'x' }],
  })
  expect(answer.choices[0]?.message.content).toBeTruthy()
  expect((await ask(KEY)).status).toBe(200)
  const own = await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${token}` } })
  expect(await own.json()).toMatchObject({ name: 'jwt:ada', team: 'red', groups: ['default'] })
  expect((await ask(token, 'few')).status).toBe(403)
  expect((await ask(await sign(first, { groups: 'few' }), 'few')).status).toBe(200)
  expect((await ask(await sign(first, { groups: undefined }))).status).toBe(403)
  expect(JSON.stringify(gateway.log)).not.toContain(token)
})

test('a token that ends after every date can be used, and its holder sees the last date', async () => {
  for (const exp of [Number.MAX_SAFE_INTEGER, Date.now() * 1000]) {
    const token = await sign(first, { exp })
    expect((await ask(token)).status).toBe(200)
    for (const [path, members] of [
      ['key', { expires_at: '+275760-09-13T00:00:00.000Z' }],
      ['dashboard/billing/subscription', { access_until: 8_640_000_000_000 }],
    ] as const) {
      const answer = await fetch(`${gateway.url}/v1/${path}`, { headers: { authorization: `Bearer ${token}` } })
      expect([path, answer.status]).toEqual([path, 200])
      expect(await answer.json()).toMatchObject(members)
    }
  }
})

test('a token that is expired, for another audience or signed by another gets 401 in the form of the dialect', async () => {
  const stranger = await signing('first')
  const changed = (await sign(first)).replace(/.(?=[^.]*$)/, one => (one === 'A' ? 'B' : 'A'))
  const none = `${Buffer.from('{"alg":"none","kid":"first"}').toString('base64url')}.${(await sign(first)).split('.')[1]}.`
  const shared = await new SignJWT({ sub: 'ada', iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 300 })
    .setProtectedHeader({ alg: 'HS256', kid: 'first' })
    .sign(Buffer.from(JSON.stringify(first.published)))
  for (const token of [
    await sign(first, { aud: 'another' }),
    await sign(first, { iss: 'https://other.example.com/' }),
    await sign(first, { exp: undefined }),
    await sign(first, { sub: undefined }),
    await sign(first, { nbf: Math.floor(Date.now() / 1000) + 300 }),
    await sign(stranger),
    changed,
    none,
    shared,
  ])
    expect((await ask(token)).status).toBe(401)
  expect(await told(ask(await sign(first, {}, -60)))).toEqual([401, 'The token has expired.'])
  // The ledger could not hold such a name, and a list of names would show two.
  for (const name of ['ada\0', 'ada\nbob', '\ud800ada'])
    for (const [claim, claims] of [
      ['sub', { sub: name }],
      ['org.unit', { org: { unit: name } }],
    ] as const)
      expect(await told(ask(await sign(first, claims)))).toEqual([401, `The claim "${claim}" of the token has control characters.`])
  const claude = new Anthropic({ apiKey: await sign(first, {}, -60), baseURL: gateway.url, maxRetries: 0 })
  const refused = claude.messages.create({ model: 'anthropic/sim', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
  await expect(refused).rejects.toMatchObject({ status: 401, error: { type: 'error', error: { type: 'authentication_error' } } })
})

test('a known token is refused when it expires', async () => {
  // The tolerance for clocks is 5 s. A machine that is busy may take longer for the first request.
  let token = ''
  const asked = async (): Promise<number> => {
    token = await sign(first, {}, -2)
    return (await ask(token)).status
  }
  await expect.poll(asked).toBe(200)
  await expect.poll(async () => (await ask(token)).status).toBe(401)
})

test('a new signing key is fetched, and a removed one is no longer accepted', async () => {
  const own = await startIdentity()
  const [old, next] = [await signing('old'), await signing('next', 'RS256')]
  own.keys = [old.published]
  const rotating = await start(own.url, { refresh: '300ms' })
  const token = await sign(old)
  expect((await ask(token, undefined, rotating)).status).toBe(200)
  own.keys = [next.published]
  const renewed = await sign(next)
  const until = Date.now() + PATIENCE
  const read = async (): Promise<number[]> => [
    (await ask(token, undefined, rotating)).status,
    (await ask(renewed, undefined, rotating)).status,
  ]
  let statuses = await read()
  while (statuses.join() !== '401,200' && Date.now() < until) statuses = await read()
  expect(statuses).toEqual([401, 200])
  own.server.close()
})

test('a removed key is not accepted for a token that was being verified meanwhile', async () => {
  const own = await startIdentity()
  const old = await signing('old')
  own.keys = [old.published]
  const token = await sign(old)
  const keys = new TokenKeys({ issuer: ISSUER, audience: [AUDIENCE], jwks: own.url, nameFrom: 'sub', refresh: 50 }, () => undefined)
  await keys.find(token)
  expect(keys.known(token)).toBeDefined()
  own.keys = [(await signing('next')).published]
  const verifying: unknown[] = []
  let isRemoved = false
  // At every moment, also that of the change, some are under way.
  while (!isRemoved) {
    for (let index = 0; index < 8; index++) verifying.push(keys.find(token)?.catch(() => (isRemoved = true)))
    await new Promise(setImmediate)
  }
  await Promise.all(verifying)
  expect(keys.known(token)).toBeUndefined()
  keys.close()
  own.server.close()
})

test('while the key set is unreachable, known keys stay valid, unknown keys get 503 and never 401, and no request waits', async () => {
  const own = await startIdentity()
  const key = await signing('one')
  own.keys = [key.published]
  own.isThere = false
  const away = await start(own.url, { refresh: '200ms' })
  const token = await sign(key)
  const early = await ask(token, undefined, away)
  expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1'])
  own.isThere = true
  const until = Date.now() + PATIENCE
  while ((await ask(token, undefined, away)).status !== 200 && Date.now() < until);
  own.isThere = false
  const asked = own.asked
  while (own.asked < asked + 2 && Date.now() < until) await new Promise(done => setTimeout(done, 20))
  expect((await ask(token, undefined, away)).status).toBe(200)
  expect((await ask(await sign(key, { sub: 'bob' }), undefined, away)).status).toBe(200)
  expect((await ask(await sign(await signing('two')), undefined, away)).status).toBe(503)
  expect((await ask(await sign(key, {}, -60), undefined, away)).status).toBe(401)
  expect((await ask('no-token-at-all', undefined, away)).status).toBe(401)
  own.server.close()
})
