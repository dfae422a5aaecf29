// Retries: how often, for which failures, and after which waits; and hedges, a second target beside a slow first one.

import { describe, expect, test } from 'vitest'
import { RetryBudget } from '../../engine/balance/retry-budget.js'
import { dialects } from './dialects.js'
import { ask, requestLines, settle } from './fake-upstreams.js'
import { routed } from './routed.js'
import { chunk, json, type Script, stream, streamHead } from './upstream.js'

const { chat } = dialects
const good: Script = socket => json(socket, 200, chat.answer)
const silent: Script = () => undefined
const failing =
  (status: number, extra = ''): Script =>
  socket =>
    json(socket, status, chat.error, extra)
const inTurn = (...scripts: Script[]): Script => {
  let count = 0
  return (socket, request) => scripts[Math.min(count++, scripts.length - 1)]?.(socket, request)
}
const never = { health: { consecutive_failures: 'none', failure_percentage_threshold: 'none' } }
const quick = { back_off: { base_interval: '20ms', max_interval: '2s' } }

describe.concurrent('the only target', () => {
  test('is tried once by default', async () => {
    const { gateway, counts } = await routed({ a: { script: failing(500) } })
    expect((await ask(gateway)).status).toBe(500)
    expect(counts()).toEqual({ a: 1 })
  })

  test('is retried up to `attempts`, and each attempt is in the log', async () => {
    const { gateway, counts } = await routed({ a: { script: failing(503) } }, { retry: { attempts: 3, ...quick } })
    expect((await ask(gateway)).status).toBe(503)
    expect(counts()).toEqual({ a: 3 })
    expect((await requestLines(gateway))[0]).toMatchObject({
      attempts: 3,
      failed: [{ status: 503 }, { status: 503 }],
      upstream: { status: 503 },
    })
  })

  test('is retried until it answers', async () => {
    const script = inTurn(failing(500), socket => socket.destroy(), good)
    const { gateway, counts } = await routed({ a: { script } }, { retry: { attempts: 5, ...quick } })
    expect((await ask(gateway)).status).toBe(200)
    expect(counts()).toEqual({ a: 3 })
  })

  test('is retried only after its retry-after, in seconds or as a date', async () => {
    for (const later of [() => '1', () => new Date(Date.now() + 2_000).toUTCString()]) {
      let first = 0
      let waited = 0
      const refuse: Script = socket => {
        first = Date.now()
        json(socket, 429, chat.error, `retry-after: ${later()}\r\n`)
      }
      const script = inTurn(refuse, socket => {
        waited = Date.now() - first
        json(socket, 200, chat.answer)
      })
      const { gateway } = await routed({ a: { script } }, { retry: { attempts: 2, back_off: { max_interval: '5s' } } })
      expect((await ask(gateway)).status).toBe(200)
      // A date has no parts of a second; timers are swept.
      expect(waited).toBeGreaterThan(500)
    }
  })

  test('is not retried if its retry-after is longer than the longest interval', async () => {
    const { gateway, counts } = await routed({ a: { script: failing(429, 'retry-after: 60\r\n') } }, { retry: { attempts: 3, ...quick } })
    const response = await ask(gateway)
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60'])
    expect(counts()).toEqual({ a: 1 })
  })

  test('is not retried for a client that disconnected', async () => {
    const retry = { attempts: 9, back_off: { max_interval: '5m' } }
    const { gateway, counts } = await routed({ a: { script: failing(500, 'retry-after: 60\r\n') } }, { retry })
    const gone = new AbortController()
    const asked = ask(gateway, { signal: gone.signal }).catch(() => undefined)
    await settle(() => counts().a, 1)
    gone.abort()
    await asked
    expect((await requestLines(gateway))[0]).toMatchObject({ status: 499 })
    expect(counts()).toEqual({ a: 1 })
  })
})

