// The five deadlines, with upstreams that are late in every possible way. Each limit is set alone, so that it is the one that
// ends the call.

import { describe, expect, test } from 'vitest'
import { eventsIn, PAIRS, type Pair } from './dialects.js'
import { ask, closing, requestLines, settle, setUp, setUpPair, sleep } from './fake-upstreams.js'
import { chunk, endless, json, type Script, startUnreachable, startUpstream, streamHead, trickle } from './upstream.js'

const LIMIT = 300
const limits = (...names: string[]): Record<string, unknown> => ({ limits: Object.fromEntries(names.map(name => [name, `${LIMIT}ms`])) })

/** For what is to keep them: wide enough that a machine that is busy with something else does. */
const WIDE = 3_000
const wide = (...names: string[]): Record<string, unknown> => ({ limits: Object.fromEntries(names.map(name => [name, `${WIDE}ms`])) })

async function timed<Result>(run: () => Promise<Result>): Promise<{ result: Result; took: number }> {
  const began = performance.now()
  return { result: await run(), took: performance.now() - began }
}

/** In time: not before the limit, and not much later. */
function expectInTime(took: number, limit = LIMIT): void {
  expect(took).toBeGreaterThanOrEqual(limit)
  expect(took).toBeLessThan(limit + 20_000)
}

