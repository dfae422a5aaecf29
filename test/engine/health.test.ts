// Ejection, trials and return; slots at an upstream, and requests that wait for one. Real sockets, no fixed waits.

import { describe, expect, test } from 'vitest'
import { Concurrency } from '../../engine/balance/concurrency.js'
import { Health, type HealthConfig } from '../../engine/balance/health.js'
import type { Exchange } from '../../engine/core/exchange.js'
import { dialects } from './dialects.js'
import { type Asked, ask, requestLines, settle } from './fake-upstreams.js'
import { routed } from './routed.js'
import { chunk, json, type Script, stream, streamHead } from './upstream.js'

const { chat } = dialects
const good: Script = socket => json(socket, 200, chat.answer)
const failing: Script = socket => json(socket, 500, chat.error)

/** Answers each request by the next of some scripts; the last one repeats. */
const inTurn = (...scripts: Script[]): Script => {
  let count = 0
  return (socket, request) => scripts[Math.min(count++, scripts.length - 1)]?.(socket, request)
}

const statuses = async (gateway: { url: string }, times: number, asked: Asked = {}): Promise<number[]> => {
  const found: number[] = []
  for (let count = 0; count < times; count++) {
    const response = await ask(gateway, asked)
    await response.text()
    found.push(response.status)
  }
  return found
}

