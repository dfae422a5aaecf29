// Every provider file: where a request of each dialect goes, what it contains, and what is removed. One loop over the files, a
// real gateway, an upstream that records requests.

import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'

interface Endpoint {
  method?: string
  path: string
  query?: Record<string, string>
  drop?: string[]
  rename?: Record<string, string>
}
interface Provider {
  title: string
  source?: string
  base?: string
  secret_env?: string
  credential: { header?: string; prefix?: string; query?: string; jwt?: object }
  speaks: Record<string, string | Endpoint>
}

const folder = join(import.meta.dirname, '../../providers')
const providers = readdirSync(folder)
  .sort()
  .map((file): [string, Provider] => [basename(file, '.yaml'), load(readFileSync(join(folder, file), 'utf8')) as Provider])

/** A path and a body of each dialect that requests of one JSON body ask, with members that some providers do not take. */
const REQUESTS: Record<string, { path: string; body: Record<string, unknown> }> = {
  chat: {
    path: '/v1/chat/completions',
    body: {
      messages: [{ role: 'user', content: 'Hi' }],
      max_completion_tokens: 5,
      seed: 1,
      user: 'me',
      store: false,
      logit_bias: {},
      frequency_penalty: 0,
      service_tier: 'auto',
    },
  },
  messages: { path: '/v1/messages', body: { max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] } },
  generate: { path: '/v1beta/models/MODEL:generateContent', body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] } },
  responses: { path: '/v1/responses', body: { input: 'Hi' } },
  completions: { path: '/v1/completions', body: { prompt: 'Hi' } },
  fim: { path: '/v1/fim/completions', body: { prompt: 'def f(', suffix: '):' } },
  embeddings: { path: '/v1/embeddings', body: { input: 'Hi', dimensions: 3, user: 'me' } },
  rerank: { path: '/v1/rerank', body: { query: 'a', documents: ['b'] } },
  images: { path: '/v1/images/generations', body: { prompt: 'a cat' } },
  moderation: { path: '/v1/moderations', body: { input: 'Hi' } },
  speech: { path: '/v1/audio/speech', body: { input: 'Hi', voice: 'alloy' } },
}

const asked: { request: IncomingMessage; body: string }[] = []
const server = createServer((request, response) => {
  let body = ''
  request.on('data', chunk => {
    body += chunk
  })
  request.on('end', () => {
    asked.push({ request, body })
    response.writeHead(418, { 'content-type': 'application/json' })
    response.end('{"error":{"message":"I only listen."}}')
  })
})
let gateway: TestGateway

beforeAll(async () => {
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  gateway = await startGateway({
    upstreams: Object.fromEntries(
      providers.map(([name, { base }]) => [
        name,
        { provider: name, base: origin + new URL(base ?? origin).pathname.replace(/\/$/, ''), secret: `id:${name}` },
      ]),
    ),
    models: Object.fromEntries(providers.map(([name]) => [`m-${name}`, { targets: [{ upstream: name, model: 'the/model' }] }])),
  })
})

afterAll(async () => {
  await gateway?.close()
  await new Promise(done => server.close(done))
})

test('each provider names its source, and no two read the same environment variable', () => {
  for (const [name, { source }] of providers) expect(source, name).toMatch(/https:\/\//)
  const variables = providers.flatMap(([, { secret_env }]) => secret_env ?? [])
  expect(new Set(variables).size).toBe(variables.length)
})

const common = providers.filter(([, { speaks }]) => Object.keys(speaks).some(dialect => dialect in REQUESTS))

describe.each(common)('%s', (name, { base = 'http://own.example', credential, speaks }) => {
  const endpoints = Object.entries(speaks).filter(([dialect]) => dialect in REQUESTS)
  test.each(endpoints)('is called in %s', async (dialect, given) => {
    const endpoint: Endpoint = typeof given === 'string' ? { path: given } : given
    const { path, body } = REQUESTS[dialect] as (typeof REQUESTS)[string]
    asked.length = 0
    const sent = dialect === 'generate' ? body : { model: `m-${name}`, ...body }
    const response = await fetch(gateway.url + path.replace('MODEL', `m-${name}`), {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
    await response.arrayBuffer()
    const { request, body: text } = asked[0] as (typeof asked)[number]
    const url = new URL(request.url as string, 'http://upstream')
    // A version at the end of the base and the beginning of the path is written once.
    const prefix = new URL(base).pathname.replace(/\/$/, '')
    const version = /^\/v\d\w*(?=\/)/.exec(endpoint.path)?.[0]
    const whole = version !== undefined && prefix.endsWith(version) ? prefix + endpoint.path.slice(version.length) : prefix + endpoint.path
    expect(url.pathname).toBe(whole.replace('{model}', encodeURIComponent('the/model')))
    expect(Object.fromEntries(url.searchParams)).toMatchObject(endpoint.query ?? {})

    const { header, prefix: before = '', query, jwt } = credential
    if (jwt) expect(request.headers[header as string]).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/)
    else if (header) expect(request.headers[header]).toBe(`${before}id:${name}`)
    else expect(url.searchParams.get(query as string)).toBe(`id:${name}`)
    expect(JSON.stringify(request.headers)).not.toContain(KEY)

    const seen = JSON.parse(text) as Record<string, unknown>
    for (const member of endpoint.drop ?? []) expect(seen).not.toHaveProperty([member])
    for (const [member, other] of Object.entries(endpoint.rename ?? {})) {
      if (!(member in body) || endpoint.drop?.includes(member)) continue
      expect(seen).not.toHaveProperty([member])
      expect(seen[other]).toEqual(body[member])
    }
    if (!endpoint.path.includes('{model}')) expect(seen.model).toBe('the/model')
    for (const [member, value] of Object.entries(body)) {
      if (!endpoint.drop?.includes(member) && !(member in (endpoint.rename ?? {}))) expect(seen[member]).toEqual(value)
    }
  })
})
