// Units besides tokens: seconds, characters, images and searches, reported by an answer or counted in the request.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'

let answer: { type: string; body: string }
let upstream: Server
let gateway: TestGateway

// Prices that only a catalogue can have are in one of the operator's own.
const MODELS = `
title: Test
source: this test
read: 2026-11-22
providers: [openai, cohere]
models:
  heard: { prices: [{ from: 2026-01-01, second: 0.0001 }] }
  spoken: { prices: [{ from: 2026-01-01, character: 15 }] }
  drawn: { prices: [{ from: 2026-01-01, image: 0.04, when: [{ quality: high, image: 0.167 }] }] }
  filmed: { prices: [{ from: 2026-01-01, second: 0.1 }] }
  sorted: { prices: [{ from: 2026-01-01, search: { price: 2, per: thousand } }] }
`

beforeAll(async () => {
  upstream = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      response.setHeader('content-type', answer.type)
      response.end(answer.body)
    })
  })
  await new Promise<void>(done => upstream.listen(0, '127.0.0.1', done))
  const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
  const of = (name: string): object => ({ targets: [{ upstream: name }] })
  gateway = await startGateway(
    {
      upstreams: {
        perplexity: { provider: 'perplexity', base, secret: 'none' },
        openai: { provider: 'openai', base, secret: 'none' },
        cohere: { provider: 'cohere', base, secret: 'none' },
      },
      models: {
        heard: of('openai'),
        spoken: of('openai'),
        drawn: of('openai'),
        filmed: of('openai'),
        sorted: of('cohere'),
        sonar: of('perplexity'),
      },
    },
    { 'models/own.yaml': MODELS },
  )
})
afterAll(async () => {
  await gateway?.close()
  upstream?.closeAllConnections()
  await new Promise(done => upstream?.close(done))
})

const json = (body: object): { type: string; body: string } => ({ type: 'application/json', body: JSON.stringify(body) })

async function costOf(path: string, body: FormData | object, given: typeof answer): Promise<unknown> {
  answer = given
  const isForm = body instanceof FormData
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, ...(!isForm && { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  })
  expect([response.status, await response.text()]).toEqual([200, expect.anything()])
  const line = (): Record<string, unknown> | undefined => gateway.log.find(one => one.id === response.headers.get('x-request-id'))
  await expect.poll(line).toBeDefined()
  return line()?.cost
}

function spoken(): FormData {
  const form = new FormData()
  form.set('model', 'heard')
  form.set('file', new Blob(['RIFF']), 'a.wav')
  return form
}

test('a transcription costs its seconds', async () => {
  const told = json({ text: 'Hi', usage: { type: 'duration', seconds: 61 } })
  expect(await costOf('/v1/audio/transcriptions', spoken(), told)).toBe(0.0061)
  expect(await costOf('/v1/audio/transcriptions', spoken(), json({ text: 'Hi', duration: 10.5, segments: [] }))).toBe(0.00105)
  expect(await costOf('/v1/audio/transcriptions', spoken(), { type: 'text/plain', body: 'Hi' })).toBeUndefined()
})

test('speech costs its characters', async () => {
  const sound = { type: 'audio/mpeg', body: 'sound' }
  expect(await costOf('/v1/audio/speech', { model: 'spoken', input: 'ä'.repeat(1_000), voice: 'alloy' }, sound)).toBe(0.015)
})

test('images cost their number, by quality', async () => {
  const pictures = json({ created: 1, data: [{ b64_json: 'AAAA' }, { b64_json: 'AAAA' }] })
  const asked = { model: 'drawn', prompt: 'A lighthouse', n: 2 }
  expect(await costOf('/v1/images/generations', asked, pictures)).toBe(0.08)
  expect(await costOf('/v1/images/generations', { ...asked, quality: 'high' }, pictures)).toBe(0.334)
})

test('a video costs its seconds', async () => {
  const film = json({ id: 'video_1', object: 'video', status: 'queued', model: 'filmed', created_at: 1, seconds: '8', size: '1280x720' })
  expect(await costOf('/v1/videos', { model: 'filmed', prompt: 'Waves' }, film)).toBe(0.8)
})

test('reranking costs its searches, and no tokens', async () => {
  const found = {
    id: '1',
    results: [{ index: 0, relevance_score: 0.5 }],
    meta: { billed_units: { search_units: 3 }, tokens: { input_tokens: 50 } },
  }
  expect(await costOf('/v1/rerank', { model: 'sorted', query: 'a', documents: ['b'] }, json(found))).toBe(0.006)
})

test('a request costs its search context as the answer reports it, whole and streamed', async () => {
  const choice = { index: 0, finish_reason: 'stop' }
  const head = { id: '1', created: 1, model: 'sonar' }
  const asked = { model: 'sonar', messages: [{ role: 'user', content: 'a' }] }
  const costWith = async (size: string | undefined): Promise<unknown[]> => {
    const usage = {
      prompt_tokens: 1_000,
      completion_tokens: 2_000,
      total_tokens: 3_000,
      ...(size !== undefined && { search_context_size: size }),
    }
    const whole = json({
      ...head,
      object: 'chat.completion',
      choices: [{ ...choice, message: { role: 'assistant', content: 'b' } }],
      usage,
    })
    const event = { ...head, object: 'chat.completion.chunk', choices: [{ ...choice, delta: { role: 'assistant', content: 'b' } }], usage }
    const stream = { type: 'text/event-stream', body: `data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n` }
    return [await costOf('/v1/chat/completions', asked, whole), await costOf('/v1/chat/completions', { ...asked, stream: true }, stream)]
  }
  // 3,000 tokens at a dollar for a million, and 5, 8 or 12 dollars for a thousand requests.
  expect(await costWith(undefined)).toEqual([0.008, 0.008])
  expect(await costWith('low')).toEqual([0.008, 0.008])
  expect(await costWith('medium')).toEqual([0.011, 0.011])
  expect(await costWith('high')).toEqual([0.015, 0.015])
})