describe.concurrent('a target is ejected', () => {
  test('after the configured number of failures in a row, by default three', async () => {
    const { gateway, counts } = await routed({ a: { script: failing }, b: { script: good, target: { priority: 2 } } })
    expect(await statuses(gateway, 5)).toEqual([200, 200, 200, 200, 200])
    expect(counts()).toEqual({ a: 3, b: 5 })
  })

  test('after failures in a row since the last success', async () => {
    const script = inTurn(failing, failing, good, failing, failing, good)
    const { gateway, counts } = await routed({ a: { script }, b: { script: good, target: { priority: 2 } } })
    await statuses(gateway, 6)
    expect(counts()).toEqual({ a: 6, b: 4 })
  })

  test('after failures in a row, whatever the gateway answered without it in between', async () => {
    const { gateway, counts } = await routed({ a: { script: failing }, b: { script: good, target: { priority: 2 } } })
    // A model that a client of Ollama loads is loaded anyway: no provider is asked.
    const load = async (): Promise<unknown> => {
      const { headers } = chat
      const answer = await fetch(`${gateway.url}/api/chat`, { method: 'POST', headers, body: '{"model":"m","messages":[],"stream":false}' })
      return ((await answer.json()) as { done_reason?: string }).done_reason
    }
    await statuses(gateway, 2)
    expect(await load()).toBe('load')
    expect(await statuses(gateway, 2)).toEqual([200, 200])
    expect(counts()).toEqual({ a: 3, b: 4 })
  })

  test('for its share of failures, once there are enough requests', async () => {
    const health = { consecutive_failures: 'none', failure_percentage_threshold: 50, failure_percentage_request_volume: 6 }
    const script = inTurn(failing, good, failing, good, failing, good, failing)
    const { gateway, counts } = await routed({ a: { script, upstream: { health } }, b: { script: good, target: { priority: 2 } } })
    await statuses(gateway, 9)
    // The seventh is the fourth failure of seven.
    expect(counts()).toEqual({ a: 7, b: 6 })
  })

  const cut: Script = socket => {
    socket.write(streamHead + chunk(chat.begin + chat.text('Hi')))
    socket.destroySoon()
  }
  const unfinished: Script = socket => {
    socket.write(streamHead + chunk(chat.begin + chat.text('Hi')) + chunk(''))
  }
  test.each([
    ['that passed, by the connection', cut, dialects.chat],
    ['that were translated, by the connection', cut, dialects.messages],
    ['that passed, without their end', unfinished, dialects.chat],
    ['that were translated, without their end', unfinished, dialects.messages],
  ])('after streams were broken off %s', async (_name, script, dialect) => {
    const { gateway, counts } = await routed({
      a: { script },
      b: { script: stream(chat.begin, chat.text('Hi'), chat.end), target: { priority: 2 } },
    })
    await statuses(gateway, 6, { dialect, stream: true })
    expect(counts()).toEqual({ a: 3, b: 3 })
  })

  test('after bytes were broken off', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\n'
    const script: Script = socket => {
      socket.write(`${head}content-length: 100\r\n\r\nabc`)
      socket.destroySoon()
    }
    const { gateway, counts } = await routed({
      a: { script },
      b: { script: socket => void socket.write(`${head}content-length: 3\r\n\r\nabc`), target: { priority: 2 } },
    })
    for (let count = 0; count < 5; count++)
      await fetch(`${gateway.url}/v1/audio/speech`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...chat.headers },
        body: JSON.stringify({ model: 'm', input: 'x', voice: 'alloy' }),
      }).then(response => response.arrayBuffer().catch(() => undefined))
    expect(counts()).toEqual({ a: 3, b: 2 })
  })

  test('not because clients went away', async () => {
    const script: Script = socket => void socket.write(streamHead + chunk(chat.begin + chat.text('Hi')))
    const { gateway, counts } = await routed({ a: { script }, b: { script: good, target: { priority: 2 } } })
    for (let count = 0; count < 4; count++) {
      const leaving = new AbortController()
      const response = await ask(gateway, { stream: true, signal: leaving.signal })
      await response.body?.getReader().read()
      leaving.abort()
      await requestLines(gateway, count + 1)
    }
    expect(counts()).toEqual({ a: 4, b: 0 })
  })

  test('never, if both rules are off', async () => {
    const health = { consecutive_failures: 'none', failure_percentage_threshold: 'none' }
    const { gateway, counts } = await routed({ a: { script: failing, upstream: { health } }, b: { script: good, target: { priority: 2 } } })
    await statuses(gateway, 30)
    expect(counts()).toEqual({ a: 30, b: 30 })
  })

  test('at once for the time that a refusal names', async () => {
    const script: Script = socket => json(socket, 429, chat.error, 'retry-after: 60\r\n')
    const { gateway, counts } = await routed({ a: { script }, b: { script: good, target: { priority: 2 } } })
    await statuses(gateway, 4)
    expect(counts()).toEqual({ a: 1, b: 4 })
  })

  test('also if a request that was under way before is answered', async () => {
    let release: (() => void) | undefined
    const waiting: Script = socket => {
      release = () => json(socket, 200, chat.answer)
    }
    const limited: Script = socket => json(socket, 429, chat.error, 'retry-after: 60\r\n')
    const { gateway, counts } = await routed({
      a: { script: inTurn(waiting, limited, good) },
      b: { script: good, target: { priority: 2 } },
    })
    const early = ask(gateway)
    await settle(() => counts().a, 1)
    await statuses(gateway, 1)
    release?.()
    expect((await early).status).toBe(200)
    await statuses(gateway, 2)
    expect(counts()).toEqual({ a: 2, b: 3 })
  })

  test('for no faulty request', async () => {
    const script: Script = socket => json(socket, 400, chat.error)
    const { gateway, counts } = await routed({ a: { script }, b: { script: good, target: { priority: 2 } } })
    expect(new Set(await statuses(gateway, 5))).toEqual(new Set([400]))
    expect(counts()).toEqual({ a: 5, b: 0 })
  })

  test('until a trial succeeds, while other requests go to other targets', async () => {
    const health = { consecutive_failures: 1, base_ejection_time: '50ms' }
    let release: (() => void) | undefined
    const trial: Script = socket => {
      release = () => json(socket, 200, chat.answer)
    }
    const script = inTurn(failing, trial, good)
    const { gateway, counts } = await routed({ a: { script, upstream: { health } }, b: { script: good, target: { priority: 2 } } })
    await statuses(gateway, 1)
    const tried: Promise<Response>[] = []
    await settle(() => {
      tried.push(ask(gateway))
      return counts().a
    }, 2)
    // All but the trial have gone elsewhere, the one before it among them.
    const b = tried.length
    await settle(() => counts().b, b)
    await statuses(gateway, 3)
    expect(counts()).toEqual({ a: 2, b: b + 3 })
    release?.()
    await Promise.all(tried)
    await statuses(gateway, 3)
    expect(counts()).toEqual({ a: 5, b: b + 3 })
  })

  test('still after a reload', async () => {
    const health = { base_ejection_time: '1m' }
    const stage = await routed({ a: { script: failing, upstream: { health } }, b: { script: good, target: { priority: 2 } } })
    await statuses(stage.gateway, 3)
    await stage.gateway.rewrite({ max_output: 4096 })
    await statuses(stage.gateway, 2)
    expect(stage.counts()).toEqual({ a: 3, b: 5 })
  })

  test('still after a reload, if a pattern found its model', async () => {
    const upstream = { health: { base_ejection_time: '1m' } }
    const targets = [{ upstream: 'a' }, { upstream: 'b', priority: 2 }]
    const stage = await routed({ a: { script: failing, upstream }, b: { script: good } }, {}, { models: { 'p-*': { targets } } })
    await statuses(stage.gateway, 3, { model: 'p-1' })
    await stage.gateway.rewrite({ max_output: 4096 })
    await statuses(stage.gateway, 2, { model: 'p-1' })
    expect(stage.counts()).toEqual({ a: 3, b: 5 })
    // Each name of the pattern is a target of its own.
    await statuses(stage.gateway, 1, { model: 'p-2' })
    expect(stage.counts()).toEqual({ a: 4, b: 6 })
  })
})

