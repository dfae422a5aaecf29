// The page with models and prices: who may see it, what it shows, and how it is sent.

import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../harness.js'

let open: TestGateway
let closed: TestGateway
const upstreams = {
  openai: { provider: 'openai', secret: 'none' },
  claude: { provider: 'anthropic', secret: 'none' },
  google: { provider: 'gemini', secret: 'none' },
}
const ODD = `<b>"'&${'$'}(id)`
const models = {
  'claude-haiku-4-5': { targets: [{ upstream: 'claude' }] },
  'gpt-5.6-sol': { targets: [{ upstream: 'openai' }] },
  'text-embedding-3-small': { targets: [{ upstream: 'openai' }] },
  'whisper-1': { targets: [{ upstream: 'openai' }] },
  'gemini-2.5-pro': { targets: [{ upstream: 'google' }] },
  own: { targets: [{ upstream: 'openai', model: 'nobody-knows-it' }], price: { input: 0.8, output: 4 }, display_name: 'Our own' },
  unpriced: { targets: [{ upstream: 'openai', model: 'nobody-knows-it' }] },
  [ODD]: { targets: [{ upstream: 'openai', model: 'nobody-knows-it' }], display_name: '<script>alert(1)</script>' },
  secret: { targets: [{ upstream: 'openai' }], groups: ['staff'] },
}

beforeAll(async () => {
  open = await startGateway({ upstreams, models, pages: { pricing: ['default'] } })
  closed = await startGateway({ upstreams, models })
})
afterAll(async () => {
  await open?.close()
  await closed?.close()
})

interface Tier {
  when: Record<string, unknown>
  price: Record<string, unknown>
}
interface Told {
  id: string
  display_name: string
  context?: number
  max_output?: number
  dialects: string[]
  price?: Record<string, unknown>
  tiers?: Tier[]
}
async function told(): Promise<Map<string, Told>> {
  const { data } = (await (await fetch(`${open.url}/pricing.json`)).json()) as { data: Told[] }
  return new Map(data.map(model => [model.id, model]))
}

/** A request as it is written: fetch does not let its host be chosen. */
function ask(
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const asked = request(open.url + path, { method, headers }, response => {
      const parts: Buffer[] = []
      response.on('data', part => parts.push(part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }))
    })
    asked.on('error', reject)
    asked.end()
  })
}

test('the page is off if the file does not name it', async () => {
  for (const path of ['/pricing', '/pricing.json', '/pricing.css']) expect((await fetch(closed.url + path)).status).toBe(404)
})

describe('the page shows', () => {
  test('only the models that a key of the named groups may use', async () => {
    expect([...(await told()).keys()].sort()).toEqual(
      Object.keys(models)
        .filter(name => name !== 'secret')
        .sort(),
    )
    expect(await (await fetch(`${open.url}/pricing`)).text()).not.toContain('secret')
  })

  test('limits, prices and all their exceptions', async () => {
    const all = await told()
    expect(all.get('claude-haiku-4-5')).toMatchObject({
      display_name: 'Claude Haiku 4.5',
      context: 200_000,
      max_output: 64_000,
      price: { input: 1, output: 5, cached: 0.1, cache_write: 1.25 },
    })
    const long = all.get('gemini-2.5-pro')?.tiers?.find(({ when }) => Object.keys(when).join() === 'input_above')
    expect(long).toMatchObject({ when: { input_above: 200_000 }, price: { input: 2.5, output: 15 } })
    expect(all.get('own')).toMatchObject({ display_name: 'Our own', price: { input: 0.8, output: 4 } })
    expect(all.get('unpriced')?.price).toBeUndefined()
    const page = await (await fetch(`${open.url}/pricing`)).text()
    expect(page).toContain('200,000')
    expect(page).toContain('No price is known')
  })

  test('the dialects in which a model can be called', async () => {
    const all = await told()
    expect(all.get('claude-haiku-4-5')?.dialects).toEqual(expect.arrayContaining(['chat', 'messages', 'generate', 'responses']))
    expect(all.get('claude-haiku-4-5')?.dialects).not.toContain('embeddings')
    expect(all.get('text-embedding-3-small')?.dialects).toContain('embeddings')
    expect(all.get('text-embedding-3-small')?.dialects).not.toContain('chat')
    expect(all.get('whisper-1')?.dialects).toContain('transcription')
    expect(all.get('whisper-1')?.dialects).not.toContain('chat')
  })

  test('names as plain text, whatever they contain', async () => {
    const page = await (await fetch(`${open.url}/pricing`)).text()
    expect(page).not.toContain('<script')
    expect(page).not.toContain('<b>')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    // In the call, a quote ends the shell's text and begins another.
    expect(page).toContain('&lt;b&gt;\\&quot;&#39;\\&#39;&#39;&amp;$(id)')
  })

  test('a call with the address of the request', async () => {
    expect((await ask('/pricing', { host: 'ai.example.org:8443' })).body.toString()).toContain('curl http://ai.example.org:8443/v1/')
    const behind = await ask('/pricing', { host: 'ai.example.org', 'x-forwarded-proto': 'https' })
    expect(behind.body.toString()).toContain('curl https://ai.example.org/v1/')
    expect((await ask('/pricing', { host: '[::1]:80' })).body.toString()).toContain('curl http://[::1]:80/v1/')
  })

  test.each(['"><script>alert(1)</script>', "a'b", 'a b', 'a/b', 'a;id', '$(id)', '-'.repeat(300)])('no call at %j', async host => {
    const { status, body } = await ask('/pricing', { host })
    expect(status).toBe(400)
    expect(body.toString()).not.toContain(host)
  })

  test('no call with the address of another reader', async () => {
    for (let index = 0; index < 40; index++) {
      const { body } = await ask('/pricing.json', { host: `host-${index}.example` })
      expect(new Set(body.toString().match(/host-\d+\.example/g))).toEqual(new Set([`host-${index}.example`]))
    }
  })
})

