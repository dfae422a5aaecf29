// Forms, bytes, tasks, several calls for one request, vectors: declared in data, executed by the engine.

import { createHash, createHmac } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { content, files, pattern, SIZE, startMaker } from './abilities.js'
import { plan } from './plan.js'

/** Where a link leads; a descriptor may have been closed meanwhile. */
const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

let maker: Awaited<ReturnType<typeof startMaker>>
let gateway: TestGateway

beforeAll(async () => {
  maker = await startMaker()
  gateway = await startGateway(
    {
      keys: [
        { name: 'test', value: KEY },
        { name: 'other', value: 'other-key' },
      ],
      seal: ['a-seal-of-sixteen-characters'],
      upstreams: {
        maker: { provider: 'maker', base: maker.url, secret: 's1', shared: true },
        worker: { provider: 'worker', base: maker.url, secret: 'me:secret' },
      },
      models: {
        m: { targets: [{ upstream: 'maker', model: 'made-model' }] },
        w: { targets: [{ upstream: 'worker', model: 'worked-model' }] },
      },
    },
    files,
  )
})

afterAll(async () => {
  await gateway?.close()
  await maker?.close()
})

const ask = (path: string, init: RequestInit = {}, key = KEY): Promise<Response> =>
  fetch(gateway.url + path, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } })
const post = (body: unknown): Promise<Response> =>
  ask('/things', { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } })
const last = () => maker.asked.at(-1) as (typeof maker.asked)[number]

describe('a route', () => {
  const quick = (body: string): Promise<Response> =>
    ask('/quick', { method: 'POST', body, headers: { 'content-type': 'application/json' } })

  test('uses its default model for requests that name none', async () => {
    expect((await quick('{"words":["a"]}')).status).toBe(200)
    expect(JSON.parse(last().body)).toEqual({ model: 'made-model', words: ['a'] })
    const other = await quick('{"model":"nobody"}')
    expect(other.status).toBe(404)
  })

  test('refuses in the form of the dialect that it names', async () => {
    expect(await (await quick('{"model":"nobody"}')).json()).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error', message: "The model 'nobody' does not exist." },
    })
    expect(await (await quick('{')).json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
  })
})

