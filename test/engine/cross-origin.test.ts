// Pages of other origins, as a browser requests them: off by default, and then only for the named ones.

import { beforeAll, describe, expect, test } from 'vitest'
import { KEY, simulated, startGateway, startSimulator, type TestGateway } from '../harness.js'
import { closing } from './fake-upstreams.js'

const PAGE = 'https://app.example.com'

let simulator: Awaited<ReturnType<typeof startSimulator>>
beforeAll(async () => {
  simulator = closing(await startSimulator({}))
})

const gatewayWith = async (more: Record<string, unknown>): Promise<TestGateway> =>
  closing(await startGateway({ ...simulated(simulator.url, ['sim', 'sim-5'], ['openai']), ...more }))

/** What a browser asks before it lets a page send a request that carries a key. */
const preflight = ({ url }: TestGateway, origin: string, path = '/v1/chat/completions', method = 'POST'): Promise<Response> =>
  fetch(url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,x-stainless-os',
    },
  })

const post = ({ url }: TestGateway, origin: string | undefined, key = KEY, stream = false): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...(origin !== undefined && { origin }) },
    body: JSON.stringify({ model: 'openai/sim-5', stream, messages: [{ role: 'user', content: 'Hello' }] }),
  })

const allowed = (response: Response): string | null => response.headers.get('access-control-allow-origin')

test('without `cors` no page of another origin is allowed', async () => {
  const gateway = await gatewayWith({})
  const asked = await preflight(gateway, PAGE)
  expect([asked.status, allowed(asked)]).toEqual([405, null])
  expect([...(await post(gateway, PAGE)).headers.keys()].filter(name => name.startsWith('access-control'))).toEqual([])
})

describe('with named origins', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await gatewayWith({
      cors: { origins: [PAGE, 'https://*.dev.example.com', 'http://localhost:*'], max_age: '1h' },
      keys: [{ name: 'test', value: KEY, limits: { requests: '1000/1m' } }],
    })
  })

  test('a preflight without a key is answered with the headers that an SDK in a browser sends', async () => {
    const asked = await preflight(gateway, PAGE)
    expect(asked.status).toBe(200)
    expect(await asked.text()).toBe('')
    expect(Object.fromEntries(asked.headers)).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-os',
      'access-control-max-age': '3600',
      vary: 'Origin',
    })
    expect(asked.headers.has('access-control-allow-credentials')).toBe(false)
  })

  test.each(['https://a.dev.example.com', 'https://a.b.dev.example.com', 'http://localhost:5173'])('%s is allowed', async origin => {
    expect(allowed(await preflight(gateway, origin))).toBe(origin)
    expect(allowed(await post(gateway, origin))).toBe(origin)
  })

  test.each([
    'https://evil.example',
    'https://app.example.com.evil.example',
    'https://dev.example.com.evil.example',
    'https://evil.example/.dev.example.com',
    'http://app.example.com',
    'https://app.example.com:444',
    'http://localhost:80@evil.example',
    'null',
  ])('%s is not allowed', async origin => {
    const asked = await preflight(gateway, origin)
    expect([asked.status, allowed(asked)]).toEqual([405, null])
    const answer = await post(gateway, origin)
    expect([allowed(answer), answer.headers.get('vary')]).toEqual([null, 'Origin'])
  })

  test('answers, streams and failures can be read with all headers', async () => {
    const answer = await post(gateway, PAGE)
    expect([answer.status, allowed(answer), answer.headers.get('access-control-expose-headers')]).toEqual([200, PAGE, '*'])
    expect(answer.headers.has('x-ratelimit-remaining-requests')).toBe(true)
    const stream = await post(gateway, PAGE, KEY, true)
    expect([stream.status, allowed(stream)]).toEqual([200, PAGE])
    expect(await stream.text()).toContain('[DONE]')
    const refused = await post(gateway, PAGE, 'no key')
    expect([refused.status, allowed(refused)]).toEqual([401, PAGE])
    const nowhere = await fetch(`${gateway.url}/v1/nothing`, { headers: { origin: PAGE } })
    expect([nowhere.status, allowed(nowhere)]).toEqual([404, PAGE])
    expect((await preflight(gateway, PAGE, '/v1/nothing')).status).toBe(200)
    const large = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { origin: PAGE, 'content-type': 'text/plain', authorization: `Bearer ${KEY}` },
      body: '{}',
    })
    expect([large.status, allowed(large)]).toEqual([415, PAGE])
  })

  test('a request without an origin is answered as usual', async () => {
    const answer = await post(gateway, undefined)
    expect([answer.status, allowed(answer), answer.headers.get('vary')]).toEqual([200, null, 'Origin'])
    const plain = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'OPTIONS' })
    expect(plain.status).toBe(405)
  })
})

test('an origin is judged in little time, however many stars a pattern has and however long it is', async () => {
  const gateway = await gatewayWith({ cors: { origins: ['https://*.a.*.b.*.c.*.example.com'] } })
  expect(allowed(await preflight(gateway, 'https://1.a.2.b.3.c.4.example.com'))).toBe('https://1.a.2.b.3.c.4.example.com')
  const before = performance.now()
  expect(allowed(await preflight(gateway, `https://${'.a..b..c.'.repeat(1500)}.com`))).toBe(null)
  expect(performance.now() - before).toBeLessThan(2_000)
})

test('`*` allows any page', async () => {
  const gateway = await gatewayWith({ cors: { origins: ['*'] } })
  const asked = await preflight(gateway, 'https://anywhere.example', '/v1/models', 'GET')
  expect([asked.status, allowed(asked), asked.headers.get('access-control-max-age')]).toEqual([200, '*', '600'])
  expect(allowed(await post(gateway, 'https://anywhere.example'))).toBe('*')
})
