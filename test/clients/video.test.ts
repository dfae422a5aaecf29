// The official OpenAI client, videos, with a provider of its own dialect and with two vendors of other dialects; and the
// vendors' own paths, for their clients.

import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { digestOf } from '../../cli/simulator/content.js'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'

const SECRETS: Record<string, string> = { openai: 'secret-of-openai', kling: 'access:secret-of-kling', jimeng: 'secret-of-jimeng' }
const PROVIDERS = Object.keys(SECRETS)
const NAMES = ['sim', 'sim-3m', 'cut', 'sim-polls-1', 'sim-failed-polls-1', 'sim-status-400', 'sim-status-429', 'sim-status-500']
const OTHER_KEY = 'key-of-somebody-else'
let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
let client: OpenAI
let stranger: OpenAI

function file(shared: boolean): Record<string, unknown> {
  return {
    keys: [
      { name: 'test', value: KEY },
      { name: 'other', value: OTHER_KEY },
    ],
    upstreams: Object.fromEntries(
      PROVIDERS.map(provider => [provider, { provider, base: simulator.url, secret: SECRETS[provider], ...(shared && { shared }) }]),
    ),
    models: Object.fromEntries(
      PROVIDERS.flatMap(provider => NAMES.map(name => [`${provider}/${name}`, { targets: [{ upstream: provider, model: name }] }])),
    ),
  }
}

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  gateway = await startGateway(file(false))
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
  stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: OTHER_KEY, maxRetries: 0 })
})
beforeEach(() => {
  simulator.requests.length = 0
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const fetched = (path: string, headers: Record<string, string> = {}, method = 'GET', body?: unknown): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}`, ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const json = async (answer: Promise<Response>) =>
  (await answer).json() as Promise<{ id: string; task_id: string; data: { task_id: string } }>

describe.each(PROVIDERS)('video client on %s', provider => {
  const model = (name: string): string => `${provider}/${name}`
  const make = (name: string, more: object = {}) => client.videos.create({ model: model(name), prompt: 'A cat on a piano', ...more })

  test('a video is made, waited for and fetched', async () => {
    const video = await make('sim-3m', { seconds: '8', size: '1280x720' })
    expect(video).toMatchObject({ object: 'video', status: 'queued', progress: 0, size: '1280x720', error: null })
    expect(video.id).toMatch(/^video_[\w-]{40,}$/)
    expect(typeof video.seconds).toBe('string')
    await expect(client.videos.downloadContent(video.id)).rejects.toMatchObject({ status: 409, type: 'conflict_error' })

    const seen = [video.status]
    for (let look = 0; look < 5 && seen.at(-1) !== 'completed'; look++) {
      const next = await client.videos.retrieve(video.id)
      expect(next.id).toBe(video.id)
      expect(next.model).toBe(provider === 'openai' ? 'sim-3m' : model('sim-3m'))
      seen.push(next.status)
      if (next.status === 'completed') expect(next).toMatchObject({ progress: 100, completed_at: expect.any(Number) })
    }
    const order = ['queued', 'in_progress', 'completed']
    expect(seen.map(state => order.indexOf(state))).toEqual(seen.map(state => order.indexOf(state)).sort())
    expect(seen.at(-1)).toBe('completed')

    const content = await client.videos.downloadContent(video.id)
    expect(content.headers.get('content-type')).toBe('video/mp4')
    expect(content.headers.get('content-length')).toBe('3000000')
    expect(content.redirected).toBe(false)
    expect(sha256(Buffer.from(await content.arrayBuffer()))).toBe(digestOf(3_000_000))
    // Where the content lies at an address of its own, the credential is not sent there.
    const last = simulator.requests.at(-1)
    expect(last?.headers.authorization).toBe(provider === 'openai' ? 'Bearer secret-of-openai' : undefined)
    expect(JSON.stringify(simulator.requests)).not.toContain(KEY)
  })

  test('a part of it, as ranges say', async () => {
    const { id } = await make('sim-3m')
    for (let look = 0; look < 2; look++) await client.videos.retrieve(id)
    const part = await fetched(`/v1/videos/${id}/content`, { range: 'bytes=2999990-' })
    expect([part.status, part.headers.get('content-range'), part.headers.get('accept-ranges')]).toEqual([
      206,
      'bytes 2999990-2999999/3000000',
      'bytes',
    ])
    expect((await part.arrayBuffer()).byteLength).toBe(10)
    const none = await fetched(`/v1/videos/${id}/content`, { range: 'bytes=3000000-' })
    expect(none.status).toBe(416)
  })

  test('content that breaks off does not look finished', async () => {
    // Made, looked at where the content lies elsewhere, and then fetched.
    const cut = { bytes: 3_000_000, cut_after: 1 }
    simulator.scenario('cut', provider === 'openai' ? [{ polls: 0 }, cut] : [{ polls: 0 }, {}, cut])
    const { id } = await make('cut')
    const content = await client.videos.downloadContent(id)
    await expect(content.arrayBuffer()).rejects.toThrow()
  })

  test('a picture to begin with, of megabytes', async () => {
    const picture = randomBytes(3_000_000)
    await make('sim', { input_reference: await toFile(picture, 'cat.png', { type: 'image/png' }) })
    const [asked] = simulator.requests
    if (provider === 'openai') {
      expect(asked?.parts?.find(part => part.name === 'input_reference')).toEqual({
        name: 'input_reference',
        filename: 'cat.png',
        type: 'image/png',
        size: picture.length,
        sha256: sha256(picture),
      })
    } else {
      const body = JSON.parse(asked?.body ?? '{}')
      expect(body.image ?? body.binary_data_base64[0]).toBe(picture.toString('base64'))
    }
  })

  test('one that fails says why, and gives no content', async () => {
    const { id } = await make('sim-failed-polls-1')
    expect(await client.videos.retrieve(id)).toMatchObject({ status: 'failed', error: { code: 'generation_failed' } })
    await expect(client.videos.downloadContent(id)).rejects.toMatchObject({ status: 409 })
  })

  test('a video of another key is unknown, and so is one that never existed', async () => {
    const { id } = await make('sim')
    const nobody = { status: 404 }
    await expect(stranger.videos.retrieve(id)).rejects.toMatchObject(nobody)
    await expect(stranger.videos.downloadContent(id)).rejects.toMatchObject(nobody)
    await expect(client.videos.retrieve('video_123')).rejects.toMatchObject(nobody)
    await expect(client.videos.retrieve(`${id.slice(0, -4)}AAAA`)).rejects.toMatchObject(nobody)
    expect(simulator.requests).toHaveLength(1)
  })

  test('the JSON endpoint leads to the same tasks', async () => {
    const made = await json(
      fetched('/v1/video/generations', {}, 'POST', { model: model('sim-polls-1'), prompt: 'x', duration: 5, width: 1280, height: 720 }),
    )
    expect(made).toMatchObject({ task_id: expect.stringMatching(/^video_/), status: 'queued' })
    expect(made.id).toBe(made.task_id)
    expect(await client.videos.retrieve(made.task_id)).toMatchObject({ id: made.task_id, status: 'completed' })
    const other = await make('sim-polls-1')
    expect(await json(fetched(`/v1/video/generations/${other.id}`))).toMatchObject({
      task_id: other.id,
      status: 'completed',
      format: 'mp4',
    })
  })

  test('errors before a task, in the words of the dialect', async () => {
    await expect(make('sim-status-400')).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' })
    await expect(make('sim-status-429')).rejects.toMatchObject({ status: 429, type: 'rate_limit_error' })
    await expect(make('sim-status-500')).rejects.toMatchObject({ status: provider === 'openai' ? 500 : 502, type: 'server_error' })
    await expect(make('nobody')).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
  })
})

describe('what only a provider of this dialect has', () => {
  test('JSON in place of a form', async () => {
    const video = await client.post<OpenAI.Videos.Video>('/videos', { body: { model: 'openai/sim', prompt: 'x', seconds: 8 } })
    expect(video).toMatchObject({ status: 'queued', seconds: '8' })
    expect(JSON.parse(simulator.requests[0]?.body ?? '{}')).toEqual({ model: 'sim', prompt: 'x', seconds: 8 })
  })

  test('remixes, variants and removal', async () => {
    const first = await client.videos.create({ model: 'openai/sim-polls-1', prompt: 'x' })
    const second = await client.videos.remix(first.id, { prompt: 'y' })
    expect(second).toMatchObject({ prompt: 'y', remixed_from_video_id: first.id })
    expect((await client.videos.retrieve(second.id)).remixed_from_video_id).toBe(first.id)
    const thumbnail = await client.videos.downloadContent(second.id, { variant: 'thumbnail' })
    expect(thumbnail.headers.get('content-type')).toBe('image/webp')
    expect(await client.videos.delete(first.id)).toEqual({ id: first.id, object: 'video.deleted', deleted: true })
    await expect(client.videos.retrieve(first.id)).rejects.toMatchObject({ status: 404 })
  })

  test('a list is shown where the operator shares the account, and only there', async () => {
    const { id } = await client.videos.create({ model: 'openai/sim', prompt: 'x' })
    await expect(client.videos.list()).rejects.toMatchObject({ status: 403 })
    const open = await startGateway(file(true))
    try {
      const own = new OpenAI({ baseURL: `${open.url}/v1`, apiKey: KEY, maxRetries: 0 })
      const page = await own.videos.list({ limit: 1 })
      expect(page.data).toHaveLength(1)
      expect(page.data[0]?.id).toMatch(/^video_[\w-]{40,}$/)
      expect(await own.videos.retrieve(page.data[0]?.id ?? '')).toMatchObject({ id: page.data[0]?.id })
      const made = await own.videos.create({ model: 'openai/sim', prompt: 'x' })
      const ids = (await own.videos.list()).data.map(video => video.id)
      expect(ids).toContain(made.id)
      expect(ids).toContain(id)
      expect((await own.videos.remix(made.id, { prompt: 'y' })).remixed_from_video_id).toBe(made.id)
    } finally {
      await open.close()
    }
  })

  test('a video in a list that any of several models may have made is not remixed at the price of one of them', async () => {
    const targets = [{ upstream: 'openai', model: 'sim' }]
    const open = await startGateway({ ...file(true), models: { dear: { targets }, cheap: { targets } } })
    try {
      const own = new OpenAI({ baseURL: `${open.url}/v1`, apiKey: KEY, maxRetries: 0 })
      await own.videos.create({ model: 'dear', prompt: 'x' })
      const id = (await own.videos.list({ limit: 1 })).data[0]?.id ?? ''
      expect(await own.videos.retrieve(id)).toMatchObject({ id })
      await expect(own.videos.remix(id, { prompt: 'y' })).rejects.toMatchObject({
        status: 400,
        param: 'task_id',
        message: expect.stringContaining('use the id that was returned when it was made'),
      })
    } finally {
      await open.close()
    }
  })
})

describe.each(['kling', 'jimeng'])('what %s does not have', provider => {
  test('another variant of a video is refused before any call', async () => {
    const { id } = await client.videos.create({ model: `${provider}/sim-polls-1`, prompt: 'x' })
    await client.videos.retrieve(id)
    simulator.requests.length = 0
    for (const variant of ['thumbnail', 'spritesheet', 'bogus'])
      await expect(client.videos.downloadContent(id, { variant: variant as 'thumbnail' })).rejects.toMatchObject({
        status: 400,
        code: 'unsupported_parameter',
        param: 'variant',
      })
    expect(simulator.requests).toEqual([])
    expect((await client.videos.downloadContent(id, { variant: 'video' })).headers.get('content-type')).toBe('video/mp4')
  })
})

test.each(['kling', 'jimeng'])('a video of %s that its provider cannot remove or remix is not told to be unknown', async provider => {
  const { id } = await client.videos.create({ model: `${provider}/sim-polls-1`, prompt: 'x' })
  simulator.requests.length = 0
  const refused = { status: 400, code: 'not_supported', param: 'task_id', message: expect.stringContaining('does not serve this route') }
  await expect(client.videos.delete(id)).rejects.toMatchObject(refused)
  await expect(client.videos.remix(id, { prompt: 'y' })).rejects.toMatchObject(refused)
  expect(simulator.requests).toEqual([])
  expect((await client.videos.retrieve(id)).id).toBe(id)
})

test.each([
  ['no picture', {}],
  ['a picture', { input_reference: { image_url: 'data:image/png;base64,iVBORw0KGgo=' } }],
])('a prompt that is too long is blamed, with %s', async (_, more) => {
  const body = { model: 'kling/sim', prompt: 'x'.repeat(2501), ...more }
  const message = expect.stringContaining('the provider takes 2500 characters')
  await expect(client.post('/videos', { body })).rejects.toMatchObject({ status: 400, param: 'prompt', message })
  expect(simulator.requests).toEqual([])
})

describe('the official client reads a list page by page', () => {
  const account = (name: string, length: number) =>
    Array.from({ length }, (_, index) => ({ id: `video_${name}_${index}`, object: 'video', model: 'm', status: 'completed' }))

  /** An account with a list; with `fails` it has none to show. */
  async function startAccount(all: { id: string }[], fails = false): Promise<{ base: string; asked: string[]; close(): void }> {
    const asked: string[] = []
    const server = createServer((request, response) => {
      const { searchParams: query, search, pathname } = new URL(request.url ?? '', 'http://x')
      const one = all.find(({ id }) => pathname.endsWith(`/${id}`))
      if (one) return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(one))
      asked.push(search)
      const from = all.findIndex(({ id }) => id === query.get('after')) + 1
      const data = all.slice(from, from + Number(query.get('limit') ?? 20))
      const isKnown = !query.has('after') || from > 0
      const page = { object: 'list', data, first_id: data[0]?.id, last_id: data.at(-1)?.id, has_more: from + data.length < all.length }
      response.writeHead(fails ? 500 : isKnown ? 200 : 400, { 'content-type': 'application/json' })
      response.end(JSON.stringify(isKnown && !fails ? page : { error: { message: 'No such video.', type: 'invalid_request_error' } }))
    })
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close: () => server.close() }
  }

  async function withAccounts(accounts: Awaited<ReturnType<typeof startAccount>>[], use: (own: OpenAI) => Promise<void>): Promise<void> {
    const names = accounts.map((_, index) => `account-${index}`)
    const open = await startGateway({
      upstreams: Object.fromEntries(
        names.map((name, index) => [name, { provider: 'openai', base: accounts[index]?.base, secret: 's', shared: true }]),
      ),
      models: Object.fromEntries(names.map(name => [`of-${name}`, { targets: [{ upstream: name, model: 'm' }] }])),
    })
    try {
      await use(new OpenAI({ baseURL: `${open.url}/v1`, apiKey: KEY, maxRetries: 0 }))
    } finally {
      await open.close()
      for (const one of accounts) one.close()
    }
  }

  test('of one account', async () => {
    await withAccounts([await startAccount(account('a', 5))], async own => {
      const seen: string[] = []
      const first = (await (await own.videos.list({ limit: 2 }).asResponse()).json()) as {
        first_id: string
        last_id: string
        data: { id: string }[]
      }
      expect([first.first_id, first.last_id]).toEqual(first.data.map(({ id }) => id))
      for await (const { id } of own.videos.list({ limit: 2 })) seen.push(id)
      expect([new Set(seen).size, seen.filter(id => /^video_[\w-]{40,}$/.test(id)).length]).toEqual([5, 5])
    })
  })

  test.for([1, 2, 3, 4, 5, 6, 7, 100, undefined])('of several, one account after the other: %s each', async limit => {
    const [one, none, two] = [await startAccount(account('a', 3)), await startAccount([]), await startAccount(account('b', 3))]
    await withAccounts([one, none, two], async own => {
      const seen: string[] = []
      for await (const { id } of own.videos.list({ limit })) seen.push((await own.videos.retrieve(id)).id)
      expect(new Set(seen).size).toBe(6)
    })
  })

  test('of several, with the ends of the page and no more of them than it asked for', async () => {
    const [one, two] = [await startAccount(account('a', 1)), await startAccount(account('b', 3))]
    await withAccounts([one, two], async own => {
      const page = (await (await own.videos.list({ limit: 3, order: 'asc' }).asResponse()).json()) as {
        data: { id: string }[]
        first_id: string
        last_id: string
        has_more: boolean
      }
      expect(page).toMatchObject({ object: 'list', first_id: page.data[0]?.id, last_id: page.data[2]?.id, has_more: true })
      expect([one.asked, two.asked]).toEqual([['?limit=3&order=asc'], ['?limit=2&order=asc']])
    })
  })

  test('of several, of which one cannot be read: nothing is left out in silence', async () => {
    await withAccounts([await startAccount(account('a', 3)), await startAccount([], true)], async own => {
      await expect(own.videos.list()).rejects.toMatchObject({ status: 500 })
    })
  })
})

describe('content to which its provider redirects', () => {
  const asked: { at: string; authorization: string | undefined; range: string | undefined }[] = []
  let location = ''
  const listening = async (server: Server): Promise<string> => {
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const note = (at: string, { headers }: IncomingMessage): void =>
    void asked.push({ at, authorization: headers.authorization, range: headers.range })
  const store = createServer((request, response) => {
    note(`store ${request.url}`, request)
    if (request.url === '/gone') return void response.writeHead(403).end('expired')
    if (request.url === '/round') return void response.writeHead(302, { location: '/round' }).end()
    const isPart = request.headers.range !== undefined
    response.writeHead(isPart ? 206 : 200, { 'content-type': 'video/mp4', ...(isPart && { 'content-range': 'bytes 1-2/4' }) })
    response.end(isPart ? 'BC' : 'ABCD')
  })
  const provider = createServer((request, response) => {
    note(`provider ${request.url}`, request)
    if (request.method === 'POST')
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"id":"video_1","object":"video","status":"completed"}')
    if (request.url?.startsWith('/own')) return void response.writeHead(200, { 'content-type': 'video/mp4' }).end('OWN')
    response.writeHead(302, { location }).end()
  })
  let at: { store: string; provider: string }
  beforeAll(async () => {
    at = { store: await listening(store), provider: await listening(provider) }
  })
  afterAll(() => {
    store.close()
    provider.close()
  })

  async function contentAt(to: string, more: Record<string, unknown> = { fetch: { private: true } }, range?: string) {
    const open = await startGateway({
      upstreams: { one: { provider: 'openai', base: at.provider, secret: 'secret-of-one' } },
      models: { m: { targets: [{ upstream: 'one' }] } },
      ...more,
    })
    try {
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
      const made = await fetch(`${open.url}/v1/videos`, { method: 'POST', headers, body: '{"model":"m","prompt":"x"}' })
      const { id } = (await made.json()) as { id: string }
      asked.length = 0
      location = to
      const answer = await fetch(`${open.url}/v1/videos/${id}/content`, {
        redirect: 'manual',
        headers: { authorization: headers.authorization, ...(range && { range }) },
      })
      return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
    } finally {
      await open.close()
    }
  }

  test('comes from where it lies, which sees no key', async () => {
    expect(await contentAt(`${at.store}/x.mp4?sig=1`)).toEqual({ status: 200, type: 'video/mp4', text: 'ABCD' })
    expect(asked).toEqual([
      { at: 'provider /v1/videos/video_1/content', authorization: 'Bearer secret-of-one', range: undefined },
      { at: 'store /x.mp4?sig=1', authorization: undefined, range: undefined },
    ])
  })

  test('comes in the part that was asked for', async () => {
    expect(await contentAt(`${at.store}/x.mp4`, undefined, 'bytes=1-2')).toMatchObject({ status: 206, text: 'BC' })
    expect(asked[1]).toEqual({ at: 'store /x.mp4', authorization: undefined, range: 'bytes=1-2' })
  })

  test("at the provider's own address comes with its key", async () => {
    expect(await contentAt('/own.mp4?a=1')).toEqual({ status: 200, type: 'video/mp4', text: 'OWN' })
    expect(asked[1]).toEqual({ at: 'provider /own.mp4?a=1', authorization: 'Bearer secret-of-one', range: undefined })
  })

  test.each(['file:///etc/passwd', 'http://169.254.169.254/latest/meta-data', 'http://[::1]:1/x', 'STORE/x.mp4', '/\\STORE/x.mp4'])(
    'at %s is not fetched',
    async to => {
      const refused = await contentAt(to.replace('STORE', to.startsWith('S') ? at.store : at.store.slice('http://'.length)), {})
      expect(refused).toMatchObject({ status: 502, text: expect.stringContaining('an address that cannot be fetched') })
      expect(asked).toHaveLength(1)
    },
  )

  test.each(['/gone', '/round'])('that does not lie there is a failure of the provider: %s', async path => {
    expect(await contentAt(at.store + path)).toMatchObject({ status: 502, text: expect.not.stringContaining('127.0.0.1') })
  })

  test('to which it redirects without end is a failure of the provider', async () => {
    expect(await contentAt('/again')).toMatchObject({ status: 502 })
    expect(asked.length).toBeLessThan(10)
  })
})

describe("Kling's own paths", () => {
  test.each([
    ['text2video', {}],
    ['image2video', { image: 'iVBO' }],
  ])('%s, with a token made of the secret', async (kind, more) => {
    const made = await json(
      fetched(`/kling/v1/videos/${kind}`, {}, 'POST', { model_name: 'kling/sim-polls-1', prompt: 'x', duration: '5', ...more }),
    )
    expect(made).toMatchObject({ code: 0, message: 'SUCCEED', data: { task_status: 'submitted' } })
    const id = made.data.task_id
    const [asked] = simulator.requests
    expect(JSON.parse(asked?.body ?? '{}')).toEqual({ model_name: 'sim-polls-1', prompt: 'x', duration: '5', ...more })
    const [head, claims, signature] = (asked?.headers.authorization ?? '').replace('Bearer ', '').split('.')
    const { iss, nbf, exp } = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString())
    expect([iss, exp > Date.now() / 1000, nbf <= Date.now() / 1000]).toEqual(['access', true, true])
    expect(createHmac('sha256', 'secret-of-kling').update(`${head}.${claims}`).digest('base64url')).toBe(signature)

    const done = await json(fetched(`/kling/v1/videos/${kind}/${id}`))
    expect(done).toMatchObject({ code: 0, data: { task_id: id, task_status: 'succeed', task_result: { videos: [{ duration: '5' }] } } })
    expect(simulator.requests.at(-1)?.path).not.toContain(id)
  })

  test('errors in its own envelope', async () => {
    const nobody = await fetched('/kling/v1/videos/text2video', {}, 'POST', { model_name: 'nobody', prompt: 'x' })
    expect([nobody.status, await nobody.json()]).toMatchObject([404, { code: 1203, message: expect.stringContaining('nobody') }])
    const busy = await fetched('/kling/v1/videos/text2video', {}, 'POST', { model_name: 'kling/sim-status-429', prompt: 'x' })
    expect([busy.status, await busy.json()]).toMatchObject([429, { code: 1303 }])
    const unknown = await fetched('/kling/v1/videos/text2video/123')
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: 1203 }])
    const keyless = await fetched('/kling/v1/videos/text2video', { authorization: 'Bearer wrong' }, 'POST', {})
    expect([keyless.status, await keyless.json()]).toMatchObject([401, { code: 1002 }])
    expect((await fetched('/kling/v1/nothing')).status).toBe(404)
  })
})

describe("Jimeng's own path", () => {
  const act = (action: string, body: unknown) => fetched(`/jimeng/?Action=${action}&Version=2022-08-31`, {}, 'POST', body)

  test('the action is in the query, the id of the task in the body', async () => {
    const made = await json(act('CVSync2AsyncSubmitTask', { req_key: 'jimeng/sim-polls-1', prompt: 'x', frames: 121 }))
    expect(made).toMatchObject({ code: 10000, message: 'Success' })
    const id = made.data.task_id
    expect(simulator.requests[0]).toMatchObject({ path: '/', query: 'Action=CVSync2AsyncSubmitTask&Version=2022-08-31' })
    const done = await json(act('CVSync2AsyncGetResult', { req_key: 'jimeng/sim-polls-1', task_id: id }))
    expect(done).toMatchObject({ code: 10000, data: { status: 'done', video_url: expect.stringContaining('/files/') } })
    const body = JSON.parse(simulator.requests[1]?.body ?? '{}')
    expect(body.req_key).toBe('sim-polls-1')
    expect(id).not.toContain(body.task_id)
  })

  test('errors in its own envelope', async () => {
    const unknown = await act('CVSync2AsyncGetResult', { req_key: 'jimeng/sim', task_id: '123' })
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: 50404, data: null }])
    const busy = await act('CVSync2AsyncSubmitTask', { req_key: 'jimeng/sim-status-429', prompt: 'x' })
    expect([busy.status, await busy.json()]).toMatchObject([429, { code: 50429, data: null, request_id: expect.any(String) }])
    const other = await act('CVProcess', {})
    expect([other.status, await other.json()]).toMatchObject([404, { code: 50404 }])
  })
})
