// Limits on a real port, with the official SDKs: what is admitted and refused, the errors, the headers, the settlement of
// streams, and the callers who are not affected.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { dialects } from '../engine/dialects.js'
import { ask, closing, dial, requestLines, SECRET, setUp } from '../engine/fake-upstreams.js'
import { chunk, json, type Script, startUpstream, streamHead } from '../engine/upstream.js'
import { KEY, simulated, startGateway, startSimulator } from '../harness.js'

const KEYS = { one: 'key-one', two: 'key-two' }

const openai = (url: string, apiKey = KEY, maxRetries = 0): OpenAI => new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries })
const anthropic = (url: string, apiKey = KEY, maxRetries = 0): Anthropic => new Anthropic({ apiKey, baseURL: url, maxRetries })

const hello = { model: 'openai/sim', messages: [{ role: 'user' as const, content: 'Hello' }] }
const helloThere = { model: 'anthropic/sim', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello' }] }

async function failure<Kind extends Error>(promise: Promise<unknown>, kind: new (...given: never[]) => Kind): Promise<Kind> {
  const thrown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(kind)
  return thrown as Kind
}

let simulator: Awaited<ReturnType<typeof startSimulator>>
beforeAll(async () => {
  simulator = await startSimulator({})
})
afterAll(() => simulator.close())

async function gatewayWith(more: Record<string, unknown>) {
  return closing(await startGateway({ ...simulated(simulator.url, ['sim', 'sim-64', 'sim-slow-9000ms', 'sim-status-500']), ...more }))
}

describe('requests', () => {
  test('over the limit of a key are refused in the words and headers of OpenAI', async () => {
    const { url } = await gatewayWith({ keys: [{ name: 'test', value: KEY, limits: { requests: '2/20m' } }] })
    const { response: first } = await openai(url).chat.completions.create(hello).withResponse()
    expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1')
    expect(first.headers.get('x-ratelimit-reset-requests')).toMatch(/^(10m0s|9m[\d.]+s)$/)
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBeNull()
    await openai(url).chat.completions.create(hello)
    const error = await failure(openai(url).chat.completions.create(hello), OpenAI.RateLimitError)
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'rate_limit_error' })
    expect(error.message).toMatch(/^429 Rate limit reached for this API key: 2 requests in 20m0s\. Try again in \d+s\.$/)
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(300)
    expect(Number(error.headers?.get('retry-after'))).toBeLessThanOrEqual(600)
    expect(error.headers?.get('x-ratelimit-remaining-requests')).toBe('0')
  })

  test('over the limit of a group are refused in the words and headers of Anthropic', async () => {
    const { url } = await gatewayWith({
      keys: [
        { name: 'one', value: KEYS.one, groups: ['default', 'students'] },
        { name: 'two', value: KEYS.two, groups: ['default', 'students'] },
        { name: 'test', value: KEY },
      ],
      groups: { students: { limits: { requests: '2/20m', tokens: '100000/24h' } } },
    })
    const { response } = await anthropic(url, KEYS.one).messages.create(helloThere).withResponse()
    expect(response.headers.get('anthropic-ratelimit-requests-limit')).toBe('2')
    expect(response.headers.get('anthropic-ratelimit-requests-remaining')).toBe('1')
    expect(response.headers.get('anthropic-ratelimit-requests-reset')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(Number(response.headers.get('anthropic-ratelimit-tokens-remaining'))).toBeLessThan(100_000)
    await anthropic(url, KEYS.two).messages.create(helloThere)
    const error = await failure(anthropic(url, KEYS.one).messages.create(helloThere), Anthropic.RateLimitError)
    expect(error).toMatchObject({ status: 429, error: { type: 'error', error: { type: 'rate_limit_error' } } })
    expect(error.message).toContain("Rate limit reached for the group 'students': 2 requests in 20m0s.")
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(300)
    // Another group's key is not meant.
    await anthropic(url).messages.create(helloThere)
  })

  test('that are refused are retried by the SDKs after `retry-after`', async () => {
    const { url, log } = await gatewayWith({ keys: [{ name: 'test', value: KEY, limits: { requests: '1/1s' } }] })
    await Promise.all([
      openai(url, KEY, 9).chat.completions.create(hello),
      openai(url, KEY, 9).chat.completions.create(hello),
      anthropic(url, KEY, 9).messages.create(helloThere),
    ])
    await expect.poll(() => log.filter(line => line.status === 200).length).toBe(3)
    expect(log.filter(line => line.status === 429).length).toBeGreaterThan(0)
  })

  test.each(Object.entries(dialects))('over the limit are refused in the words of %s', async (name, dialect) => {
    const { gateway } = await setUp([socket => json(socket, 500, {})], {
      keys: [{ name: 'test', value: KEY, limits: { requests: '1/1h' } }],
    })
    await (await ask(gateway, { dialect })).text()
    const refused = await ask(gateway, { dialect })
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000)
    const body = (await refused.json()) as { error: Record<string, unknown> }
    expect(body.error.message).toMatch(/^Rate limit reached for this API key: 1 requests in 1h0m0s\./)
    // The word of each API for this.
    const words: Record<string, object> = {
      chat: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      responses: { code: 'rate_limit_exceeded' },
      messages: { type: 'rate_limit_error' },
      generate: { code: 429, status: 'RESOURCE_EXHAUSTED' },
    }
    expect(body.error).toMatchObject(words[name] ?? {})
    const told = [...refused.headers.keys()].filter(header => header.includes('ratelimit'))
    expect(told.length).toBe(name === 'generate' ? 0 : 3)
  })

  test('for a model count whoever asks, and for no other model', async () => {
    const base = simulated(simulator.url, ['sim', 'sim-64']) as { models: Record<string, Record<string, unknown>> }
    base.models['openai/sim'] = { ...base.models['openai/sim'], limits: { requests: '1/1h', context: 1000 } }
    const { url } = await gatewayWith(base)
    await openai(url).chat.completions.create(hello)
    const error = await failure(openai(url).chat.completions.create(hello), OpenAI.RateLimitError)
    expect(error.message).toContain("the model 'openai/sim': 1 requests in 1h0m0s")
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(3_000)
    await openai(url).chat.completions.create({ ...hello, model: 'openai/sim-64' })
  })

  test('are limited by `key_limits` of the file, unless the group or the key overrides them', async () => {
    const { url } = await gatewayWith({
      keys: [
        { name: 'one', value: KEYS.one },
        { name: 'two', value: KEYS.two, groups: ['default', 'loose'] },
        { name: 'test', value: KEY, limits: { requests: 'none' } },
      ],
      groups: { loose: { key_limits: { requests: '2/1h' } } },
      key_limits: { requests: '1/1h' },
    })
    const served = async (key: string): Promise<number> => {
      let count = 0
      while (
        count < 4 &&
        (await openai(url, key)
          .chat.completions.create(hello)
          .then(
            () => true,
            () => false,
          ))
      )
        count++
      return count
    }
    expect([await served(KEYS.one), await served(KEYS.two), await served(KEY)]).toEqual([1, 2, 4])
  })

  test('over the limit are refused before their bodies are read, and the log names the limit', async () => {
    const gateway = await gatewayWith({ keys: [{ name: 'test', value: KEY, limits: { requests: '1/1h' } }] })
    await openai(gateway.url).chat.completions.create(hello)
    const wire = await dial(gateway)
    wire.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\n`)
    wire.write('content-length: 20000000\r\n\r\n{"model":')
    await wire.until(/^HTTP\/1\.1 429 [\s\S]*rate_limit_exceeded/)
    const lines = await requestLines(gateway, 2)
    expect(lines.at(-1)).toMatchObject({
      status: 429,
      error: { kind: 'rate_limit', cause: 'the limit key:test:requests:3600000 is reached' },
    })
  })

  test('keep their counts after a reload', async () => {
    const { url, rewrite } = await gatewayWith({ keys: [{ name: 'test', value: KEY, limits: { requests: '5/1h' } }] })
    await openai(url).chat.completions.create(hello)
    await rewrite({ keys: [{ name: 'test', value: KEY, limits: { requests: '2/1h' } }] })
    const { response } = await openai(url).chat.completions.create(hello).withResponse()
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('2')
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0')
    await failure(openai(url).chat.completions.create(hello), OpenAI.RateLimitError)
  })
})

describe('tokens', () => {
  const left = (response: Response): number => Number(response.headers.get('x-ratelimit-remaining-tokens'))
  const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 }
  const answer = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hi' } }],
    usage,
  }
  const event = (more: object): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], ...more })}\n\n`
  // So long a window that nothing comes back while a test runs.
  const keys = [{ name: 'test', value: KEY, limits: { tokens: '10000/99h' } }]
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] })
  const expected = Math.ceil(body.length / 4) + 1024

  test("are estimated, and settled by the answer's usage", async () => {
    const { gateway } = await setUp([socket => json(socket, 200, answer)], { keys })
    const first = await ask(gateway, { body })
    expect(left(first)).toBe(10_000 - expected)
    await first.text()
    expect(left(await ask(gateway, { body }))).toBe(10_000 - 12 - expected)
  })

  test('settle at the end of a stream, and while it runs others find the estimate taken', async () => {
    const { gateway } = await setUp(
      [
        (socket, request) => {
          if (!JSON.parse(request.body).stream) return json(socket, 200, answer)
          socket.write(streamHead + chunk(event({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' } }] })))
          const rest = [event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }), event({ usage }), 'data: [DONE]\n\n'].join('')
          finish = () => void socket.write(chunk(rest) + chunk(''))
        },
      ],
      { keys },
    )
    let finish = (): void => undefined
    const long = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x'.repeat(4000) }] })
    const streaming = await ask(gateway, { body: long, stream: true })
    const reserved = Math.ceil(long.length / 4) + 1024
    const before = await ask(gateway, { body })
    expect(left(before)).toBe(10_000 - reserved - expected)
    await before.text()
    finish()
    await streaming.text()
    // The estimate is back, both answers cost what they say.
    expect(left(await ask(gateway, { body }))).toBe(10_000 - 12 - 12 - expected)
  })

  test('that were used on top of the estimate are owed', async () => {
    const much = { ...answer, usage: { prompt_tokens: 9_000, completion_tokens: 5_000, total_tokens: 14_000 } }
    const { gateway } = await setUp([socket => json(socket, 200, much)], { keys })
    await (await ask(gateway, { body })).text()
    const refused = await ask(gateway, { body })
    expect(refused.status).toBe(429)
    expect(left(refused)).toBe(0)
    // 4,000 are owed, and those of this one: at 10,000 in 99 hours.
    const wait = ((4_000 + expected) / 10_000) * 99 * 3_600
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(wait - 60)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(Math.ceil(wait))
  })

  test('go back where the upstream fails, and stay where the client goes in the middle', async () => {
    let mode: 'fail' | 'hang' | 'answer' = 'fail'
    const { gateway } = await setUp(
      [
        socket => {
          if (mode === 'fail') json(socket, 400, { error: { message: 'no', type: 'invalid_request_error' } })
          else if (mode === 'answer') json(socket, 200, answer)
          else socket.write(streamHead + chunk(event({ choices: [{ index: 0, delta: { content: 'Hi' } }] })))
        },
      ],
      { keys },
    )
    expect((await ask(gateway, { body })).status).toBe(400)
    mode = 'hang'
    const gone = new AbortController()
    const long = JSON.stringify({ ...JSON.parse(body), stream: true })
    const streaming = await ask(gateway, { body: long, signal: gone.signal })
    expect(left(streaming)).toBe(10_000 - Math.ceil(long.length / 4) - 1024)
    gone.abort()
    mode = 'answer'
    await expect.poll(async () => left(await ask(gateway, { body }))).toBeLessThanOrEqual(10_000 - 2 * expected)
  })

  test('of requests and answers are limited apart, too', async () => {
    const { url } = await gatewayWith({
      keys: [{ name: 'test', value: KEY, limits: { input_tokens: '5000/99h', output_tokens: '3000/99h' } }],
    })
    const { response } = await anthropic(url).messages.create(helloThere).withResponse()
    expect(response.headers.get('anthropic-ratelimit-input-tokens-limit')).toBe('5000')
    expect(response.headers.get('anthropic-ratelimit-output-tokens-limit')).toBe('3000')
    // What it may be at most was asked for.
    expect(response.headers.get('anthropic-ratelimit-output-tokens-remaining')).toBe('2900')
  })
})

