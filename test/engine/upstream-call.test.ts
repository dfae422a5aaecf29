// Calls of an upstream that real clients make too seldom: an answer that comes before the whole request is there, and many calls
// of one exchange.

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Pool } from 'undici'
import { afterEach, expect, test } from 'vitest'
import type { Exchange } from '../../engine/core/exchange.js'
import { call, collect, type UpstreamRequest, type UpstreamResponse } from '../../engine/upstream/call.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function upstreamOf(answer: RequestListener): Promise<Pick<UpstreamRequest, 'dispatcher' | 'origin'>> {
  const server = createServer(answer)
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dispatcher = new Pool(origin)
  closing.push(
    () => dispatcher.destroy(),
    () => server.close(),
  )
  return { dispatcher, origin }
}

/** An exchange whose client stays, and the functions that wait for its going away. */
function exchange(): { exchange: Exchange; waiting: Set<() => void> } {
  const waiting = new Set<() => void>()
  const parts: Partial<Exchange> = {
    began: performance.now(),
    log: { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 },
    onAbort: run => void waiting.add(run),
    offAbort: run => void waiting.delete(run),
  }
  return { exchange: parts as Exchange, waiting }
}

const LONG = 60_000
const limits = { body: LONG, upload: LONG, connect: LONG, headers: LONG, first_event: LONG, idle: LONG, total: null }
const post = { method: 'POST', path: '/', headers: [], name: 'upstream' }

const read = (response: UpstreamResponse): Promise<string> => {
  response.startIdle()
  return Promise.resolve(collect(response, LONG)).then(bytes => String(bytes))
}

test('an answer that begins before its request has ended is not late', async () => {
  let answered: (() => void) | undefined
  const upstream = await upstreamOf((asked, response) => {
    response.write('begins, ')
    asked.resume()
    // Later than the answer may begin after the request: it has begun already.
    asked.on('end', () => {
      setTimeout(() => response.end('ends'), 400)
      answered?.()
    })
  })
  async function* body(): AsyncGenerator<Buffer> {
    yield Buffer.from('some')
    await begun
    yield Buffer.from('more')
  }
  let begin: (() => void) | undefined
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  const ended = new Promise<void>(resolve => {
    answered = resolve
  })
  const response = await call({ ...upstream, ...post, body: body() }, { ...limits, headers: 100 }, exchange().exchange)
  const text = read(response)
  begin?.()
  await ended
  expect(await text).toBe('begins, ends')
})

test('an exchange keeps nothing of the calls that are over', async () => {
  const { exchange: one, waiting } = exchange()
  const upstream = await upstreamOf((asked, response) => {
    if (asked.url === '/breaks') response.destroy()
    else response.end('{}')
  })
  const ask = (path = '/'): Promise<UpstreamResponse> => call({ ...upstream, ...post, path, body: 'a long body' }, limits, one)
  expect(await read(await ask())).toBe('{}')
  const cancelled = await ask()
  cancelled.cancel()
  await expect(ask('/breaks')).rejects.toThrow('The connection to the upstream failed.')
  const released = await ask()
  expect(waiting.size).toBeLessThanOrEqual(1)
  released.release()
  await expect.poll(() => waiting.size).toBe(0)
})

test('a call of an exchange that has ended leaves nothing behind', async () => {
  const upstream = await upstreamOf((_asked, response) => response.end('{}'))
  // What expects a rejection would keep it, too.
  const ask = async (): Promise<{ said: unknown; left: WeakRef<object> }> => {
    const ended = { ...exchange().exchange, onAbort: (run: () => void) => run() }
    const answer = call({ ...upstream, ...post, body: 'a long body' }, limits, ended)
    const said = await answer.catch((error: Error) => error.message)
    return { said, left: new WeakRef(ended) }
  }
  const { said, left } = await ask()
  expect(said).toBe('The request was ended before it was answered.')
  const isLeft = (): boolean => {
    collectGarbage()
    return left.deref() !== undefined
  }
  await expect.poll(isLeft).toBe(false)
})
