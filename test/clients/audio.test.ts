// The official OpenAI client, audio: sound that is made, and recordings that are sent.

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'

const NAMES = ['sim', 'sim-5', 'sim-40', 'sim-3m', 'sim-100m', 'sim-3m-cut-1', 'sim-cut-2', 'sim-status-400', 'sim-status-401']
const { content, digestOf } = await import('../../cli/simulator/content.js')
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
  await gateway.close()
  await simulator.close()
})

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const usageOfLog = () => expect.poll(() => gateway.log.find(line => line.msg === 'request')?.usage)

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
  })

  test('sound that breaks off does not look finished', async () => {
    const answer = await speak('sim-3m-cut-1')
    await expect(answer.arrayBuffer()).rejects.toThrow()
  })

  test('errors are JSON, before any sound', async () => {
    await expect(speak('sim-status-400')).rejects.toMatchObject({ status: 400, type: 'invalid_request_error' })
    await expect(speak('sim-status-401')).rejects.toMatchObject({ status: 502 })
    await expect(speak('sim', { input: 'x'.repeat(4097) })).rejects.toMatchObject({ status: 400, param: 'input' })
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

describe('100 MB through a gateway of its own process', () => {
  const SIZE = 100_000_000
  const ALLOWED = 50 * 1024 * 1024
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  let child: ChildProcess
  let url: string
  let idle: number
  let most: number
  let watching: NodeJS.Timeout

  /** The memory of the gateway, in bytes, by the system's own figures. */
  const resident = (): number => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024

  beforeAll(async () => {
    const path = join(folder, 'gateway.yaml')
    writeFileSync(
      path,
      dump({ listen: '127.0.0.1:0', keys: [{ name: 'test', value: KEY }], ...simulated(simulator.url, ['sim', 'sim-100m'], ['openai']) }),
    )
    child = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js'), 'start', '--config', path])
    url = await new Promise<string>(resolve => {
      child.stdout?.on('data', part => {
        const found = /"url":"([^"]+)"/.exec(String(part))?.[1]
        if (found) resolve(found)
      })
    })
    // What every process needs for its first exchanges is not what a large one needs.
    const own = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 })
    for (let count = 0; count < 5; count++) {
      await own.audio.transcriptions.create({ model: 'openai/sim', file: await toFile(randomBytes(4_000_000), 'a.wav') })
      await (await own.audio.speech.create({ model: 'openai/sim', input: 'x', voice: 'alloy' })).arrayBuffer()
    }
  })
  beforeEach(() => {
    idle = resident()
    most = idle
    watching = setInterval(() => {
      most = Math.max(most, resident())
    }, 20)
  })
  afterAll(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  const grown = (): number => {
    clearInterval(watching)
    return Math.max(most, resident()) - idle
  }

  test('up: the upload is relayed, not held', async () => {
    const boundary = 'a-boundary-of-the-test'
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="model"\r\n\r\nopenai/sim\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="long.wav"\r\ncontent-type: audio/wav\r\n\r\n`
    const tail = `\r\n--${boundary}--\r\n`
    const answer = await new Promise<{ status: number; body: string }>((resolve, reject) => {
      const call = request(
        `${url}/v1/audio/transcriptions`,
        {
          method: 'POST',
          headers: {
            authorization: `Bearer ${KEY}`,
            'content-type': `multipart/form-data; boundary=${boundary}`,
            'content-length': head.length + SIZE + tail.length,
          },
        },
        response => {
          let body = ''
          response.on('data', part => {
            body += String(part)
          })
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
        },
      )
      call.on('error', reject)
      const send = async (): Promise<void> => {
        call.write(head)
        for (const piece of content(SIZE)) if (!call.write(piece)) await new Promise(done => call.once('drain', done))
        call.end(tail)
      }
      void send()
    })
    expect(answer.status, answer.body).toBe(200)
    expect(JSON.parse(answer.body).received).toEqual({ filename: 'long.wav', size: SIZE, sha256: digestOf(SIZE) })
    expect(grown()).toBeLessThan(ALLOWED)
  })

  test('down: a slow reader makes the provider wait', async () => {
    const hash = createHash('sha256')
    let length = 0
    const answer = await fetch(`${url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/sim-100m', input: 'x', voice: 'alloy' }),
    })
    expect(answer.headers.get('content-length')).toBe(String(SIZE))
    // Nothing is read for a while: what has come by then must wait elsewhere.
    await new Promise(done => setTimeout(done, 1000))
    for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) {
      hash.update(piece)
      length += piece.length
    }
    expect(length).toBe(SIZE)
    expect(hash.digest('hex')).toBe(digestOf(SIZE))
    expect(grown()).toBeLessThan(ALLOWED)
  })
})
