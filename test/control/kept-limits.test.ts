// Requests for kept answers, and requests that continue them, are limited as others are: in memory, and in number.

import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createStage, FILE_KEY, type Instance, type Stage, until } from './stage.js'
import { onPostgres } from './stores.js'

const MIB = 1024 * 1024

interface Provider {
  url: string
  /** The requests that wait for an answer, and the bodies of those that have come. */
  waiting: (() => void)[]
  bodies: string[]
  isSilent: boolean
  /** Another item of its answers. */
  more?: object
  server: Server
}

/** A provider of responses that keeps nothing, and answers at once, or when a test lets it. */
async function startProvider(): Promise<Provider> {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', part => (body += part))
    request.on('end', () => {
      provider.bodies.push(body)
      const count = provider.bodies.length
      const content = [{ type: 'output_text', text: `answer ${count}`, annotations: [] }]
      const answer = {
        id: `resp_${count}`,
        object: 'response',
        created_at: 1,
        status: 'completed',
        model: 'x',
        output: [
          { type: 'message', id: `msg_${count}`, role: 'assistant', status: 'completed', content },
          ...(provider.more ? [provider.more] : []),
        ],
        usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      }
      const send = (): void => void response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
      if (provider.isSilent) provider.waiting.push(send)
      else send()
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const provider: Provider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    waiting: [],
    bodies: [],
    isSilent: false,
    server,
  }
  return provider
}

let stage: Stage
let provider: Provider
let gateway: Instance

const file = (): Record<string, unknown> => ({
  upstreams: { local: { provider: 'ollama', base: provider.url, secret: 'none' } },
  models: { m: { targets: [{ upstream: 'local', model: 'm' }] } },
})

beforeAll(async () => {
  stage = await createStage()
  provider = await startProvider()
  gateway = await stage.start({
    ...file(),
    capacity: { bodies: '4MiB' },
    keys: [
      { name: 'file', value: FILE_KEY },
      { name: 'limited', value: 'key-of-limited', limits: { requests: '3/1h' } },
    ],
  })
})
afterEach(() => {
  // A test that failed must not leave others without an answer.
  provider.isSilent = false
  for (const send of provider.waiting.splice(0)) send()
})
afterAll(async () => {
  await stage?.close()
  provider?.server.close()
})

interface Made {
  id: string
  output: { id: string }[]
  error?: { message: string }
}

async function ask(more: object, key = FILE_KEY): Promise<{ status: number; retryAfter: string | null; body: Made }> {
  const response = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', ...more }),
  })
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: (await response.json()) as Made }
}

test('conversations that requests continue take no more memory than bodies may', async () => {
  const { body } = await ask({ input: 'a'.repeat(MIB) })
  provider.isSilent = true
  const before = provider.bodies.length
  // Six megabytes at once may take a busy store longer than a request waits: that is no refusal for want of room.
  const more = async (): Promise<Awaited<ReturnType<typeof ask>>> => {
    const said = await ask({ input: 'More', previous_response_id: body.id })
    return said.body.error?.message.includes('The store cannot be reached') ? more() : said
  }
  const all = Array.from({ length: 6 }, more)
  let refused = 0
  for (const one of all) void one.then(() => refused++)
  await until(
    async () => provider.waiting.length + refused,
    count => count === 6,
  )
  expect([provider.waiting.length, refused]).toEqual([3, 3])
  const { status, retryAfter, body: said } = await Promise.race(all)
  expect([status, retryAfter]).toEqual([503, '1'])
  expect(said.error?.message).toContain('holds too many request bodies')
  provider.isSilent = false
  for (const send of provider.waiting.splice(0)) send()
  expect((await Promise.all(all)).filter(one => one.status === 200)).toHaveLength(3)
  expect(provider.bodies.length).toBe(before + 3)
  // What they held is free again.
  expect((await ask({ input: 'More', previous_response_id: body.id })).status).toBe(200)
})