describe('the state of a target', () => {
  const config: HealthConfig = {
    consecutiveFailures: 1,
    failurePercentage: 50,
    requestVolume: 20,
    interval: 30_000,
    baseEjection: 1_000,
    maxEjection: 60_000,
    trials: 1,
    slowStart: 60_000,
  }
  const left = (health: Health): number => health.ejectedUntil - performance.now()

  test('doubles its ejection time each time, up to the longest', () => {
    const health = new Health(config)
    const times = Array.from({ length: 8 }, () => {
      health.fail('healthy', undefined)
      const time = left(health)
      health.ejectedUntil = 1
      return Math.round(time / 1_000)
    })
    expect(times).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  })

  test('does not extend its ejection for requests that were running', () => {
    const health = new Health(config)
    for (let count = 0; count < 50; count++) health.fail('healthy', undefined)
    expect(left(health)).toBeLessThanOrEqual(1_000)
  })

  test('leaves the trial to another request after a result that is neither failure nor success', () => {
    const health = new Health(config)
    health.ejectedUntil = 1
    expect(health.begin()).toBe('trial')
    expect(health.isAside(performance.now())).toBe(true)
    health.leave('trial')
    expect(health.isAside(performance.now())).toBe(false)
    expect(health.ejectedUntil).toBe(1)
  })

  test('has a weight that grows from a tenth after its return, and is full if it was never ejected', () => {
    const health = new Health(config)
    const time = performance.now()
    expect(health.share(time)).toBe(1)
    health.ejectedUntil = 1
    health.answer(health.begin())
    expect(health.share(time)).toBe(0.1)
    expect(health.share(performance.now() + 30_000)).toBeCloseTo(0.5, 1)
    expect(health.share(performance.now() + 90_000)).toBe(1)
  })
})