describe('requests under way', () => {
  test('is limited for a key, and has room again when a stream ends, breaks or is left', async () => {
    const sockets: { destroy(): void }[] = []
    const { gateway } = await setUp(
      [
        socket => {
          sockets.push(socket)
          socket.write(streamHead + chunk(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'Hi' } }] })}\n\n`))
        },
      ],
      { keys: [{ name: 'test', value: KEY, limits: { in_flight: 2 } }] },
    )
    const gone = new AbortController()
    await ask(gateway, { stream: true, signal: gone.signal })
    const second = await ask(gateway, { stream: true })
    const third = await ask(gateway, { stream: true })
    expect(third.status).toBe(429)
    expect(third.headers.get('retry-after')).toBe('1')
    expect(await third.json()).toMatchObject({
      error: { message: 'Rate limit reached for this API key: 2 requests at a time. Try again in 1s.', code: 'rate_limit_exceeded' },
    })
    gone.abort()
    const status = async (): Promise<number> => (await ask(gateway, { stream: true })).status
    await expect.poll(status).toBe(200)
    expect(await status()).toBe(429)
    sockets[1]?.destroy()
    await second.text()
    await expect.poll(status).toBe(200)
    expect(await status()).toBe(429)
  })

  test('at an upstream at its limit go to the next target, without ejection; if all are at their limits, callers get 429', async () => {
    const ends: (() => void)[] = []
    const begin: Script = socket => {
      socket.write(streamHead + chunk(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'Hi' } }] })}\n\n`))
      ends.push(() => void socket.write(chunk('data: [DONE]\n\n') + chunk('')))
    }
    const [one, two] = [closing(await startUpstream(begin)), closing(await startUpstream(begin))]
    const upstream = ({ url }: { url: string }) => ({
      provider: 'openai',
      base: url,
      secret: SECRET,
      limits: { in_flight: 1, connect: '2s' },
    })
    const gateway = closing(
      await startGateway({
        upstreams: { one: upstream(one), two: upstream(two) },
        models: {
          m: { targets: [{ upstream: 'one' }, { upstream: 'two', priority: 2 }] },
          other: { targets: [{ upstream: 'one' }] },
        },
      }),
    )
    const first = await ask(gateway, { stream: true })
    const second = await ask(gateway, { stream: true })
    const third = await ask(gateway, { stream: true })
    expect([first.status, second.status, third.status]).toEqual([200, 200, 429])
    expect([one.requests.length, two.requests.length]).toEqual([1, 1])
    expect(third.headers.get('retry-after')).toBe('1')
    expect(await third.json()).toMatchObject({ error: { message: 'The upstreams of this model are at their limits. Try again in 1s.' } })
    // The upstream's limit is one for all of its models.
    expect((await ask(gateway, { stream: true, model: 'other' })).status).toBe(429)
    ends[0]?.()
    await first.text()
    const again = await ask(gateway, { stream: true })
    expect(again.status).toBe(200)
    expect([one.requests.length, two.requests.length]).toEqual([2, 1])
    const lines = await requestLines(gateway, 3)
    expect(lines.find(line => line.status === 429)).toMatchObject({
      failed: [
        { target: 'one/m', kind: 'rate_limit', cause: 'the upstream one is at its limit: 1 requests at a time' },
        { target: 'two/m', kind: 'rate_limit', cause: 'the upstream two is at its limit: 1 requests at a time' },
      ],
    })
  })
})