test('requests for kept answers count in the limits of a key', async () => {
  const { body } = await ask({ input: 'x' }, 'key-of-limited')
  const get = (id: string): Promise<Response> =>
    fetch(`${gateway.url}/v1/responses/${id}`, { headers: { authorization: 'Bearer key-of-limited' } })
  expect([(await get(body.id)).status, (await get('resp_unknown')).status, (await get(body.id)).status]).toEqual([200, 404, 429])
})

test('long conversations that many requests continue do not keep others from their keys', async () => {
  const busy = await stage.start(file())
  const post = (body: object, key = FILE_KEY): Promise<Response> =>
    fetch(`${busy.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...body }),
    })
  const keys: string[] = []
  for (let index = 0; index < 10; index++)
    keys.push((await busy.admin<{ secret: string }>('POST', '/keys', { name: `k${index}` })).body.secret)
  const { id } = (await (await post({ input: 'a'.repeat(10 * MIB) })).json()) as Made
  const heavy = Promise.all(Array.from({ length: 60 }, () => post({ input: 'More', previous_response_id: id })))
  const statuses: number[] = []
  // No process has seen these keys before.
  for (const key of keys) statuses.push((await post({ input: 'x', store: false }, key)).status)
  expect(statuses).toEqual(keys.map(() => 200))
  for (const { status } of await heavy) expect([200, 503]).toContain(status)
  // How many there is room for, a busy machine decides; when they are over, there is room for one.
  const again = await until(
    async () => (await post({ input: 'More', previous_response_id: id })).status,
    status => status !== 503,
  )
  expect(again).toBe(200)
  await busy.stop()
})

test('who keeps more than there is room for loses the own answers, at once and not in silence', async () => {
  const small = await stage.start({
    ...file(),
    kept: { size: '4MiB' },
    keys: [
      { name: 'file', value: FILE_KEY },
      { name: 'hog', value: 'key-of-the-hog' },
    ],
  })
  const post = (key: string, more: object): Promise<Response> =>
    fetch(`${small.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', ...more }),
    })
  const made = async (key: string, input: string): Promise<string> => ((await (await post(key, { input })).json()) as Made).id
  // While much is kept and removed, an answer may take too long: 503, and the client tries again.
  const continued = (key: string, id: string): Promise<number> =>
    until(
      async () => (await post(key, { input: 'More', previous_response_id: id })).status,
      status => status !== 503,
    )
  const own = await made(FILE_KEY, 'My name is Ada.')
  const ids: string[] = []
  for (let count = 0; count < 12; count++) ids.push(await made('key-of-the-hog', randomBytes(MIB / 2).toString('hex')))
  const began = performance.now()
  const first = await until(
    () => continued('key-of-the-hog', ids[0] as string),
    status => status !== 200,
  )
  expect(first).toBe(400)
  // Not only once a minute: meanwhile a disk could fill up.
  expect(performance.now() - began).toBeLessThan(30_000)
  expect(await continued(FILE_KEY, own)).toBe(200)
  expect(await continued('key-of-the-hog', ids.at(-1) as string)).toBe(200)
  expect(small.log.filter(line => line.includes('`kept.size`'))).toHaveLength(1)
  await small.stop()
})

