// A realtime session through the gateway: the official client, browsers with their list of subprotocols, and misbehaving
// sockets on either side.

import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { still } from '../polling.js'

const NAMES = [
  'sim',
  'sim-3',
  'sim-cached',
  'sim-close-4001',
  'sim-close-1013',
  'sim-cut-0',
  'sim-60m',
  'sim-status-401',
  'sim-status-404',
  'sim-status-429',
]
let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
/** An upstream whose sockets the tests hold. */
let upstream: { server: Server; sockets: WebSocketServer; url: string }

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  const server = createServer()
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'realtime' })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  upstream = { server, sockets, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const { upstreams, models } = simulated(simulator.url, NAMES, ['openai']) as { upstreams: object; models: object }
  gateway = await startGateway({
    upstreams: { ...upstreams, held: { provider: 'openai', base: upstream.url, secret: 'secret-of-held' } },
    models: { ...models, held: { targets: [{ upstream: 'held', model: 'theirs' }] } },
  })
})
beforeEach(() => {
  simulator.requests.length = 0
  gateway.log.length = 0
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
  for (const socket of upstream?.sockets.clients ?? []) socket.terminate()
  if (upstream) await new Promise(done => upstream.server.close(done))
})

const address = (model: string): string => `${gateway.url.replace('http', 'ws')}/v1/realtime?model=${encodeURIComponent(model)}`

type Closed = { code: number; reason: string }
type Session = { socket: WebSocket; frames: { data: Buffer; isBinary: boolean }[]; closed: Promise<Closed> }

/** A client of its own; a refusal is an error that names the status. */
function open(
  model: string,
  protocols: string[] = [],
  headers: Record<string, string> = { authorization: `Bearer ${KEY}` },
): Promise<Session> {
  const socket = new WebSocket(address(model), protocols, { headers })
  const frames: Session['frames'] = []
  socket.on('message', (data, isBinary) => frames.push({ data: data as Buffer, isBinary }))
  const closed = new Promise<Closed>(resolve => socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })))
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve({ socket, frames, closed }))
    socket.on('error', reject)
  })
}

const texts = (session: Session): string[] => session.frames.map(({ data }) => data.toString())
const typesOf = (session: Session): string[] =>
  session.frames.filter(frame => !frame.isBinary).map(({ data }) => JSON.parse(data.toString()).type)

describe('the official client', () => {
  /** The client insists on TLS; the connection under it is a plain one here. */
  const plain = { createConnection: (to: { host: string; port: number }) => connect(to.port, to.host) } as object

  test('a session, an answer, and what it cost', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY })
    const realtime = new OpenAIRealtimeWS({ model: 'openai/sim-3', options: plain }, client)
    const events: string[] = []
    const done = new Promise<OpenAI.Realtime.ResponseDoneEvent>((resolve, reject) => {
      realtime.on('event', event => events.push(event.type))
      realtime.on('error', reject)
      realtime.on('response.done', resolve)
    })
    realtime.on('session.created', () => realtime.send({ type: 'response.create' }))
    expect((await done).response.usage).toMatchObject({ input_tokens: 12, output_tokens: 3, total_tokens: 15 })
    expect(events).toEqual(['session.created', 'response.created', ...Array(3).fill('response.output_text.delta'), 'response.done'])
    realtime.close()
    await expect
      .poll(() => gateway.log.find(line => line.model === 'openai/sim-3'))
      .toMatchObject({ status: 101, usage: { input: 12, output: 3 } })
  })

  test('the provider gets its own model name and key, and no other', async () => {
    const { socket } = await open('openai/sim', [], { authorization: `Bearer ${KEY}`, 'openai-beta': 'realtime=v1' })
    socket.close()
    const [asked] = simulator.requests
    expect(asked).toMatchObject({ path: '/v1/realtime', query: 'model=sim' })
    expect(asked?.headers).toMatchObject({ authorization: 'Bearer secret-of-openai', 'openai-beta': 'realtime=v1' })
    expect(JSON.stringify(asked)).not.toContain(KEY)
  })

  test('several answers are counted together', async () => {
    const session = await open('openai/sim-cached')
    for (let count = 0; count < 3; count++) session.socket.send('{"type":"response.create"}')
    await expect.poll(() => typesOf(session).filter(type => type === 'response.done').length).toBe(3)
    session.socket.close()
    await expect.poll(() => gateway.log.find(line => line.model === 'openai/sim-cached')?.usage).toMatchObject({ input: 300, cached: 240 })
  })
})