describe.concurrent('slots at an upstream', () => {
  /** Holds every request until it is released. */
  function holding(): { script: Script; release(): void; held(): number } {
    const waiting: (() => void)[] = []
    return {
      script: socket => void waiting.push(() => json(socket, 200, chat.answer)),
      release: () => waiting.shift()?.(),
      held: () => waiting.length,
    }
  }

  test('serve waiting requests in turn', async () => {
    const { script, release, held } = holding()
    const { gateway, counts } = await routed({ a: { script, upstream: { concurrency: { max_requests: 1 } } } })
    const asked = [ask(gateway)]
    await settle(held, 1)
    asked.push(ask(gateway), ask(gateway))
    for (let count = 1; count <= 3; count++) {
      await settle(held, 1)
      expect(counts()).toEqual({ a: count })
      release()
    }
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test('go to those that wait, in the order in which they came, before any newcomer', async () => {
    const config = { maxRequests: 1, maxPending: 9, pendingTimeout: 600_000 }
    const slots = new Concurrency('a', config)
    const exchange = { onAbort: () => undefined, offAbort: () => undefined } as unknown as Exchange
    const served: number[] = []
    expect(slots.enter()).toBe(true)
    const waiting = [1, 2, 3].map(async name => {
      await slots.wait(exchange)
      served.push(name)
    })
    slots.leave()
    expect(slots.enter()).toBe(false)
    await waiting[0]
    expect(served).toEqual([1])
    slots.configure({ ...config, maxRequests: 2 })
    expect(slots.enter()).toBe(false)
    await waiting[1]
    expect(served).toEqual([1, 2])
    slots.leave()
    await waiting[2]
    slots.leave()
    expect([slots.enter(), slots.enter()]).toEqual([true, false])
  })

  test('refuse a request as overload, in the form of the caller, if too many wait', async () => {
    const { script, release, held } = holding()
    const concurrency = { max_requests: 1, max_pending_requests: 0 }
    const { gateway } = await routed({ a: { script, upstream: { concurrency } } })
    const first = ask(gateway)
    await settle(held, 1)
    const [here, there] = await Promise.all([ask(gateway), ask(gateway, { dialect: dialects.messages })])
    expect([here.status, there.status]).toEqual([503, 529])
    expect(here.headers.get('retry-after')).toBe('1')
    expect(await there.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
    release()
    expect((await first).status).toBe(200)
    const lines = await requestLines(gateway, 3)
    expect(lines.filter(({ status }) => status !== 200)[0]).toMatchObject({ failed: [{ target: 'a/m', kind: 'overloaded' }] })
  })

  test('refuse a request that waits too long', async () => {
    const { script, release, held } = holding()
    const concurrency = { max_requests: 1, pending_timeout: '50ms' }
    const { gateway, counts } = await routed({ a: { script, upstream: { concurrency } } })
    const first = ask(gateway)
    await settle(held, 1)
    expect((await ask(gateway)).status).toBe(503)
    release()
    await first
    expect(counts()).toEqual({ a: 1 })
  })

  test('let no request wait if another target has a free slot', async () => {
    const { script, release, held } = holding()
    const { gateway, counts } = await routed({
      a: { script, upstream: { concurrency: { max_requests: 1 } } },
      b: { script: good, target: { priority: 2 } },
    })
    const first = ask(gateway)
    await settle(held, 1)
    expect(await statuses(gateway, 2)).toEqual([200, 200])
    expect(counts()).toEqual({ a: 1, b: 2 })
    release()
    await first
  })

  test('are held by a stream until its end, and are free when its client disconnects', async () => {
    let end: (() => void) | undefined
    const script = inTurn(
      socket => {
        socket.write(streamHead + chunk(chat.begin + chat.text('Hi')))
        end = () => socket.write(chunk(chat.end) + chunk(''))
      },
      () => undefined,
      good,
    )
    const { gateway, counts } = await routed({ a: { script, upstream: { concurrency: { max_requests: 1 } } } })
    const stream = await ask(gateway, { stream: true })
    const gone = new AbortController()
    const second = ask(gateway, { signal: gone.signal }).catch(() => undefined)
    const waits = new AbortController()
    const third = ask(gateway, { signal: waits.signal }).catch(() => undefined)
    waits.abort()
    await third
    expect(counts()).toEqual({ a: 1 })
    end?.()
    await stream.text()
    await settle(() => counts().a, 2)
    gone.abort()
    await second
    expect(await statuses(gateway, 1)).toEqual([200])
    expect(counts()).toEqual({ a: 3 })
  })

  test('stay held in the next configuration', async () => {
    const { script, release, held } = holding()
    const stage = await routed({ a: { script, upstream: { concurrency: { max_requests: 1 } } } })
    const first = ask(stage.gateway)
    await settle(held, 1)
    await stage.gateway.rewrite({ max_output: 4096 })
    const second = ask(stage.gateway)
    release()
    await first
    await settle(held, 1)
    release()
    expect((await second).status).toBe(200)
  })
})