const half = (body: unknown): string => {
  const text = JSON.stringify(body)
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text.slice(0, text.length / 2)}`
}

describe.concurrent.each(PAIRS)('%s', (_name, pair) => {
  const { client, upstream } = pair

  const late = async (script: Script, limit: string, stream: boolean): Promise<void> => {
    const { gateway, upstreams } = await setUpPair(pair, [script], limits(limit))
    const { result, took } = await timed(() => ask(gateway, { dialect: client, stream }))
    expect(result.status).toBe(504)
    expectInTime(took)
    expect(client.wordOf(await result.json())).toMatch(/^(timeout_error|DEADLINE_EXCEEDED)$/)
    // The call is given up, not left to itself.
    expect(await settle(() => upstreams[0]?.closed(), 1)).toBe(1)
  }

  test.each([false, true])('headers: ends an upstream that does not answer (stream: %s)', stream =>
    late(() => undefined, 'headers', stream),
  )

  test('first_event: ends a stream that never begins', () => late(socket => socket.write(streamHead), 'first_event', true))

  test('first_event: ends a stream of comments only', () =>
    late(
      socket => {
        socket.write(streamHead)
        void trickle(socket, endless(chunk(': still here\n\n')), 50)
      },
      'first_event',
      true,
    ))

  test('idle: ends an answer that stops in the middle', () => late(socket => socket.write(half(upstream.answer)), 'idle', false))

  const endsInBand = async (script: Script, limit: string, time = LIMIT): Promise<void> => {
    const { gateway, upstreams } = await setUpPair(pair, [script], { limits: { [limit]: `${time}ms` } })
    const { result, took } = await timed(async () => (await ask(gateway, { dialect: client, stream: true })).text())
    expectInTime(took, time)
    expect(result).toContain('"Hi"')
    // Where an error is followed by the answer that failed, the first of them has the word.
    const words = eventsIn(result)
      .slice(-2)
      .map(data => client.wordOf(JSON.parse(data)))
    expect(words).toContainEqual(expect.stringMatching(/^(timeout_error|DEADLINE_EXCEEDED)$/))
    expect(result).not.toMatch(client.proof)
    expect(await settle(() => upstreams[0]?.closed(), 1)).toBe(1)
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ status: 200, partial: true, error: { kind: 'timeout' } })
  }

  test('idle: ends a silent stream', () =>
    endsInBand(socket => socket.write(streamHead + chunk(upstream.begin + upstream.text('Hi'))), 'idle'))

  test('total: ends an endless stream', () =>
    endsInBand(
      socket => {
        socket.write(streamHead + chunk(upstream.begin))
        void trickle(socket, endless(chunk(upstream.text('Hi'))), 30)
      },
      'total',
      WIDE,
    ))

  test('total: ends an answer that comes byte by byte', () =>
    late(
      socket => {
        socket.write(half(upstream.answer))
        void trickle(socket, endless(' '), 50)
      },
      'total',
      false,
    ))
})

const chat = PAIRS[0]?.[1] as Pair

describe.concurrent('the limit on connecting', () => {
  test.each([false, true])('ends an attempt at an address that never accepts (stream: %s)', async stream => {
    const { gateway } = await setUp([closing(await startUnreachable())], limits('connect'))
    const { result, took } = await timed(() => ask(gateway, { stream }))
    expect(result.status).toBe(504)
    expectInTime(took)
    expect(await result.json()).toMatchObject({ error: { type: 'timeout_error', message: expect.stringContaining('reached') } })
  })

  test('leads to the next target, and to an ejection after three failures in a row', async () => {
    const { gateway } = await setUp(
      [closing(await startUnreachable()), socket => json(socket, 200, chat.upstream.answer)],
      limits('connect'),
    )
    for (let index = 0; index < 3; index++) {
      const { result, took } = await timed(() => ask(gateway))
      expect(result.status).toBe(200)
      expectInTime(took)
    }
    expect((await ask(gateway)).status).toBe(200)
    // One attempt is not counted in the log.
    const lines = await requestLines(gateway, 4)
    expect(lines.map(({ target, attempts }) => [target, attempts])).toEqual([
      ['up1/m', 2],
      ['up1/m', 2],
      ['up1/m', 2],
      ['up1/m', undefined],
    ])
  })

  test('does not delay the failure of an address without a listener', async () => {
    const { gateway, upstreams } = await setUp([() => undefined])
    await upstreams[0]?.close()
    const { result, took } = await timed(() => ask(gateway))
    expect(result.status).toBe(502)
    expect(took).toBeLessThan(20_000)
  })
})

describe.concurrent('a deadline', () => {
  const { upstream } = chat

  test('does not end a stream whose events come in time, however long it takes', async () => {
    const { gateway } = await setUp(
      [
        socket => {
          const parts = Array.from({ length: 12 }, () => chunk(upstream.text('Hi')))
          void trickle(socket, [streamHead, ...parts, chunk(upstream.end), chunk('')], WIDE / 4)
        },
      ],
      wide('idle', 'first_event'),
    )
    const { result, took } = await timed(async () => (await ask(gateway, { stream: true })).text())
    expect(took).toBeGreaterThan(3 * WIDE)
    expect(eventsIn(result).at(-1)).toBe('[DONE]')
  })

  test('does not end an answer whose bytes come in time', async () => {
    const text = JSON.stringify(upstream.answer)
    const { gateway } = await setUp(
      [
        socket => {
          const parts = text.match(new RegExp(`.{1,${Math.ceil(text.length / 12)}}`, 'g')) as string[]
          void trickle(socket, [`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n`, ...parts], WIDE / 4)
        },
      ],
      wide('idle'),
    )
    const { result, took } = await timed(async () => (await ask(gateway)).json())
    expect(took).toBeGreaterThan(2 * WIDE)
    expect(result).toEqual(upstream.answer)
  })

  test('counts separately for headers and events, and for each target', async () => {
    const slow: Script = socket => void trickle(socket, ['', streamHead, chunk(upstream.begin), chunk(upstream.end), chunk('')], 0.6 * WIDE)
    const { gateway } = await setUp([() => undefined, slow], wide('headers', 'first_event', 'idle'))
    const text = await (await ask(gateway, { stream: true })).text()
    expect(eventsIn(text).at(-1)).toBe('[DONE]')
  })

  test('`total` counts for all targets together', async () => {
    const silent: Script = () => undefined
    const { gateway, upstreams } = await setUp([silent, silent, silent, silent], { limits: { headers: '1200ms', total: '3s' } })
    const { result, took } = await timed(() => ask(gateway))
    expect(result.status).toBe(504)
    expectInTime(took, 3_000)
    expect(upstreams.map(({ requests }) => requests.length)).toEqual([1, 1, 1, 0])
  })

  test('of an upstream replaces that of the gateway', async () => {
    const base = closing(await startUpstream(() => undefined)).url
    const { gateway } = await setUp([], {
      upstreams: {
        quick: { provider: 'openai', base, secret: 'none', limits: { headers: '300ms' } },
        slow: { provider: 'openai', base, secret: 'none', limits: { headers: '900ms' } },
      },
      models: { quick: { targets: [{ upstream: 'quick' }] }, slow: { targets: [{ upstream: 'slow' }] } },
      limits: { headers: '20s' },
    })
    const [quick, slow] = await Promise.all(['quick', 'slow'].map(model => timed(() => ask(gateway, { model }))))
    expect([quick?.result.status, slow?.result.status]).toEqual([504, 504])
    expectInTime(quick?.took as number, 300)
    expectInTime(slow?.took as number, 900)
    expect(quick?.took).toBeLessThan(slow?.took as number)
  })

  test('does not count the time of a slow client', async () => {
    // Much more than sockets hold, so that the upstream is paused while the client reads nothing.
    const piece = chunk(upstream.text('x'.repeat(100_000)))
    const { gateway } = await setUp(
      [
        socket => {
          socket.write(streamHead)
          for (let count = 0; count < 200; count++) socket.write(piece)
          socket.write(chunk(upstream.end) + chunk(''))
        },
      ],
      wide('idle'),
    )
    const response = await ask(gateway, { stream: true })
    await sleep(2 * WIDE)
    const text = await response.text()
    expect(text.length).toBeGreaterThan(20_000_000)
    expect(eventsIn(text.slice(-200)).at(-1)).toBe('[DONE]')
  })
})

test('an error with an endless body is reported by its status', async () => {
  const { gateway, upstreams } = await setUp(
    [socket => socket.write('HTTP/1.1 503 X\r\ncontent-length: 1000\r\n\r\n{"error":'), socket => json(socket, 200, chat.upstream.answer)],
    limits('first_event', 'idle'),
  )
  const { result, took } = await timed(() => ask(gateway))
  expect(result.status).toBe(200)
  expectInTime(took)
  expect(upstreams.map(({ requests }) => requests.length)).toEqual([1, 1])
})