describe('a form', () => {
  const form = (fields: [string, string | Blob, string?][]): FormData => {
    const data = new FormData()
    for (const [name, value, filename] of fields) {
      if (typeof value === 'string') data.append(name, value)
      else data.append(name, value, filename)
    }
    return data
  }
  /** The parts of a form as its receiver sees them. */
  const partsOf = async ({ body, headers }: { body: string; headers: Record<string, unknown> }): Promise<[string, unknown][]> => {
    const data = await new Response(body, { headers: { 'content-type': headers['content-type'] as string } }).formData()
    return Promise.all(
      [...data].map(
        async ([name, value]): Promise<[string, unknown]> => [
          name,
          typeof value === 'string' ? value : [value.name, value.type, await value.text()],
        ],
      ),
    )
  }

  test('keeps its parts, their names, types and order, and changes only the model', async () => {
    const file = new Blob(['id,name\n1,"x"'], { type: 'text/csv' })
    const response = await ask('/things', {
      method: 'POST',
      body: form([
        ['words', 'a "b"\r\nc ü'],
        ['model', 'm'],
        ['file', file, 'ä "q".csv'],
        ['words[]', 'two'],
        ['model', 'another'],
      ]),
    })
    expect(response.status).toBe(200)
    expect(await partsOf(last())).toEqual([
      ['words', 'a "b"\r\nc ü'],
      ['model', 'made-model'],
      ['file', ['ä "q".csv', 'text/csv', 'id,name\n1,"x"']],
      ['words[]', 'two'],
    ])
    expect(last().headers['x-key']).toBe('s1')
  })

  test.for([
    ['before', 12_000_000],
    ['after', 12_000_000],
    ['before', 10],
  ] as const)('with the file %s the model arrives complete: %i bytes', async ([where, size]) => {
    const bytes = pattern(size)
    const fields: [string, string | Blob, string?][] = [
      ['model', 'm'],
      ['file', new Blob([new Uint8Array(bytes)]), 'big.bin'],
    ]
    const response = await ask('/things', { method: 'POST', body: form(where === 'before' ? fields.reverse() : fields) })
    expect(response.status).toBe(200)
    expect(last().length).toBeGreaterThan(size)
    // The same form, by the boundary that was chosen.
    const boundary = /boundary=(.*)/.exec(last().headers['content-type'] ?? '')?.[1]
    const model = `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nmade-model\r\n`
    const file = [
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="big.bin"\r\ncontent-type: application/octet-stream\r\n\r\n`,
      ),
      bytes,
      Buffer.from('\r\n'),
    ]
    const parts = where === 'before' ? [...file, Buffer.from(model)] : [Buffer.from(model), ...file]
    const sha256 = createHash('sha256')
      .update(Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]))
      .digest('hex')
    expect(last().sha256).toBe(sha256)
  })

  test('without a model is refused', async () => {
    const response = await ask('/things', { method: 'POST', body: form([['words', 'x']]) })
    expect(response.status).toBe(400)
    expect(((await response.json()) as { error: { param: string } }).error.param).toBe('model')
  })

  test('that is malformed or cut off is refused', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    for (const body of ['nothing', '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nm'])
      expect((await ask('/things', { method: 'POST', body, headers })).status).toBe(400)
    expect((await ask('/things', { method: 'POST', body: 'x', headers: { 'content-type': 'multipart/form-data' } })).status).toBe(400)
  })

  /** A form as its client would write it: the lines of the head and the content of each part. */
  const written = (...parts: [string, string][]): string =>
    `${parts.map(([head, content]) => `--x\r\n${head}\r\n\r\n${content}\r\n`).join('')}--x--\r\n`
  const named = (name: string): string => `content-disposition: form-data; name="${name}"`
  const send = (body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> =>
    ask('/things', {
      method: 'POST',
      body: typeof body === 'string' ? body : new Uint8Array(body),
      headers: { 'content-type': 'multipart/form-data; boundary=x', ...headers },
    })
  const messageOf = async (response: Response): Promise<string> => ((await response.json()) as { error: { message: string } }).error.message

  test.each(['Multipart/Form-Data; boundary=x', 'MULTIPART/FORM-DATA;Boundary="x"', 'multipart/form-data ; boundary=x'])(
    'is a form by its type in any case: %s',
    async type => {
      expect((await send(written([named('model'), 'm'], [named('words'), 'hi']), { 'content-type': type })).status).toBe(200)
      expect(await partsOf(last())).toEqual([
        ['model', 'made-model'],
        ['words', 'hi'],
      ])
    },
  )

  test.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('in %s is read while it arrives', async (coding, compress) => {
    const file = pattern(300_000)
    const whole = Buffer.concat([
      Buffer.from(`--x\r\n${named('file')}; filename="big.bin"\r\n\r\n`),
      file,
      Buffer.from(`\r\n${written([named('model'), 'm'], [named('words'), 'hi'])}`),
    ])
    const response = await send(compress(whole), { 'content-encoding': coding })
    expect(response.status).toBe(200)
    expect(last().headers).not.toHaveProperty('content-encoding')
    expect(last().length).toBeGreaterThan(file.length)
  })

  test.each([
    ['gzip', Buffer.from('no gzip'), 400, 'The request body is not valid gzip.'],
    ['gzip', gzipSync(written([named('model'), 'm'], [named('words'), 'hi'])).subarray(0, -12), 400, 'The request body is not valid gzip.'],
    ['compress', Buffer.from(written([named('model'), 'm'])), 415, 'The content encoding of the request is not supported.'],
    ['gzip', gzipSync(Buffer.alloc(220 * 1024 * 1024)), 413, 'once it is decompressed'],
  ])('in %s that cannot be read is refused (%#)', async (coding, body, status, words) => {
    const response = await send(body, { 'content-encoding': coding })
    expect([response.status, await messageOf(response)]).toEqual([status, expect.stringContaining(words)])
  })

  test.each([
    ['without a file name', `${named('model')}; filename=""`],
    ['with a file name', `${named('model')}; filename="f"`],
  ])('keeps a file %s from the provider that has the name of the model', async (_name, head) => {
    const parts: [string, string][] = [
      [head, 'another'],
      [named('model'), 'm'],
      [head, 'another'],
      [named('words'), 'hi'],
    ]
    expect((await send(written(...parts))).status).toBe(200)
    expect(await partsOf(last())).toEqual([
      ['model', 'made-model'],
      ['words', 'hi'],
    ])
    expect(await messageOf(await send(written([head, 'm'], [named('words'), 'hi'])))).toContain("Missing required parameter: 'model'")
  })

  test.each([
    ['a part without a name', written([named('model'), 'm'], ['content-disposition: form-data', 'x']), 'Part 2 of the form has no name'],
    ['a file without a name', written(['content-disposition: form-data; filename="a"', 'x']), 'Part 1 of the form has no name'],
    ['no part', 'x', 'ends before its closing boundary'],
    ['the end of a part missing', written([named('words'), 'm']).slice(0, -10), 'ends before its closing boundary'],
  ])('with %s is refused in words about it', async (_name, body, words) => {
    const response = await send(body)
    expect(response.status).toBe(400)
    expect(await messageOf(response)).toContain(words)
  })

  test('without a boundary is refused in words about it', async () => {
    const response = await send('x', { 'content-type': 'multipart/form-data' })
    expect([response.status, await messageOf(response)]).toEqual([400, expect.stringContaining('has no boundary')])
  })

  test.runIf(process.platform === 'linux')('that fails leaves no temporary file open', async () => {
    const open = (): number => readdirSync('/proc/self/fd').filter(fd => /\/sluice-[0-9a-f]{32}/.test(linkOf(`/proc/self/fd/${fd}`))).length
    const whole = Buffer.concat([
      Buffer.from(`--x\r\n${named('file')}; filename="big.bin"\r\n\r\n`),
      pattern(3_000_000),
      Buffer.from(`\r\n${written([named('model'), 'm'])}`),
    ])
    for (let count = 0; count < 10; count++) {
      expect((await send(whole.subarray(0, -60))).status).toBe(400)
      expect((await send(gzipSync(whole).subarray(0, -6), { 'content-encoding': 'gzip' })).status).toBe(400)
    }
    await expect.poll(open).toBe(0)
  })

  test('over the limit gets 413', async () => {
    const response = await ask('/things', {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    })
    expect(response.status).toBe(400)
    const big = new Blob([Buffer.alloc(210 * 1024 * 1024)])
    const refused = await ask('/things', { method: 'POST', body: form([['file', big, 'f']]) }).catch((error: unknown) => error)
    // The answer comes while the client still sends: some clients see it, some a connection that is closed.
    if (refused instanceof Response) expect(refused.status).toBe(413)
  })

  test('becomes a JSON object for a provider without forms', async () => {
    const response = await ask('/things', {
      method: 'POST',
      body: form([
        ['file', new Blob(['abc']), 'a.txt'],
        ['model', 'w'],
        ['words', 'hi'],
      ]),
    })
    expect(response.status).toBe(200)
    expect(JSON.parse(last().body)).toEqual({ model: 'worked-model', word: 'hi', file: 'YWJj' })
  })
})

describe('a task', () => {
  test('can be read by its sealed id, by its own caller only', async () => {
    const made = (await (await post({ model: 'm' })).json()) as { id: string; same: string; made: boolean }
    expect(made.id).toMatch(/^thing_[\w-]{40,}$/)
    expect(made.same).toBe(made.id)
    expect(made.made).toBe(true)
    const again = (await (await post({ model: 'm' })).json()) as { id: string }
    expect(again.id).toBe(made.id)

    const status = await ask(`/things/${made.id}`)
    expect(await status.json()).toEqual({ id: made.id, state: 'running' })
    expect(last()).toMatchObject({ method: 'GET', url: '/made/raw-1-of-the-maker', length: 0 })
    expect(last().headers['content-type']).toBeUndefined()

    const forged = `${made.id.slice(0, -2)}${made.id.endsWith('AA') ? 'BB' : 'AA'}`
    for (const [id, key] of [
      [made.id, 'other-key'],
      ['raw-1-of-the-maker', KEY],
      ['thing_raw-1-of-the-maker', KEY],
      [forged, KEY],
    ] as const) {
      const response = await ask(`/things/${id}`, {}, key)
      expect([id, response.status]).toEqual([id, 404])
      await response.arrayBuffer()
    }
  })

  test('can be a task of a provider with another dialect', async () => {
    const made = (await (await post({ model: 'w', words: 'hi' })).json()) as { id: string }
    expect(made.id).toMatch(/^thing_/)
    expect(await (await ask(`/things/${made.id}`)).json()).toEqual({ id: made.id, state: 'done' })
    expect(last().url).toBe('/work/deep/j-hi')
    const [head, claims, signature] = (last().headers.authorization ?? '').replace('Bearer ', '').split('.') as [string, string, string]
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ iss: 'me' })
    expect(signature).toBe(createHmac('sha256', 'secret').update(`${head}.${claims}`).digest('base64url'))
  })

  test('is found however the provider writes its id in JSON', async () => {
    const made = (await (await post({ model: 'm', words: 'slash' })).json()) as { id: string; same: string }
    expect(made.id).toMatch(/^thing_[\w-]{40,}$/)
    expect(made.same).toBe(made.id)
    expect(await (await ask(`/things/${made.id}`)).json()).toEqual({ id: made.id, state: 'running' })
  })

  test('is listed if the operator shares the account', async () => {
    const list = (await (await ask('/things?limit=2&other=1')).json()) as { data: { id: string }[]; url: string }
    expect(list.url).toBe('/made?limit=2')
    expect(list.data.map(({ id }) => id.slice(0, 6))).toEqual(['thing_', 'thing_'])
    expect((await ask(`/things/${list.data[1]?.id}`)).status).toBe(200)
  })

  test('is the place where a list goes on, by its sealed id, for its own caller only', async () => {
    const { data } = (await (await ask('/things?limit=2')).json()) as { data: { id: string }[] }
    const after = data[1]?.id as string
    const next = (await (await ask(`/things?after=${after}&limit=2`)).json()) as { url: string }
    expect(next.url).toBe('/made?limit=2&after=raw-2')
    expect((await (await ask('/things?after=')).json()) as { url: string }).toMatchObject({ url: '/made?after=' })
    const made = (await (await post({ model: 'w', words: 'hi' })).json()) as { id: string }
    const before = maker.asked.length
    for (const [id, key] of [
      [after, 'other-key'],
      ['raw-2', KEY],
      ['thing_raw-2', KEY],
      [`${after.slice(0, -2)}${after.endsWith('AA') ? 'BB' : 'AA'}`, KEY],
      // Of an upstream whose account is not shared.
      [made.id, KEY],
    ] as const) {
      const refused = await ask(`/things?after=${id}`, {}, key)
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { type: 'invalid_request_error', param: 'after' } }])
    }
    expect(maker.asked.length).toBe(before)
  })
})

test.each(plan.routes.filter(({ sealedIds }) => sealedIds?.members.some(path => path.includes('[]'))))(
  'the list $name has sealed ids, and opens those in its query',
  ({ forwardQuery, sealedIds }) => {
    const cursors = forwardQuery.filter(name => /after|before|cursor|token|start|page|from/i.test(name))
    expect(cursors.filter(name => !sealedIds?.query.includes(name))).toEqual([])
  },
)

test('the ids of a long list are sealed in one pass', async () => {
  // Twenty thousand passes would take most of a minute.
  const list = (await (await ask('/things?limit=20000', { signal: AbortSignal.timeout(8_000) })).json()) as { data: { id: string }[] }
  expect(new Set(list.data.map(({ id }) => id.slice(0, 6)))).toEqual(new Set(['thing_']))
  expect(new Set(list.data.map(({ id }) => id)).size).toBe(20_000)
})

describe('bytes', () => {
  const made = async (model: string, words?: string): Promise<string> =>
    ((await (await post({ model, words })).json()) as { id: string }).id

  test('pass with their type and length', async () => {
    const response = await ask(`/things/${await made('m')}/content`)
    expect(response.headers.get('content-type')).toBe('video/mp4')
    expect(response.headers.get('content-length')).toBe(String(SIZE))
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
  })

  test.each(['m', 'w'])('pass in ranges: %s', async model => {
    const id = await made(model, 'hi')
    const response = await ask(`/things/${id}/content`, { headers: { range: 'bytes=1000-1999' } })
    expect(response.status).toBe(206)
    expect(response.headers.get('content-range')).toBe(`bytes 1000-1999/${SIZE}`)
    expect(Buffer.from(await response.arrayBuffer()).equals(content.subarray(1000, 2000))).toBe(true)
  })

  test('that are on another host are fetched from there, without the credential', async () => {
    const response = await ask(`/things/${await made('w', 'hi')}/content`)
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true)
    expect(last().url).toBe('/elsewhere')
    expect(last().headers.authorization).toBeUndefined()
  })

  test('at an address that is none are a failure of the upstream', async () => {
    const response = await ask(`/things/${await made('w', 'moved')}/content`)
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('at an address that cannot be fetched')])
  })

  test('that do not exist yet are a conflict', async () => {
    const response = await ask(`/things/${await made('w', 'late')}/content`)
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ error: { code: 'not_done', message: 'It is not done yet.' } })
  })

  test('reach a slow reader completely', async () => {
    const response = await ask(`/things/${await made('m')}/content`)
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      chunks.push(chunk)
      if (chunks.length < 20) await new Promise(done => setTimeout(done, 10))
    }
    expect(Buffer.concat(chunks).equals(content)).toBe(true)
  })
})

describe('several calls for one request', () => {
  test('are joined in order', async () => {
    const response = await post({ model: 'w', words: ['a', 'b', 'c', 'd', 'e', 'f'] })
    expect(await response.json()).toMatchObject({ words: ['a', 'b', 'c', 'd', 'e', 'f'] })
  })

  test('fail if one of them fails', async () => {
    const response = await post({ model: 'w', words: ['a', 'bad', 'c'] })
    expect(response.status).toBe(429)
    expect(await response.json()).toMatchObject({ error: { message: 'Too busy.' } })
  })

  test('cannot be a stream, and neither can a mapping without steps, so that the request is refused before any call', async () => {
    const before = maker.asked.length
    const several = await post({ model: 'w', words: ['a', 'b'], stream: true })
    expect(several.status).toBe(400)
    expect(await several.json()).toMatchObject({ error: { param: 'stream' } })
    const one = await post({ model: 'w', words: 'a', stream: true })
    expect(one.status).toBe(501)
    expect(await one.json()).toMatchObject({ error: { message: 'This model cannot stream on this route.' } })
    expect(maker.asked.length).toBe(before)
  })

  test('fail if an answer with a good status contains a failure', async () => {
    expect((await post({ model: 'w', words: 'bad' })).status).toBe(429)
  })
})

describe('vectors', () => {
  const floats = Buffer.from(new Float32Array([0.5, -1, 0.25]).buffer).toString('base64')

  test.for([
    [undefined, [0.5, -1, 0.25]],
    ['float', [0.5, -1, 0.25]],
    ['base64', floats],
  ] as const)('are sent as %s if the request asks for it', async ([form, vector]) => {
    expect(await (await post({ model: 'm', form })).json()).toMatchObject({ data: [{ vector }], made: true })
  })
})
