// What arrives although a client is paused: the server's library brings the rest of what it has read, and its release for
// Node 24 goes on as long as a client is quick. The library here is one that never stops.

import { expect, test } from 'vitest'
import type { GatewayError } from '../../engine/core/errors.js'
import { HttpExchange } from '../../engine/http/http-exchange.js'
import type { Dialect, Limits } from '../../engine/plan.js'
import type { RequestHead } from '../../engine/snapshot/model.js'

type Library = ConstructorParameters<typeof HttpExchange>[0]

function begun(most: number) {
  let bring: (chunk: ArrayBuffer, isLast: boolean) => void = () => undefined
  const library = {
    onAborted: () => undefined,
    onData: (run: typeof bring) => {
      bring = run
    },
    pause: () => undefined,
    resume: () => undefined,
  } as unknown as Library
  const memory = { most, held: 0 }
  const head: RequestHead = { method: 'POST', path: '/', query: {}, queryText: '', headers: {}, hasKeyIn: () => false }
  const exchange = new HttpExchange(library, head, {}, {} as Dialect, memory, () => undefined)
  exchange.listen()
  let failure: GatewayError | undefined
  exchange.receive({ body: 1e9, upload: 1e9 } as Limits, {
    data: () => undefined,
    end: () => undefined,
    fail: error => {
      failure = error
    },
  })
  return { exchange, memory, bring: (size: number) => bring(new ArrayBuffer(size), false), failure: () => failure }
}

test('what arrives while a client is paused counts as memory until it goes on', () => {
  const { exchange, memory, bring, failure } = begun(10_000)
  bring(5_000)
  expect(memory.held).toBe(0)
  for (let round = 0; round < 5; round++) {
    exchange.pause()
    bring(4_000)
    bring(4_000)
    expect(memory.held).toBe(8_000)
    exchange.resume()
    expect(memory.held).toBe(0)
  }
  expect(failure()).toBe(undefined)
})

test('a client that goes on although it is paused is refused when there is no room', () => {
  const { exchange, memory, bring, failure } = begun(10_000)
  exchange.pause()
  for (let piece = 0; piece < 5; piece++) bring(4_000)
  expect(failure()).toMatchObject({ kind: 'unavailable' })
  expect(memory.held).toBe(8_000)
  exchange.over()
  expect(memory.held).toBe(0)
})