describe.concurrent('the next target', () => {
  test.for<[string, object, Script, boolean]>([
    ['a kind that `on` names', { on: ['rate_limit'] }, failing(429), true],
    ['a kind that `on` does not name', { on: ['rate_limit'] }, failing(500), false],
    ['a failure with an empty `on`', { on: [] }, failing(500), false],
    ['a body that is too large, if `on` names that', { on: ['too_large'] }, failing(413), true],
    ['a refusal of the gateway’s own key', {}, failing(401), true],
    [
      'a refusal of a content filter',
      {},
      socket => json(socket, 400, { error: { message: 'Filtered.', type: 'invalid_request_error', code: 'content_filter', param: null } }),
      false,
    ],
  ])('is tried or not after %s', async ([, retry, script, movesOn]) => {
    const { gateway, counts } = await routed({ a: { script }, b: { script: good, target: { priority: 2 } } }, { retry })
    expect((await ask(gateway)).status === 200).toBe(movesOn)
    expect(counts()).toEqual({ a: 1, b: movesOn ? 1 : 0 })
  })

  test('is not tried after `attempts`', async () => {
    const target = (priority: number): object => ({ priority })
    const { gateway, counts } = await routed(
      { a: { script: failing(500) }, b: { script: failing(502), target: target(2) }, c: { script: good, target: target(3) } },
      { retry: { attempts: 2 } },
    )
    expect((await ask(gateway)).status).toBe(502)
    expect(counts()).toEqual({ a: 1, b: 1, c: 0 })
  })

  test('is not tried once the retry budget is spent, and the log says so', async () => {
    const { gateway, counts } = await routed(
      { a: { script: failing(500), upstream: never }, b: { script: good, target: { priority: 2 } } },
      { retry: { budget: { percent: 55, min_per_second: 0 } } },
    )
    const statuses: number[] = []
    for (let count = 0; count < 6; count++) statuses.push((await ask(gateway)).status)
    expect(statuses).toEqual([500, 200, 500, 200, 500, 200])
    expect(counts()).toEqual({ a: 6, b: 3 })
    const [first] = await requestLines(gateway, 6)
    expect(first?.failed).toEqual([expect.objectContaining({ target: 'a/m', cause: expect.stringContaining('retry budget') })])
  })

  test('is tried without a limit if `budget` is none', async () => {
    const { gateway, counts } = await routed(
      { a: { script: failing(500), upstream: never }, b: { script: good, target: { priority: 2 } } },
      { retry: { budget: 'none' } },
    )
    for (let count = 0; count < 150; count++) expect((await ask(gateway)).status).toBe(200)
    expect(counts()).toEqual({ a: 150, b: 150 })
  })
})

describe('a retry budget', () => {
  test('has its reserve at once, and a share of further requests', () => {
    const budget = new RetryBudget({ percent: 20, minPerSecond: 1 })
    const taken = (): number => {
      let count = 0
      while (budget.take()) count++
      return count
    }
    expect(taken()).toBe(10)
    budget.requests = 100
    // What was paid in is forgotten bit by bit.
    expect([19, 20]).toContain(taken())
    expect(taken()).toBe(0)
  })
})

