// `patterns` outside of JSON bodies: in forms while they arrive, in plain texts, and in sockets.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { until } from '../polling.js'
import { plan } from './plan.js'

const CARD = '4111 1111 1111 1111'

/** What the provider was sent, as it came; and what it answers. */
let seen: string[] = []
let answered: { type: string | undefined; pieces: string[] } = { type: 'application/json', pieces: ['{"text":"Hi"}'] }

const upstream: Server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    seen.push(Buffer.concat(chunks).toString('latin1'))
    response.writeHead(200, answered.type === undefined ? {} : { 'content-type': answered.type })
    for (const piece of answered.pieces) response.write(piece)
    response.end()
  })
})
await new Promise<void>(done => upstream.listen(0, '127.0.0.1', done))
const sockets = new WebSocketServer({ server: upstream, handleProtocols: () => 'realtime' })
const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`

const gateway: TestGateway = await startGateway({
  upstreams: { one: { provider: 'openai', base, secret: 'secret-one' } },
  models: { m: { targets: [{ upstream: 'one' }] }, open: { targets: [{ upstream: 'one' }] } },
  patterns: {
    cards: { match: '\\b(?:\\d[ -]?){12,18}\\d\\b', mask: '[card]', window: 32, models: ['m'] },
    projects: { words: ['Blue Heron'], do: 'block', window: 32 },
  },
})
beforeEach(() => {
  seen = []
  answered = { type: 'application/json', pieces: ['{"text":"Hi"}'] }
})
afterAll(async () => {
  await gateway.close()
  for (const socket of sockets.clients) socket.terminate()
  upstream.closeAllConnections()
  upstream.close()
})
const openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const audio = (): Promise<File> => toFile(Buffer.from(`RIFF ${CARD}`), 'a.wav', { type: 'audio/wav' })

/** The parts of a form in an order of their own. */
function post(path: string, parts: readonly (readonly [string, string | Blob])[]): Promise<Response> {
  const form = new FormData()
  for (const [name, value] of parts) form.append(name, value as string)
  return fetch(`${gateway.url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body: form })
}

test('every route for a model declares the paths of its texts', () => {
  const asking = plan.routes.filter(({ fail, answer, document }) => fail === undefined && !answer && document === undefined)
  expect(asking.length).toBeGreaterThan(30)
  expect(asking.filter(({ dialect }) => plan.dialects[dialect]?.texts === undefined).map(({ name }) => name)).toEqual([])
})

