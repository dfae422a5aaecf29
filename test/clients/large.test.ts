// Large, long and slow exchanges through a gateway in its own process, whose memory must stay as it is at rest. Clients and
// upstreams hold nothing either; they compare digests.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Busboy } from '@fastify/busboy'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { content, digestOf } from '../../cli/simulator/content.js'
import { KEY, startSimulator } from '../harness.js'
import { sleep, still } from '../polling.js'
import { type Apart, startApart } from '../process.js'

const MB = 1_000_000
const UPLOAD = 200 * MB
const DOWNLOAD = 500 * MB
/** What passes where one side takes its time. */
const SLOW = 200 * MB
/** More than the gateway and the buffers of the system can hold while nothing is read, and far less than everything. */
const ON_THE_WAY = 60 * MB
const ALLOWED = 50 * MB
/** Many small frames are many objects, for which the young generation grows to what the command line allows. */
const ALLOWED_OF_MANY = 100 * MB
const FILM = 'sim-500m-polls-1'
/** How long a side does not read, once nothing moves any more: milliseconds. */
const STOP = 1000
const bearer = { authorization: `Bearer ${KEY}` }

/** Called with how much has passed before more of it is taken: a side that takes its time. */
type Pace = (passed: number) => Promise<void> | void
const atOnce: Pace = () => undefined

/** Waits with the first byte for the word to begin, stops once more halfway, and takes little breaths all along. */
function slowly(size: number, word: Promise<void>): Pace {
  let isHalfway = false
  let breath = 0
  return async passed => {
    if (passed === 0) await word
    else if (!isHalfway && passed >= size / 2) {
      isHalfway = true
      await sleep(STOP)
    } else if (passed > breath + MB) {
      breath = passed
      await sleep(1)
    }
  }
}

function starting(): { word: Promise<void>; begin: () => void } {
  let begin = (): void => undefined
  const word = new Promise<void>(done => {
    begin = done
  })
  return { word, begin }
}

/** An upstream that holds nothing: of a form it knows what its file was, and sound it gives as fast as it is taken. */
interface Held {
  server: Server
  sockets: WebSocketServer
  url: string
  pace: Pace
  /** How much it has read, and given. */
  taken: number
  given: number
  /** How much sound it is to give. */
  size: number
}
let held: Held

async function startHeld(): Promise<Held> {
  const server = createServer((asked, answer) => void (asked.url === '/v1/audio/speech' ? sound(asked, answer) : form(asked, answer)))
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'realtime', perMessageDeflate: false })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { server, sockets, url, pace: atOnce, taken: 0, given: 0, size: 0 }
}

async function sound(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  asked.resume()
  answer.writeHead(200, { 'content-type': 'audio/wav', 'content-length': held.size })
  for (const piece of content(held.size)) {
    if (!answer.write(piece)) await new Promise(done => answer.once('drain', done))
    held.given += piece.length
  }
  answer.end()
}

async function form(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const hash = createHash('sha256')
  const seen = { model: '', fields: 0, size: 0, sha256: '' }
  const parts = new Busboy({ headers: { 'content-type': String(asked.headers['content-type']) } })
  parts.on('field', (name, value) => {
    if (name === 'model') seen.model = value
    else seen.fields += value.length
  })
  parts.on('file', (_name, file) =>
    file.on('data', (piece: Buffer) => {
      hash.update(piece)
      seen.size += piece.length
    }),
  )
  await held.pace(0)
  for await (const piece of asked) {
    held.taken += piece.length
    if (!parts.write(piece)) await once(parts, 'drain')
    await held.pace(held.taken)
  }
  parts.end()
  await once(parts, 'finish')
  answer.writeHead(200, { 'content-type': 'application/json' })
  answer.end(JSON.stringify({ text: '', seen: { ...seen, sha256: hash.digest('hex') } }))
}

let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: Apart
let client: OpenAI
let grown: () => number

beforeAll(async () => {
  simulator = await startSimulator()
  held = await startHeld()
  const model = (upstream: string, name: string): object => ({ targets: [{ upstream, model: name }] })
  gateway = await startApart({
    limits: { body: '300MiB' },
    upstreams: {
      held: { provider: 'openai', base: held.url, secret: 'secret-of-held' },
      openai: { provider: 'openai', base: simulator.url, secret: 'secret-of-openai' },
      kling: { provider: 'kling', base: simulator.url, secret: 'access:secret-of-kling' },
    },
    models: { held: model('held', 'theirs'), film: model('openai', FILM), 'film-elsewhere': model('kling', FILM) },
  })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
  // What a process needs once, for its first exchanges, is not what a large one needs.
  for (let count = 0; count < 5; count++) {
    await upload([], file(4 * MB)).answer
    await read(await listen(4 * MB))
    const { speaker, hearer } = await session()
    const heard = hear(hearer, 4 * MB)
    await pour(speaker, 4 * MB)
    await heard
    speaker.close()
  }
})
beforeEach(async () => {
  Object.assign(held, { pace: atOnce, taken: 0, given: 0 })
  grown = gateway.watch(await gateway.rest())
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
  for (const socket of held?.sockets.clients ?? []) socket.terminate()
  held?.server.closeAllConnections()
  if (held) await new Promise(done => held.server.close(done))
})

