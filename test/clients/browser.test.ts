// A page in a real browser: it opens a realtime session with the key among the subprotocols, since it cannot set headers, and
// reports the result to this test.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest'
import { findChromium, INSTALLATION, openPage } from '../chromium.js'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'

let browser: Awaited<ReturnType<typeof findChromium>>
let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
let pages: { server: Server; url: string; script: string; told: (findings: Findings) => void }

beforeAll(async () => {
  browser = await findChromium()
  if ('reason' in browser) console.warn(`The tests with a browser are skipped. ${browser.reason}`)
  simulator = await startSimulator({ record: true })
  gateway = await startGateway(simulated(simulator.url, ['sim-5', 'sim-close-4001'], ['openai']))
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', part => {
      body += String(part)
    })
    request.on('end', () => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      if (request.url === '/told') pages.told(JSON.parse(body))
      response.end(request.url === '/' ? `<!doctype html><title>A page</title><script type="module">${pages.script}</script>` : '')
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  pages = { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, script: '', told: () => undefined }
}, INSTALLATION + 30_000)
beforeEach(() => {
  simulator.requests.length = 0
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
  pages?.server.closeAllConnections()
  if (pages) await new Promise(done => pages.server.close(done))
})

interface Findings {
  protocol: string
  isOpen: boolean
  frames: string[]
  code: number
  reason: string
}

/**
 * What a page sees of a session with these subprotocols. `say` runs for every frame: `socket` and `event`, the frame as JSON,
 * are there for it.
 */
async function seenBy(context: TestContext, model: string, protocols: readonly string[], say: string): Promise<Findings> {
  if ('reason' in browser) return context.skip(browser.reason)
  const address = `${gateway.url.replace('http', 'ws')}/v1/realtime?model=${encodeURIComponent(model)}`
  pages.script = `
    const socket = new WebSocket(${JSON.stringify(address)}, ${JSON.stringify(protocols)})
    const found = { isOpen: false, frames: [] }
    socket.binaryType = 'arraybuffer'
    socket.onopen = () => { found.isOpen = true }
    socket.onmessage = ({ data }) => {
      const isText = typeof data === 'string'
      found.frames.push(isText ? data : 'bytes ' + new Uint8Array(data).join())
      const event = isText ? JSON.parse(data) : undefined
      ${say}
    }
    socket.onclose = ({ code, reason }) => {
      const body = JSON.stringify({ ...found, protocol: socket.protocol, code, reason })
      fetch('/told', { method: 'POST', body })
    }`
  const told = new Promise<Findings>(resolve => {
    pages.told = resolve
  })
  const close = openPage(browser.command, pages.url)
  try {
    return await told
  } finally {
    close()
  }
}

describe('a page in Chromium', () => {
  const offered = ['realtime', `openai-insecure-api-key.${KEY}`]

  test.for([
    ['last', offered],
    ['first, beside that of the beta', [...offered].reverse().concat('openai-beta.realtime-v1')],
  ] as const)('has a turn of text, with the key %s', async ([, protocols], context) => {
    const found = await seenBy(
      context,
      'openai/sim-5',
      protocols,
      `if (event.type === 'session.created') {
        const content = [{ type: 'input_text', text: 'Grüße 🙂' }]
        socket.send(JSON.stringify({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } }))
        socket.send(JSON.stringify({ type: 'response.create' }))
      }
      if (event.type === 'response.done') socket.close(1000, 'enough')`,
    )
    expect(found).toMatchObject({ isOpen: true, protocol: 'realtime', code: 1000 })
    const events = found.frames.map(text => JSON.parse(text))
    expect(events.map(({ type }) => type)).toEqual([
      'session.created',
      'conversation.item.create',
      'response.created',
      ...Array(5).fill('response.output_text.delta'),
      'response.done',
    ])
    // The simulator gives back what it has no reply to.
    expect(events[1].item.content[0].text).toBe('Grüße 🙂')
    expect(events.map(({ delta = '' }) => delta).join('')).not.toBe('')
    expect(events.at(-1).response.usage).toMatchObject({ output_tokens: 5 })
    const [asked] = simulator.requests
    expect(asked?.headers.authorization).toBe('Bearer secret-of-openai')
    expect(JSON.stringify(asked)).not.toContain(KEY)
    await expect.poll(() => asked?.closed).toBe(1000)
  })

  test('sends bytes and gets them back', async context => {
    const found = await seenBy(
      context,
      'openai/sim-5',
      offered,
      `if (isText) socket.send(new Uint8Array([0, 255, 1, 128]))
      else socket.close()`,
    )
    expect(found.frames.at(-1)).toBe('bytes 0,255,1,128')
  })

  test("sees the upstream's code", async context => {
    const found = await seenBy(context, 'openai/sim-close-4001', offered, `if (event.type === 'session.created') socket.send('{}')`)
    expect(found).toMatchObject({ isOpen: true, code: 4001, reason: 'as its scenario says' })
  })

  test('with a wrong key does not get in', async context => {
    const found = await seenBy(context, 'openai/sim-5', ['realtime', 'openai-insecure-api-key.wrong'], '')
    expect(found).toMatchObject({ isOpen: false, frames: [], code: 1006 })
    expect(simulator.requests).toEqual([])
  })
})