test('requests of Ollama clients are masked, too', async () => {
  answered = {
    type: 'application/x-ndjson',
    pieces: [],
  }
  await fetch(`${gateway.url}/api/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: false, messages: [{ role: 'user', content: `pay ${CARD}` }] }),
  })
  expect(seen[0]).toContain('pay [card]')
})

describe('forms', () => {
  test('have their texts masked before and after the file and the model, and keep the file unchanged', async () => {
    await openai.audio.transcriptions.create({ model: 'm', file: await audio(), prompt: `pay ${CARD} now` })
    expect(seen[0]).toContain('pay [card] now')
    expect(seen[0]).toContain(`RIFF ${CARD}`)
    const file = new Blob([`RIFF ${CARD}`])
    for (const order of [
      [
        ['prompt', CARD],
        ['model', 'm'],
        ['file', file],
      ],
      [
        ['model', 'm'],
        ['file', file],
        ['prompt', CARD],
      ],
      [
        ['file', file],
        ['prompt', CARD],
        ['model', 'm'],
        ['language', 'en'],
      ],
    ] as const) {
      seen = []
      expect((await post('/v1/audio/transcriptions', order)).status).toBe(200)
      expect(seen[0]?.match(/name="prompt"\r\n\r\n([^\r]*)/)?.[1]).toBe('[card]')
      expect(seen[0]?.match(/name="prompt"/g)).toHaveLength(1)
      expect(seen[0]).toContain(`RIFF ${CARD}`)
    }
  })

  test("for other models than the pattern's `models` are not masked, wherever the model is named", async () => {
    for (const parts of [
      [
        ['prompt', CARD],
        ['model', 'open'],
      ],
      [
        ['model', 'open'],
        ['prompt', CARD],
      ],
    ] as const)
      expect((await post('/v1/audio/transcriptions', [...parts, ['file', new Blob(['x'])]])).status).toBe(200)
    for (const text of seen) expect(text).toContain(CARD)
    expect(seen).toHaveLength(2)
  })

  test('that are blocked are refused, and never sent completely', async () => {
    const response = await post('/v1/audio/transcriptions', [
      ['model', 'm'],
      ['prompt', 'the blue heron'],
      ['file', new Blob(['x'])],
    ])
    expect([response.status, await response.json()]).toMatchObject([403, { error: { code: 'blocked_pattern' } }])
    expect(seen.join('')).not.toContain('heron')
  })

  test('with the prompt of an edited image are masked, too', async () => {
    answered = {
      type: 'application/json',
      pieces: [JSON.stringify({ created: 1, data: [{ b64_json: 'aGk=', revised_prompt: `a ${CARD}` }] })],
    }
    const made = await openai.images.edit({
      model: 'm',
      image: await toFile(Buffer.from('x'), 'a.png', { type: 'image/png' }),
      prompt: `a ${CARD}`,
    })
    expect(seen[0]).toContain('a [card]')
    expect(made.data?.[0]?.revised_prompt).toBe('a [card]')
  })
})

describe('plain text answers', () => {
  test.each([
    'text/plain; charset=utf-8',
    'text/vtt',
    'application/x-subrip',
    'application/octet-stream',
    'application/ttml+xml',
    undefined,
  ])('of the type %s are masked, wherever they are cut', async type => {
    for (const length of [1, 3, 7, 1000]) {
      answered = { type, pieces: `Grüße: pay ${CARD} to them and ${CARD}.`.match(new RegExp(`[\\s\\S]{1,${length}}`, 'g')) ?? [] }
      const response = await post('/v1/audio/transcriptions', [
        ['model', 'm'],
        ['response_format', 'text'],
        ['file', new Blob(['x'])],
      ])
      expect(await response.text()).toBe('Grüße: pay [card] to them and [card].')
    }
  })

  test('that are blocked are cut off', async () => {
    answered = { type: 'text/plain', pieces: ['so ', 'it is the blue', ' heron', ' who'] }
    const text = await post('/v1/audio/transcriptions', [
      ['model', 'm'],
      ['file', new Blob(['x'])],
    ]).then(answer => answer.text(), String)
    expect(text).not.toContain('heron')
  })
})

describe('sockets', () => {
  type Frame = Record<string, unknown>

  /** Both ends of a session, and the frames that each has received. */
  async function session(
    model: string,
  ): Promise<{ client: WebSocket; provider: WebSocket; told: Frame[]; asked: Frame[]; closed: Promise<number> }> {
    const opened = new Promise<WebSocket>(done => sockets.once('connection', done))
    const client = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=${model}`, {
      headers: { authorization: `Bearer ${KEY}` },
    })
    const told: Frame[] = []
    const asked: Frame[] = []
    client.on('message', data => told.push(JSON.parse(String(data))))
    const closed = new Promise<number>(done => client.on('close', done))
    await new Promise((done, fail) => client.once('open', done).once('error', fail))
    const provider = await opened
    provider.on('message', data => asked.push(JSON.parse(String(data))))
    return { client, provider, told, asked, closed }
  }
  const item = (text: string): Frame => ({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
  })
  const delta = (text: string, item_id = 'item_1', type = 'response.output_text.delta'): Frame => ({
    type,
    item_id,
    content_index: 0,
    delta: text,
  })
  const textOf = (frames: readonly Frame[], item_id = 'item_1'): string =>
    frames
      .filter(one => one.item_id === item_id && String(one.type).endsWith('text.delta'))
      .map(one => one.delta)
      .join('')
  const AUDIO = Buffer.from(CARD.repeat(9)).toString('base64').replaceAll(/[^\d]/g, '1')

  test('have their texts masked in both directions, wherever they are cut, and keep audio unchanged', async () => {
    const { client, provider, told, asked } = await session('m')
    client.send(JSON.stringify(item(`pay ${CARD} now`), undefined, 2))
    client.send(JSON.stringify({ type: 'input_audio_buffer.append', audio: AUDIO }))
    await until(() => asked[1])
    expect(asked).toEqual([item('pay [card] now'), { type: 'input_audio_buffer.append', audio: AUDIO }])
    const text = `I pay ${CARD} to them, and then ${CARD}.`
    provider.send(JSON.stringify({ type: 'response.created', response: {} }, undefined, 2))
    for (const piece of text.match(/[\s\S]{1,3}/g) ?? []) provider.send(JSON.stringify(delta(piece)))
    provider.send(JSON.stringify({ type: 'response.output_audio.delta', item_id: 'item_1', delta: AUDIO }))
    provider.send(JSON.stringify({ type: 'response.output_text.done', item_id: 'item_1', content_index: 0, text }))
    // A whole text does not wait for more.
    await until(() => told.find(({ type }) => type === 'response.output_text.done'))
    const masked = text.replaceAll(CARD, '[card]')
    expect(told.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])).toEqual([
      'response.created',
      'response.output_text.delta',
      'response.output_audio.delta',
      'response.output_text.done',
    ])
    expect(textOf(told)).toBe(masked)
    expect(told.at(-1)).toMatchObject({ text: masked })
    expect(told.at(-2)).toMatchObject({ delta: AUDIO })
    // The end of the session decides what is left.
    provider.send(JSON.stringify(delta(`so ${CARD}`, 'item_2')))
    provider.close(1000)
    await until(() => textOf(told, 'item_2') === 'so [card]')
  })

  test('do not send a blocked frame of the client, and continue', async () => {
    const { client, provider, told, asked } = await session('m')
    client.send(JSON.stringify(item('the blue heron')))
    client.send(JSON.stringify(item('hello')))
    await until(() => asked[0])
    expect(asked).toEqual([item('hello')])
    expect(told).toMatchObject([{ type: 'error', error: { code: 'blocked_pattern' } }])
    provider.close()
  })

  test('end when the provider sends a blocked text', async () => {
    const { provider, told, closed } = await session('m')
    for (const piece of ['It is the bl', 'ue her', 'on', ' that I mean, and nothing else at all, at all'])
      provider.send(JSON.stringify(delta(piece)))
    expect(await closed).toBe(1008)
    expect(JSON.stringify(told)).not.toContain('ue her')
    expect(told.at(-1)).toMatchObject({ type: 'error', error: { code: 'blocked_pattern' } })
  })

  test("for other models than the pattern's `models` are not masked", async () => {
    const { client, provider, told, asked } = await session('open')
    client.send(JSON.stringify(item(CARD)))
    await until(() => asked[0])
    provider.send(JSON.stringify(delta(CARD)))
    provider.send(JSON.stringify({ type: 'response.output_text.done', item_id: 'item_1', content_index: 0, text: CARD }))
    await until(() => told[1])
    expect([JSON.stringify(asked), textOf(told)]).toEqual([JSON.stringify([item(CARD)]), CARD])
    provider.close()
  })
})