// Uploads --------------------------------------------------------------------------------------------------------

type Pieces = Iterable<Buffer | string>
const BOUNDARY = 'a-boundary-of-the-test'
const opening = (about: string): string => `\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; ${about}\r\n\r\n`

function* file(size: number): Generator<Buffer | string> {
  yield opening('name="file"; filename="long.wav"')
  yield* content(size)
}

interface Upload {
  /** How much the client has got rid of. */
  sent: number
  answer: Promise<{ status: number; body: string }>
}

/** Sends a form: what comes before the part that names the model, and what comes after it. */
function upload(before: Pieces, after: Pieces): Upload {
  const call = request(`${gateway.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  })
  const give = async (): Promise<void> => {
    for (const pieces of [before, [`${opening('name="model"')}held`], after]) {
      for (const piece of pieces) {
        if (!call.write(piece)) await once(call, 'drain')
        under.sent += piece.length
      }
    }
    call.end(`\r\n--${BOUNDARY}--\r\n`)
  }
  const under: Upload = {
    sent: 0,
    answer: new Promise((resolve, reject) => {
      call.on('error', reject)
      call.on('response', async response => {
        let body = ''
        for await (const piece of response) body += String(piece)
        resolve({ status: response.statusCode ?? 0, body })
      })
    }),
  }
  void give()
  return under
}

const seen = async ({ answer }: Upload): Promise<object> => {
  const { status, body } = await answer
  expect(status, body).toBe(200)
  return JSON.parse(body).seen
}

describe('an upload of 200 MB', () => {
  const whole = { model: 'theirs', fields: 0, size: UPLOAD, sha256: digestOf(UPLOAD) }

  test('passes while it arrives, where the model is known before it', async () => {
    expect(await seen(upload([], file(UPLOAD)))).toEqual(whole)
    expect(grown()).toBeLessThan(ALLOWED)
  })

  test('waits elsewhere, where the model is known after it', async () => {
    expect(await seen(upload(file(UPLOAD), []))).toEqual(whole)
    expect(grown()).toBeLessThan(ALLOWED)
  })

  test('is held back at the client by an upstream that reads slowly', async () => {
    const { word, begin } = starting()
    held.pace = slowly(UPLOAD, word)
    const under = upload([], file(UPLOAD))
    expect(await still(() => under.sent, STOP)).toBeLessThan(ON_THE_WAY)
    expect(held.taken).toBe(0)
    begin()
    expect(await seen(under)).toEqual(whole)
    expect(grown()).toBeLessThan(ALLOWED)
  })

  test('is held back where it is made of fields, too', async () => {
    // As many parts as a form may have, but for the one that names the model.
    const [count, length] = [999, MB / 5]
    const field = opening('name="words"') + 'x'.repeat(length)
    const { word, begin } = starting()
    held.pace = slowly(count * length, word)
    const under = upload([], Array<string>(count).fill(field))
    expect(await still(() => under.sent, STOP)).toBeLessThan(ON_THE_WAY)
    expect(held.taken).toBe(0)
    begin()
    expect(await seen(under)).toMatchObject({ model: 'theirs', fields: count * length })
    expect(grown()).toBeLessThan(ALLOWED)
  })
})

// Downloads ------------------------------------------------------------------------------------------------------

/** Asks for so much sound. */
function listen(size: number): Promise<IncomingMessage> {
  held.size = size
  return new Promise((resolve, reject) => {
    const call = request(`${gateway.url}/v1/audio/speech`, { method: 'POST', headers: { ...bearer, 'content-type': 'application/json' } })
    call.on('response', resolve).on('error', reject)
    call.end(JSON.stringify({ model: 'held', input: 'x', voice: 'alloy' }))
  })
}

async function read(answer: AsyncIterable<Uint8Array>, pace = atOnce): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256')
  let size = 0
  await pace(0)
  for await (const piece of answer) {
    hash.update(piece)
    size += piece.length
    await pace(size)
  }
  return { size, sha256: hash.digest('hex') }
}

describe('a download', () => {
  test.each(['film', 'film-elsewhere'])('of 500 MB passes while it arrives: %s', async name => {
    const { id } = await client.videos.create({ model: name, prompt: 'A long one' })
    expect(await client.videos.retrieve(id)).toMatchObject({ status: 'completed' })
    const answer = await client.videos.downloadContent(id)
    expect(answer.headers.get('content-length')).toBe(String(DOWNLOAD))
    expect(await read(answer.body as unknown as AsyncIterable<Uint8Array>)).toEqual({ size: DOWNLOAD, sha256: digestOf(DOWNLOAD) })
    expect(grown()).toBeLessThan(ALLOWED)
  })

  test('by a client that reads slowly makes the provider wait', async () => {
    const answer = await listen(SLOW)
    const { word, begin } = starting()
    const all = read(answer, slowly(SLOW, word))
    expect(await still(() => held.given, STOP)).toBeLessThan(ON_THE_WAY)
    begin()
    expect(await all).toEqual({ size: SLOW, sha256: digestOf(SLOW) })
    expect(grown()).toBeLessThan(ALLOWED)
  })
})

// Sockets --------------------------------------------------------------------------------------------------------

/** Both ends of a session: the client's is the one that speaks. */
async function session(): Promise<{ speaker: WebSocket; hearer: WebSocket }> {
  const theirs = new Promise<WebSocket>(resolve => held.sockets.once('connection', resolve))
  const speaker = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=held`, {
    headers: bearer,
    perMessageDeflate: false,
  })
  await once(speaker, 'open')
  return { speaker, hearer: await theirs }
}