test('a service checks a kept answer again when a client requests it', async () => {
  const service = createServer((request, response) => {
    request.resume().on('end', () => response.end(JSON.stringify({ replace: { 'output.0.content.0.text': 'checked' } })))
  })
  await new Promise<void>(done => service.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const checked = await stage.start({
    ...file(),
    call: { judge: { at: 'answer', url, send: '{ "said": answer.output }', may: ['replace'], models: ['m'] } },
  })
  const headers = { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json' }
  const made = await fetch(`${checked.url}/v1/responses`, { method: 'POST', headers, body: JSON.stringify({ model: 'm', input: 'x' }) })
  const { id, output } = (await made.json()) as Made
  expect(output).toMatchObject([{ content: [{ text: 'checked' }] }])
  const again = (await (await fetch(`${checked.url}/v1/responses/${id}`, { headers })).json()) as Made
  expect(again).toMatchObject({ id, output: [{ content: [{ text: 'checked' }] }] })
  await checked.stop()
  service.close()
})

test('what holds for a model holds for its tasks and answers at a provider, in both directions', async () => {
  const checked = await stage.start({
    ...file(),
    upstreams: { local: { provider: 'openai', base: provider.url, secret: 'none' } },
    patterns: { said: { words: ['answer', 'secret'], models: ['m'] } },
  })
  const headers = { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json' }
  const post = (path: string, body: object): Promise<Response> =>
    fetch(checked.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  const { id, output } = (await (await post('/v1/responses', { model: 'm', input: 'x' })).json()) as Made
  expect(output).toMatchObject([{ content: [{ text: expect.stringContaining('***') }] }])
  const again = (await (await fetch(`${checked.url}/v1/responses/${id}`, { headers })).json()) as Made
  expect(again.output).toMatchObject([{ content: [{ text: expect.stringContaining('***') }] }])
  const video = (await (await post('/v1/videos', { model: 'm', prompt: 'x' })).json()) as Made
  expect((await post(`/v1/videos/${video.id}/remix`, { prompt: 'the secret' })).status).toBe(200)
  expect(JSON.parse(provider.bodies.at(-1) as string)).toMatchObject({ prompt: 'the ***' })
  await checked.stop()
})

onPostgres('on Postgres', postgres => {
  test('an answer that another secret sealed is unknown to its caller, and the log says why, once', async () => {
    const store = await postgres().database()
    const [old, fresh] = ['an-old-secret-of-some-length', 'a-new-secret-of-some-length']
    const of = (seal?: string[]): Promise<Instance> => stage.start({ ...file(), store, ...(seal && { seal }) })
    const post = async ({ url }: Instance, more: object): Promise<{ status: number; id: string }> => {
      const response = await fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', input: 'x', ...more }),
      })
      return { status: response.status, id: ((await response.json()) as Made).id }
    }
    const told = ({ log }: Instance): number => log.filter(line => line.includes('cannot be opened')).length
    const [first, other, both] = await Promise.all([of([old]), of(), of([fresh, old])])
    const { id } = await post(first, {})
    const follow = async (gateway: Instance): Promise<number> => (await post(gateway, { previous_response_id: id })).status
    expect([await follow(first), await follow(both), await follow(other), await follow(other)]).toEqual([200, 200, 400, 400])
    await until(
      async () => told(other),
      count => count > 0,
    )
    expect([first, both, other].map(told)).toEqual([0, 0, 1])
    await Promise.all([first, other, both].map(one => one.stop()))
  })

  test('ids that no store can hold are unknown ones, and the store counts as reachable', async () => {
    const other = await stage.start({ ...file(), store: await postgres().database() })
    const post = (body: object): Promise<Response> =>
      fetch(`${other.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', ...body }),
      })
    const get = (id: string): Promise<Response> =>
      fetch(`${other.url}/v1/responses/${encodeURIComponent(id)}`, { headers: { authorization: `Bearer ${FILE_KEY}` } })
    const noise = randomBytes(4_000).toString('hex')
    for (const id of ['resp_\0', 'resp_\ud800', noise]) {
      const item = { type: 'item_reference', id }
      expect([id, (await post({ input: 'x', previous_response_id: id })).status]).toEqual([id, 400])
      expect([id, (await post({ input: [item, { role: 'user', content: 'x' }] })).status]).toEqual([id, 404])
      if (id !== 'resp_\ud800') expect([id, (await get(id)).status]).toEqual([id, 404])
    }
    for (const id of ['rs_\0', noise]) {
      provider.more = { type: 'reasoning', id, summary: [] }
      const { id: made } = (await (await post({ input: 'x' })).json()) as Made
      expect((await get(made)).status).toBe(200)
    }
    delete provider.more
    expect(other.log.filter(line => line.includes('unreachable'))).toEqual([])
    await other.stop()
  })
})
