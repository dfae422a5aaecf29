// Images by address, for providers that accept only inline images.

import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isPublic } from '../../engine/upstream/fetch-media.js'
import { KEY, startGateway, startSimulator } from '../harness.js'

describe('isPublic', () => {
  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.20.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '0.0.0.0',
    '100.64.0.1',
    '::1',
    'fd00::1',
    'fe80::1',
    '::ffff:10.0.0.1',
    'nonsense',
  ])('%s is not public', address => {
    expect(isPublic(address)).toBe(false)
  })
  test.each(['1.1.1.1', '93.184.216.34', '2606:4700::1111'])('%s is public', address => {
    expect(isPublic(address)).toBe(true)
  })
})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
let asked = 0
const pages = createServer((request, response) => {
  asked++
  if (request.url === '/moved') response.writeHead(302, { location: '/a.png' }).end()
  else if (request.url === '/a.png') response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(PNG, 'base64'))
  else if (request.url === '/long.png') response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(1024 * 1024))
  else response.writeHead(404).end()
})
let base: string
let simulator: Awaited<ReturnType<typeof startSimulator>>

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  await new Promise<void>(done => pages.listen(0, '127.0.0.1', done))
  base = `http://127.0.0.1:${(pages.address() as { port: number }).port}`
})
afterAll(async () => {
  await simulator?.close()
  pages.close()
})

async function ask(url: string, more: Record<string, unknown>): Promise<Response> {
  const gateway = await startGateway({
    upstreams: { up: { provider: 'gemini', base: simulator.url, secret: 'x' } },
    models: { sim: { targets: [{ upstream: 'up' }] } },
    ...more,
  })
  const body = JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })
  const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body })
  await gateway.close()
  return response
}

test.each(['/a.png', '/moved'])('%s is fetched and sent inside the request', async path => {
  const response = await ask(base + path, { fetch: { private: true } })
  expect(response.status).toBe(200)
  expect(simulator.requests.at(-1)?.body).toContain(PNG)
})

test('what is fetched counts as memory of bodies', async () => {
  const before = simulator.requests.length
  const response = await ask(`${base}/long.png`, { fetch: { private: true }, capacity: { bodies: '1MiB' } })
  expect([response.status, response.headers.get('retry-after'), simulator.requests.length]).toEqual([503, '1', before])
})

test('a missing file is reported', async () => {
  const response = await ask(`${base}/nothing`, { fetch: { private: true } })
  expect(response.status).toBe(400)
  expect(JSON.stringify(await response.json())).toContain('status 404')
})

test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433', '0177.0.0.1', '0x7f.1', '[::127.0.0.1]', '[::1]'])(
  'a private address is not fetched: %s',
  async host => {
    const before = [simulator.requests.length, asked]
    expect((await ask(`${base.replace('127.0.0.1', host)}/a.png`, {})).status).toBe(400)
    expect([simulator.requests.length, asked]).toEqual(before)
  },
)