describe('the page is sent', () => {
  test.each([
    ['/pricing', 'text/html; charset=utf-8'],
    ['/pricing.json', 'application/json'],
    ['/pricing.css', 'text/css; charset=utf-8'],
  ])('%s as %s, and again only if it has changed', async (path, type) => {
    const first = await ask(path, {})
    expect(first.status).toBe(200)
    expect(first.headers).toMatchObject({ 'content-type': type, 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' })
    const { etag } = first.headers as { etag: string }
    for (const known of [etag, `"other", ${etag}`, '*']) {
      const again = await ask(path, { 'if-none-match': known })
      expect([again.status, again.body.length, again.headers['content-length'], again.headers.etag]).toEqual([304, 0, undefined, etag])
    }
    expect((await ask(path, { 'if-none-match': '"other"' })).status).toBe(200)
    const head = await ask(path, {}, 'HEAD')
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([200, 0, String(first.body.length)])
  })

  test('compressed to clients that accept it', async () => {
    const plain = await ask('/pricing', {})
    const zipped = await ask('/pricing', { 'accept-encoding': 'br, gzip;q=0.5' })
    expect(zipped.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true)
    for (const refused of ['identity', 'gzip;q=0', 'gzip; q=0.0, br'])
      expect((await ask('/pricing', { 'accept-encoding': refused })).headers['content-encoding']).toBeUndefined()
  })

  test('with a policy that allows no scripts', async () => {
    const { headers, body } = await ask('/pricing', {})
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    const loads = [...body.toString().matchAll(/<(?:script|img|iframe|link)\b[^>]*/g)].map(([tag]) => tag)
    expect(loads).toEqual(['<link rel="stylesheet" href="/pricing.css"'])
    expect(body.toString()).not.toMatch(/\sstyle=|\son\w+=/)
  })
})

test('the page shows the new models after a reload', async () => {
  const gateway = await startGateway({ upstreams, models: { one: { targets: [{ upstream: 'openai' }] } }, pages: { pricing: ['default'] } })
  const before = await fetch(`${gateway.url}/pricing.json`)
  await gateway.rewrite({ models: { two: { targets: [{ upstream: 'openai' }] } } })
  const after = await fetch(`${gateway.url}/pricing.json`, { headers: { 'if-none-match': before.headers.get('etag') ?? '' } })
  expect(after.status).toBe(200)
  expect(((await after.json()) as { data: Told[] }).data.map(({ id }) => id)).toEqual(['two'])
  await gateway.rewrite({ pages: {} })
  expect((await fetch(`${gateway.url}/pricing.json`)).status).toBe(404)
  await gateway.close()
})

test('an unknown page and an unknown group are findings', async () => {
  const start = startGateway({ upstreams, models: {}, groups: { staff: {} }, pages: { prices: ['default'], pricing: ['stuff'] } })
  await expect(start).rejects.toThrow(/there is no page prices.*\n?.*use one of: pricing[\s\S]*there is no group stuff/)
})