/** Sends this much, as fast as it is accepted; `passed` gets the amount so far. */
async function pour(socket: WebSocket, size: number, passed: (size: number) => void = () => undefined): Promise<void> {
  let sent = 0
  for (const piece of content(size)) {
    await new Promise(done => socket.send(piece, done))
    sent += piece.length
    passed(sent)
  }
}

/** The digest of what comes until there is so much of it. */
function hear(socket: WebSocket, wanted: number): Promise<string> {
  const hash = createHash('sha256')
  let size = 0
  return new Promise(resolve => {
    const take = (data: unknown): void => {
      hash.update(data as Buffer)
      size += (data as Buffer).length
      if (size < wanted) return
      socket.off('message', take)
      resolve(hash.digest('hex'))
    }
    socket.on('message', take)
  })
}

describe('a socket', () => {
  test('whose client stops reading makes the upstream wait, and loses nothing', async () => {
    const { speaker: reader, hearer: giver } = await session()
    const heard = hear(reader, SLOW)
    let given = 0
    reader.pause()
    const all = pour(giver, SLOW, sent => {
      given = sent
    })
    expect(await still(() => given, STOP)).toBeLessThan(ON_THE_WAY)
    reader.resume()
    await all
    expect(await heard).toBe(digestOf(SLOW))
    expect(grown()).toBeLessThan(ALLOWED)
    reader.close()
  })

  test('whose upstream stops reading for a while loses nothing of what the gateway may hold', async () => {
    const { speaker, hearer } = await session()
    const size = 12 * MB
    const heard = hear(hearer, size)
    hearer.pause()
    await pour(speaker, size)
    expect(await still(() => speaker.readyState, STOP)).toBe(WebSocket.OPEN)
    hearer.resume()
    expect(await heard).toBe(digestOf(size))
    // It continues as before.
    const more = hear(hearer, MB)
    await pour(speaker, MB)
    expect(await more).toBe(digestOf(MB))
    expect(grown()).toBeLessThan(ALLOWED)
    speaker.close()
  })

  test.each([
    ['large', MB, ALLOWED],
    ['small', 10, ALLOWED_OF_MANY],
  ])('whose upstream does not read any more ends with 1013, and the client is told: %s frames', async (_, length, allowed) => {
    const { speaker, hearer } = await session()
    let last = ''
    speaker.on('message', data => {
      last = String(data)
    })
    const closed = once(speaker, 'close')
    hearer.pause()
    const frame = Buffer.alloc(length)
    for (let sent = 0; sent < SLOW && speaker.readyState === WebSocket.OPEN; ) {
      // The client reads only between its turns, and the gateway waits no longer than eight seconds for it to close.
      const turn = sent + Math.min(MB, 1000 * length)
      for (; sent < turn && speaker.bufferedAmount < MB; sent += length) speaker.send(frame)
      await sleep(0)
    }
    expect((await closed)[0]).toBe(1013)
    expect(JSON.parse(last)).toMatchObject({ type: 'error', error: { message: 'The upstream does not read the frames fast enough.' } })
    expect(grown()).toBeLessThan(allowed)
    // The upstream finds out once it reads again.
    const gone = once(hearer, 'close')
    hearer.resume()
    expect((await gone)[0]).toBe(1006)
  })
})
