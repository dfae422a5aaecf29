// The official OpenAI client, audio: speech, and recordings that are sent.

import { createHash, randomBytes } from 'node:crypto'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'

const NAMES = ['sim', 'sim-5', 'sim-40', 'sim-3m', 'sim-3m-cut-1', 'sim-cut-2', 'sim-status-400', 'sim-status-401']
const { digestOf } = await import('../../cli/simulator/content.js')
let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
  gateway = await startGateway(simulated(simulator.url, NAMES, ['openai']))
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 })
})
beforeEach(() => {
  simulator.requests.length = 0
  gateway.log.length = 0
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const usageOfLog = () => expect.poll(() => gateway.log.findLast(line => line.msg === 'request')?.usage)

describe('speech', () => {
  const speak = (name: string, more: object = {}) =>
    client.audio.speech.create({ model: `openai/${name}`, input: 'Hello', voice: 'alloy', ...more })

  test('megabytes of sound, byte by byte, with their type and length', async () => {
    const answer = await speak('sim-3m', { response_format: 'flac' })
    expect(answer.headers.get('content-type')).toBe('audio/flac')
    expect(answer.headers.get('content-length')).toBe('3000000')
    expect(sha256(Buffer.from(await answer.arrayBuffer()))).toBe(digestOf(3_000_000))
    expect(JSON.parse(simulator.requests[0]?.body ?? '{}')).toEqual({
      model: 'sim-3m',
      input: 'Hello',
      voice: 'alloy',
      response_format: 'flac',
    })
  })

  test('events pass as they are', async () => {
    const answer = await speak('sim-5', { stream_format: 'sse' })
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    const events = (await answer.text()).split('\n\n').filter(Boolean)
    expect(events).toHaveLength(6)
    expect(JSON.parse(events.at(-1)?.slice(6) ?? '')).toMatchObject({ type: 'speech.audio.done', usage: { output_tokens: 5 } })
    await usageOfLog().toMatchObject({ input: 12, output: 5 })
  })

  test('sound that breaks off does not look finished', async () => {
    const answer = await speak('sim-3m-cut-1')
    await expect(answer.arrayBuffer()).rejects.toThrow()
  })

  test('errors are JSON, before any sound', async () => {
    await expect(speak('sim-status-400')).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' })
    await expect(speak('sim-status-401')).rejects.toMatchObject({ status: 502 })
    await expect(speak('sim', { input: 5 as never })).rejects.toMatchObject({ status: 400, param: 'input' })
    // How long a text may be is the provider's to say.
    expect((await speak('sim', { input: 'x'.repeat(4097) })).status).toBe(200)
  })
})

describe('transcriptions', () => {
  const recording = randomBytes(4_000_000)
  const file = () => toFile(recording, 'a talk.wav', { type: 'audio/wav' })

  test('a file of megabytes arrives as it is, with every field in its order', async () => {
    const answer = await client.audio.transcriptions.create({
      file: await file(),
      model: 'openai/sim',
      language: 'en',
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
      temperature: 0.2,
    })
    expect(answer).toMatchObject({ text: expect.stringContaining('simulator'), language: 'en', duration: 4 })
    const parts = simulator.requests[0]?.parts ?? []
    expect(parts.map(({ name }) => name)).toEqual([
      'file',
      'model',
      'language',
      'response_format',
      'timestamp_granularities[]',
      'timestamp_granularities[]',
      'temperature',
    ])
    expect(parts[1]?.sha256).toBe(sha256(Buffer.from('sim')))
    expect(parts[0]).toEqual({ name: 'file', filename: 'a talk.wav', type: 'audio/wav', size: recording.length, sha256: sha256(recording) })
  })

  test.each(['audio/wav', 'application/octet-stream', 'application/x-unheard-of'])('bytes of %s need no file name', async type => {
    const answer = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'multipart/form-data; boundary=XX' },
      body: Buffer.concat([
        Buffer.from('--XX\r\ncontent-disposition: form-data; name="model"\r\n\r\nopenai/sim\r\n'),
        Buffer.from('--XX\r\ncontent-disposition: form-data; name="include"\r\ncontent-type: application/json\r\n\r\n["é"]\r\n'),
        Buffer.from(`--XX\r\ncontent-disposition: form-data; name="file"\r\ncontent-type: ${type}\r\n\r\n`),
        recording,
        Buffer.from('\r\n--XX--\r\n'),
      ]),
    })
    expect(answer.status, await answer.text()).toBe(200)
    const parts = simulator.requests[0]?.parts ?? []
    expect(parts.map(({ name, filename, type }) => [name, filename, type])).toEqual([
      ['model', undefined, undefined],
      ['include', undefined, 'application/json'],
      ['file', undefined, type],
    ])
    expect(parts.slice(1).map(part => part.sha256)).toEqual([sha256(Buffer.from('["é"]')), sha256(recording)])
  })

  test.each(['text', 'srt', 'vtt'] as const)('%s is no JSON', async form => {
    const answer = await client.audio.transcriptions.create({ file: await file(), model: 'openai/sim', response_format: form })
    expect(typeof answer).toBe('string')
    expect(answer).toContain('The simulator answers')
  })

  test('JSON, and what it cost', async () => {
    const answer = await client.audio.transcriptions.create({ file: await file(), model: 'openai/sim' })
    expect(answer.text).toContain('The simulator answers')
    await usageOfLog().toMatchObject({ input: 12, output: 14 })
  })

  test('a streamed transcript', async () => {
    const events = []
    for await (const event of await client.audio.transcriptions.create({ file: await file(), model: 'openai/sim-5', stream: true }))
      events.push(event)
    expect(events.map(({ type }) => type)).toEqual([...Array(5).fill('transcript.text.delta'), 'transcript.text.done'])
    await usageOfLog().toMatchObject({ input: 12, output: 5 })
  })

  test('a transcript that breaks off is an error', async () => {
    const events: string[] = []
    const read = async (): Promise<void> => {
      const small = await toFile(Buffer.from('RIFF'), 'a.wav')
      for await (const event of await client.audio.transcriptions.create({ file: small, model: 'openai/sim-cut-2', stream: true }))
        events.push(event.type)
    }
    await expect(read()).rejects.toThrow()
    expect(events).not.toContain('transcript.text.done')
  })

  test('a form without a model, and JSON in its place', async () => {
    await expect(client.post('/audio/transcriptions', { body: { model: 'openai/sim' } })).rejects.toMatchObject({ status: 415 })
    const form = new FormData()
    form.set('file', new Blob(['x']), 'a.wav')
    const answer = await fetch(`${gateway.url}/v1/audio/transcriptions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}` },
      body: form,
    })
    expect([answer.status, ((await answer.json()) as { error: { param: string } }).error.param]).toEqual([400, 'model'])
    expect(simulator.requests).toEqual([])
  })

  test('translations', async () => {
    const answer = await client.audio.translations.create({ file: await file(), model: 'openai/sim', prompt: 'names' })
    expect(answer.text).toContain('The simulator answers')
    expect(simulator.requests[0]?.path).toBe('/v1/audio/translations')
    expect(simulator.requests[0]?.parts?.find(part => part.name === 'file')?.sha256).toBe(sha256(recording))
  })
})