test('a socket is under way as long as it is open, and what it uses counts while it is', async () => {
  const server = createServer()
  const sockets = new WebSocketServer({ server, handleProtocols: () => 'realtime' })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const gateway = closing(
    await startGateway({
      keys: [{ name: 'test', value: KEY, limits: { in_flight: 1, tokens: '10000/1h' } }],
      upstreams: { up: { provider: 'openai', base: `http://127.0.0.1:${port}`, secret: SECRET } },
      models: { m: { targets: [{ upstream: 'up' }] } },
    }),
  )
  const connect = (): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=m`, {
        headers: { authorization: `Bearer ${KEY}` },
      })
      socket.once('open', () => resolve(socket))
      socket.once('unexpected-response', (_, response) => reject(new Error(String(response.statusCode))))
      socket.once('error', reject)
    })
  const first = await connect()
  await expect(connect()).rejects.toThrow('429')
  const usage = { total_tokens: 9_500, input_tokens: 9_000, output_tokens: 500 }
  const frames: string[] = []
  first.on('message', data => frames.push(String(data)))
  for (const socket of sockets.clients) socket.send(JSON.stringify({ type: 'response.done', response: { id: 'r', usage } }))
  await expect.poll(() => frames.length).toBe(1)
  // Both limits are in the way now, and the one of tokens for longer.
  await expect(connect()).rejects.toThrow('429')
  const messages = (): string[] => gateway.log.map(line => String((line.error as { message?: string } | undefined)?.message))
  await expect.poll(messages).toContainEqual(expect.stringContaining('this API key: 10000 tokens in 1h0m0s'))
  first.close()
  for (const socket of sockets.clients) socket.terminate()
  await new Promise(done => server.close(done))
})
