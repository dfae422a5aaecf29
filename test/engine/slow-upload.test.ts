// An upstream that reads an upload slowly makes the client wait; no connection is cut, and it can be used for the next
// request.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { files } from './abilities.js'
import { bytesOf, dial, settle, statusesIn, still, type Wire } from './fake-upstreams.js'
import { chunk } from './upstream.js'

/** What the upstream does with a request. */
let upstream: (request: IncomingMessage, response: ServerResponse) => void
let gateway: TestGateway
let server: Server

beforeAll(async () => {
  server = createServer((request, response) => upstream(request, response))
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstreams = { maker: { provider: 'maker', base, secret: 's' } }
  gateway = await startGateway({ upstreams, models: { m: { targets: [{ upstream: 'maker' }] } } }, files)
})
afterAll(async () => {
  await gateway?.close()
  server.closeAllConnections()
  if (server) await new Promise(done => server.close(done))
})

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end('{"id":"a-task-of-this-name"}')
}

const BOUNDARY = 'a-boundary'
const part = (about: string, content: string): string => `--${BOUNDARY}\r\ncontent-disposition: form-data; ${about}\r\n\r\n${content}\r\n`
const head = bytesOf('/things', {
  authorization: `Bearer ${KEY}`,
  'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
  'transfer-encoding': 'chunked',
})
const next = bytesOf('/health', {}, '', 'GET')

/** Whether another request is answered on this connection. */
async function isUsable(wire: Wire): Promise<boolean> {
  const count = statusesIn(wire.text()).length
  wire.write(next)
  await settle(() => wire.isClosed() || statusesIn(wire.text()).length > count, true)
  return statusesIn(wire.text()).length > count
}

test('an upload waits for an upstream that reads later than the server waits for a silent client', async () => {
  let length = 0
  upstream = (request, response) => {
    request.pause()
    setTimeout(() => request.resume(), 12_000)
    request.on('data', chunk => {
      length += chunk.length
    })
    request.on('end', () => answer(response, 200))
  }
  const form = new FormData()
  form.append('model', 'm')
  form.append('file', new Blob([new Uint8Array(12_000_000)]), 'f')
  const response = await fetch(`${gateway.url}/things`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body: form })
  expect(response.status).toBe(200)
  expect(length).toBeGreaterThan(12_000_000)
})

test('a connection is usable after an upload whose end arrives with the held bytes', async () => {
  upstream = (request, response) => {
    request.resume().on('end', () => answer(response, 200))
  }
  const wire = await dial(gateway)
  // What comes before the model waits in a file, which takes a moment for every piece.
  const form = `${part('name="file"; filename="f"', 'x'.repeat(3_000_000))}${part('name="model"', 'm')}--${BOUNDARY}--\r\n`
  const pieces = form.match(/.{1,20000}/gs) as string[]
  for (let count = 1; count <= 5; count++) {
    wire.write(head + pieces.map(chunk).join('') + chunk(''))
    await settle(() => statusesIn(wire.text()).length, 2 * count - 1)
    expect(statusesIn(wire.text()).at(-1)).toBe(200)
    expect(await isUsable(wire), `after upload ${count}`).toBe(true)
  }
})

test.each([
  ['ends', 0],
  ['continues', 20],
])('a connection is usable or closed after an upload that is answered while it is held, and %s', async (_, more) => {
  let open: ServerResponse | undefined
  upstream = (request, response) => {
    request.pause()
    open = response
  }
  const wire = await dial(gateway)
  const piece = chunk('x'.repeat(1_000_000))
  wire.write(head + chunk(`${part('name="model"', 'm')}--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`))
  for (let count = 0; count < 20; count++) wire.write(piece)
  await expect.poll(() => open).toBeDefined()
  await still(() => wire.socket.writableLength, 300)
  answer(open as ServerResponse, 400)
  expect(await wire.until(/HTTP\/1\.1 \d+/)).toMatch(/^HTTP\/1\.1 400 /)
  // What is left is read, or the connection is over.
  for (let count = 0; count < more; count++) wire.write(piece)
  wire.write(chunk(`\r\n--${BOUNDARY}--\r\n`) + chunk(''))
  expect((await isUsable(wire)) || wire.isClosed()).toBe(true)
})
