// An upstream that takes its time with an upload makes the client wait; nobody is cut off for it.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { KEY, startGateway } from '../harness.js'
import { files } from './abilities.js'

test('an upstream that does not read for longer than the server waits for a silent client', { timeout: 40_000 }, async () => {
  let length = 0
  const server = createServer((request, response) => {
    request.pause()
    setTimeout(() => request.resume(), 12_000)
    request.on('data', chunk => {
      length += chunk.length
    })
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"id":"a-task-of-this-name"}')
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const gateway = await startGateway(
    { upstreams: { maker: { provider: 'maker', base, secret: 's' } }, models: { m: { targets: [{ upstream: 'maker' }] } } },
    files,
  )
  const form = new FormData()
  form.append('model', 'm')
  form.append('file', new Blob([new Uint8Array(12_000_000)]), 'f')
  const response = await fetch(`${gateway.url}/things`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body: form })
  expect(response.status).toBe(200)
  expect(length).toBeGreaterThan(12_000_000)
  await gateway.close()
  server.closeAllConnections()
  await new Promise(done => server.close(done))
})