describe('a session that only transcribes', () => {
  /** Resolves when the session has ended. */
  const session = (query: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const url = `${gateway.url.replace('http', 'ws')}/v1/realtime?${query}`
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${KEY}` } })
      socket.on('close', () => resolve())
      socket.on('error', reject)
    })

  test('the provider gets the intent and, as it demands, no model; each transcript is counted', async () => {
    let asked: string | undefined
    upstream.sockets.once('connection', (socket, request) => {
      asked = request.url
      const usage = { type: 'tokens', total_tokens: 22, input_tokens: 13, output_tokens: 9, input_token_details: { audio_tokens: 13 } }
      for (const item_id of ['a', 'b'])
        socket.send(JSON.stringify({ type: 'conversation.item.input_audio_transcription.completed', item_id, transcript: 'x', usage }))
      socket.close(1000)
    })
    await session('model=held&intent=transcription')
    expect(asked).toBe('/v1/realtime?intent=transcription')
    await expect
      .poll(() => gateway.log.find(line => line.model === 'held'))
      .toMatchObject({ status: 101, usage: { input: 26, output: 18 } })
  })

  test('a model that the key may not use, or none, is refused', async () => {
    await expect(session('intent=transcription&model=nobody')).rejects.toThrow('404')
    await expect(session('intent=transcription')).rejects.toThrow('400')
  })
})

describe('browsers', () => {
  test.each([
    ['the key last', ['realtime', `openai-insecure-api-key.${KEY}`]],
    ['the key first', [`openai-insecure-api-key.${KEY}`, 'realtime']],
    ['the key between others', ['realtime', `openai-insecure-api-key.${KEY}`, 'openai-beta.realtime-v1']],
  ])('%s of the list: the protocol is answered, the key is not', async (_name, protocols) => {
    const session = await open('openai/sim', protocols, {})
    expect(session.socket.protocol).toBe('realtime')
    session.socket.close()
    expect(JSON.stringify(simulator.requests[0])).not.toContain(KEY)
  })

  test('what they say by a subprotocol in place of a header arrives as that header', async () => {
    const protocols = ['realtime', `openai-insecure-api-key.${KEY}`, 'openai-beta.realtime-v1']
    for (const [offered, header, told] of [
      [protocols, {}, 'realtime=v1'],
      [protocols.slice(0, 2), {}, undefined],
      [protocols, { 'openai-beta': 'own' }, 'own'],
    ] as const) {
      simulator.requests.length = 0
      const session = await open('openai/sim', [...offered], header)
      session.socket.close()
      await session.closed
      const [asked] = simulator.requests
      expect(asked?.headers['openai-beta']).toBe(told)
      expect(asked?.headers['sec-websocket-protocol']).toBeUndefined()
    }
    // The sessions of the tests before may end meanwhile.
    await expect.poll(() => gateway.log.length).toBeGreaterThanOrEqual(3)
    expect(JSON.stringify(gateway.log)).not.toContain(KEY)
  })

  test("the web's own WebSocket", async () => {
    const Web = globalThis.WebSocket as unknown as typeof WebSocket | undefined
    if (Web === undefined) return
    const socket = new Web(address('openai/sim'), ['realtime', `openai-insecure-api-key.${KEY}`])
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    expect(socket.protocol).toBe('realtime')
    socket.close()
  })

  test('a wrong key among the protocols, or none', async () => {
    await expect(open('openai/sim', ['realtime', 'openai-insecure-api-key.wrong'], {})).rejects.toThrow('401')
    await expect(open('openai/sim', ['realtime'], {})).rejects.toThrow('401')
  })
})

describe('frames', () => {
  test('texts and bytes come back as they were, in their order', async () => {
    const session = await open('openai/sim')
    const sent = [
      Buffer.from('not JSON'),
      Buffer.alloc(0),
      Buffer.from('{"type":"unknown","text":"Grüße 🙂"}'),
      Buffer.from([0, 255, 1, 128]),
    ]
    sent.forEach((data, index) => {
      session.socket.send(data, { binary: index === 3 })
    })
    await expect.poll(() => session.frames.length).toBe(5)
    expect(session.frames.slice(1)).toEqual(sent.map((data, index) => ({ data, isBinary: index === 3 })))
    session.socket.close()
  })

  test('a frame of megabytes', async () => {
    const session = await open('openai/sim')
    const large = Buffer.alloc(8_000_000, 'x')
    session.socket.send(large, { binary: true })
    await expect.poll(() => session.frames.length).toBe(2)
    expect(session.frames[1]?.data.equals(large)).toBe(true)
    session.socket.close()
  })

  test('more bytes than the client reads for now all arrive, later', async () => {
    const session = await open('openai/sim-60m')
    let length = 0
    session.socket.on('message', (data, isBinary) => {
      if (isBinary) length += (data as Buffer).length
    })
    session.socket.pause()
    session.socket.send('begin')
    await still(() => simulator.requests[0]?.frames?.length, 500)
    session.socket.resume()
    await expect.poll(() => length).toBe(60_000_000)
    session.socket.close()
  })

  test('an upstream that stops reading ends the session, with an event', async () => {
    upstream.sockets.once('connection', socket => socket.pause())
    const session = await open('held')
    const frame = Buffer.alloc(1_000_000)
    for (let count = 0; count < 80 && session.socket.readyState === WebSocket.OPEN; count++) {
      session.socket.send(frame, { binary: true })
      await new Promise(done => setTimeout(done, 2))
    }
    expect((await session.closed).code).toBe(1013)
    expect(JSON.parse(texts(session).at(-1) ?? '{}')).toMatchObject({ type: 'error', error: { message: expect.any(String) } })
  })
})

describe('ends', () => {
  test.each([
    ['openai/sim-close-4001', 4001],
    ['openai/sim-close-1013', 1013],
  ])("the upstream's code reaches the client: %s", async (model, code) => {
    const session = await open(model)
    session.socket.send('anything')
    expect(await session.closed).toEqual({ code, reason: 'as its scenario says' })
  })

  test("the client's code reaches the upstream", async () => {
    const session = await open('openai/sim')
    session.socket.close(4321, 'enough')
    await expect.poll(() => simulator.requests[0]?.closed).toBe(4321)
  })

  test('a client that vanishes frees the upstream', async () => {
    const session = await open('openai/sim')
    session.socket.terminate()
    await expect.poll(() => simulator.requests[0]?.closed).toBe(1006)
  })

  test('an upstream that disappears is reported in an event', async () => {
    const session = await open('openai/sim-cut-0')
    session.socket.send('anything')
    expect((await session.closed).code).toBe(1011)
    expect(JSON.parse(texts(session).at(-1) ?? '{}')).toMatchObject({ type: 'error', error: { type: 'server_error' } })
  })
})

describe('refusals are answers of HTTP', () => {
  test.each([
    ['openai/sim-status-401', '502'],
    ['openai/sim-status-404', '404'],
    ['openai/sim-status-429', '429'],
    ['nobody', '404'],
  ])('%s is %s', async (model, status) => {
    await expect(open(model)).rejects.toThrow(status)
  })

  test('a wrong key, no model, and a request that is no socket', async () => {
    await expect(open('openai/sim', [], { authorization: 'Bearer wrong' })).rejects.toThrow('401')
    await expect(open('')).rejects.toThrow('400')
    const answer = await fetch(`${gateway.url}/v1/realtime?model=openai/sim`, { headers: { authorization: `Bearer ${KEY}` } })
    expect([answer.status, ((await answer.json()) as { error: { type: string } }).error.type]).toEqual([400, 'invalid_request_error'])
  })

  test('responses have no socket: 426 is what Codex goes on over HTTP after, without further tries', async () => {
    const responses = `${gateway.url.replace('http', 'ws')}/v1/responses`
    const refusal = (key: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(responses, { headers: { authorization: `Bearer ${key}` } })
        socket.on('open', () => reject(new Error('it was taken')))
        socket.on('error', resolve)
      })
    expect(String(await refusal(KEY))).toContain('426')
    expect(String(await refusal('wrong'))).toContain('401')
    const plain = await fetch(`${gateway.url}/v1/responses`, { headers: { authorization: `Bearer ${KEY}` } })
    expect([plain.status, plain.headers.get('allow')]).toEqual([405, 'POST'])
  })
})