describe.concurrent('a hedge', () => {
  const hedge = { after: '100ms' }

  test('is called if the first target is slow, which is cancelled and stays in the log', async () => {
    const { gateway, counts, upstreams } = await routed(
      { a: { script: silent }, b: { script: good, target: { priority: 2 } } },
      { hedge },
      { expose: ['target', 'attempts'] },
    )
    const response = await ask(gateway)
    expect(response.status).toBe(200)
    expect([response.headers.get('x-sluice-target'), response.headers.get('x-sluice-attempts')]).toEqual(['b/m', '2'])
    expect(counts()).toEqual({ a: 1, b: 1 })
    await settle(() => upstreams.a?.closed(), 1)
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({
      level: 30,
      attempts: 2,
      target: 'b/m',
      cancelled: [{ target: 'a/m' }],
      usage: { input: expect.any(Number) },
    })
    expect(line).not.toHaveProperty('failed')
  })

  test('is not called if the first target is fast', async () => {
    const { gateway, counts } = await routed(
      { a: { script: good }, b: { script: good, target: { priority: 2 } } },
      { hedge: { after: '30s' } },
    )
    expect((await ask(gateway)).status).toBe(200)
    expect(counts()).toEqual({ a: 1, b: 0 })
  })

  test('of a stream is called if no event has come, and its answer is complete', async () => {
    const head: Script = socket => socket.write(streamHead)
    const { gateway, counts, upstreams } = await routed(
      { a: { script: head }, b: { script: stream(chat.begin + chat.text('Hi'), chat.end), target: { priority: 2 } } },
      { hedge },
    )
    const text = await (await ask(gateway, { stream: true })).text()
    expect(text).toContain('"Hi"')
    expect(text).toMatch(chat.proof)
    expect(counts()).toEqual({ a: 1, b: 1 })
    await settle(() => upstreams.a?.closed(), 1)
  })

  test('that fails leaves the first to answer', async () => {
    let release: (() => void) | undefined
    const slow: Script = socket => {
      release = () => json(socket, 200, chat.answer)
    }
    const hedging: Script = socket => {
      json(socket, 500, chat.error)
      release?.()
    }
    const { gateway, counts } = await routed({ a: { script: slow }, b: { script: hedging, target: { priority: 2 } } }, { hedge })
    const response = await ask(gateway)
    expect(response.status).toBe(200)
    await response.text()
    expect(counts()).toEqual({ a: 1, b: 1 })
    expect((await requestLines(gateway))[0]).toMatchObject({ attempts: 2, target: 'a/m', failed: [{ target: 'b/m', status: 500 }] })
  })

  test('that fails like the first results in one error', async () => {
    let release: (() => void) | undefined
    const { gateway, counts } = await routed(
      {
        a: { script: socket => void (release = () => json(socket, 503, chat.error)) },
        b: {
          script: socket => {
            json(socket, 500, chat.error)
            release?.()
          },
          target: { priority: 2 },
        },
      },
      { hedge },
    )
    expect((await ask(gateway)).status).toBeGreaterThanOrEqual(500)
    expect(counts()).toEqual({ a: 1, b: 1 })
    expect((await requestLines(gateway))[0]).toMatchObject({ attempts: 2 })
  })

  test('is cancelled when its client disconnects', async () => {
    const { gateway, counts, upstreams } = await routed(
      { a: { script: silent }, b: { script: silent, target: { priority: 2 } } },
      { hedge },
    )
    const gone = new AbortController()
    const asked = ask(gateway, { signal: gone.signal }).catch(() => undefined)
    await settle(() => counts().b, 1)
    gone.abort()
    await asked
    await settle(() => (upstreams.a?.closed() ?? 0) + (upstreams.b?.closed() ?? 0), 2)
    expect((await requestLines(gateway))[0]).toMatchObject({ status: 499 })
  })

  test('that was faster is not retried if its stream breaks', async () => {
    const breaks: Script = socket => void socket.write(streamHead + chunk(chat.begin + chat.text('Hi')), () => socket.destroy())
    const { gateway, counts } = await routed(
      { a: { script: silent }, b: { script: breaks, target: { priority: 2 } }, c: { script: good, target: { priority: 3 } } },
      { hedge },
    )
    const text = await (await ask(gateway, { stream: true })).text()
    expect(text).toContain('"Hi"')
    expect(text).not.toMatch(chat.proof)
    expect(counts()).toEqual({ a: 1, b: 1, c: 0 })
  })

  test('holds its slot at the upstream until the answer is complete, and the loser returns its own', async () => {
    const concurrency = { max_requests: 1 }
    const { gateway, counts } = await routed(
      {
        a: { script: silent, upstream: { concurrency } },
        b: { script: good, target: { priority: 2 }, upstream: { concurrency } },
      },
      { hedge },
    )
    for (let count = 1; count <= 3; count++) {
      expect((await ask(gateway)).status).toBe(200)
      expect(counts()).toEqual({ a: count, b: count })
    }
  })
})
