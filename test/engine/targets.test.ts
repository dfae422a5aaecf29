// The commit point: until the first valid event, or a whole answer, another target may answer and the client sees nothing of
// the failure; afterwards the failure is reported inside the stream. And which failures are retried, when.

import { describe, expect, test } from 'vitest'
import { PATIENCE, sleep } from '../polling.js'
import { dialects, eventsIn, lastEvent, PAIRS, type Pair } from './dialects.js'
import { ask, requestLines, type Stage, settle, setUp, setUpPair } from './fake-upstreams.js'
import { chunk, json, type Script, stream, streamHead } from './upstream.js'

const counts = ({ upstreams }: Stage): number[] => upstreams.map(({ requests }) => requests.length)
const { chat } = dialects
const good: Script = socket => json(socket, 200, chat.answer)
const goodStream = stream(chat.begin + chat.text('Hi'), chat.end)
const failing =
  (status: number, extra = ''): Script =>
  socket =>
    json(socket, status, chat.error, extra)
const page =
  (status: number): Script =>
  socket =>
    json(socket, status, '<html><h1>Bad gateway</h1></html>')

describe.concurrent.each(PAIRS)('%s', (_name, pair) => {
  const { client, upstream } = pair
  const whole = stream(upstream.begin, upstream.text('Hi'), upstream.text(' there'), upstream.end)

  // Every way to fail before the first event.
  test.for<[string, Script]>([
    ['a status', socket => json(socket, 500, upstream.error)],
    ['an HTML page', page(502)],
    ['a closed connection', socket => socket.destroy()],
    ['half a head', socket => socket.end('HTTP/1.1 200 OK\r\ncontent-')],
    ['bytes that are not HTTP', socket => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    ['only a head', socket => socket.end(streamHead)],
    ['an empty body', stream('')],
    ['only comments', stream(': one\n\n', ': two\n\n')],
    ['half an event', stream(upstream.begin.slice(0, 20))],
    [
      'an event cut off by the connection',
      socket => void socket.write(streamHead + chunk(upstream.begin.slice(0, 20)), () => socket.destroy()),
    ],
    ['an event that is not JSON', stream('data: {"oops\n\n')],
    ['a page with status 200', stream('<html>\n\n<body>data: no</body></html>\n\n')],
    ['the whole answer as JSON', socket => json(socket, 200, upstream.answer)],
    ['an error as JSON', socket => json(socket, 200, upstream.error)],
    ['an error as the first event', stream(upstream.errorEvent)],
    ['an error after comments', stream(': one\n\n', upstream.errorEvent)],
  ])('a stream that begins with %s: the next target answers, and the client sees nothing of the first', async ([, script]) => {
    const stage = await setUpPair(pair, [script, whole])
    const response = await ask(stage.gateway, { dialect: client, stream: true })
    const text = await response.text()
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(text).toContain('"Hi"')
    expect(text).toMatch(client.proof)
    expect(text).not.toMatch(/"error":\{|Told by|html/)
    expect(counts(stage)).toEqual([1, 1])
    expect((await requestLines(stage.gateway))[0]).toMatchObject({ status: 200, attempts: 2, target: 'up1/m' })
  })

  test('a stream that fails after its first event is not retried: it ends with the error', async () => {
    const stage = await setUpPair(pair, [stream(upstream.begin, upstream.text('Hi'), upstream.errorEvent), whole])
    const response = await ask(stage.gateway, { dialect: client, stream: true })
    const text = await response.text()
    expect(response.status).toBe(200)
    expect(text).toContain('"Hi"')
    expect(client.messageOf(lastEvent(text))).toBe('Told by the upstream.')
    expect(text).not.toMatch(client.proof)
    expect(counts(stage)).toEqual([1, 0])
  })

  test('a failure of all targets is one error, with a status', async () => {
    const stage = await setUpPair(pair, [socket => socket.destroy(), stream(upstream.errorEvent)])
    const response = await ask(stage.gateway, { dialect: client, stream: true })
    expect(response.status).toBeGreaterThanOrEqual(500)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(client.messageOf(await response.json())).toBe('Told by the upstream.')
    expect(counts(stage)).toEqual([1, 1])
  })

  test('an error in JSON instead of a stream keeps its message', async () => {
    const { gateway } = await setUpPair(pair, [socket => json(socket, 200, upstream.error)])
    const response = await ask(gateway, { dialect: client, stream: true })
    expect(response.status).toBe(502)
    expect(client.messageOf(await response.json())).toBe('Told by the upstream.')
  })

  // Every way to fail before an answer is whole.
  test.for<[string, Script]>([
    ['a status', socket => json(socket, 503, upstream.error)],
    ['an HTML page', page(502)],
    ['a closed connection', socket => socket.destroy()],
    ['a body cut in half', socket => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":', () => socket.destroy())],
    ['a body that ends early', stream(JSON.stringify(upstream.answer).slice(0, -20))],
    ['a page with status 200', page(200)],
    ['an empty body', socket => json(socket, 200, '')],
    ['an error with status 200', socket => json(socket, 200, upstream.error)],
    ['a stream', whole],
    ['a redirect', socket => json(socket, 302, upstream.answer, 'location: http://127.0.0.1:1/\r\n')],
  ])('an answer that is %s: the next target answers', async ([, script]) => {
    const stage = await setUpPair(pair, [script, socket => json(socket, 200, upstream.answer)])
    const response = await ask(stage.gateway, { dialect: client })
    const text = await response.text()
    expect({ status: response.status, counts: counts(stage) }).toEqual({ status: 200, counts: [1, 1] })
    expect(text).toContain('"Hi"')
    expect(text).not.toMatch(/Told by|html/)
  })
})

describe.concurrent('failures after which the next target is tried', () => {
  test.for<[number, boolean]>([
    [400, false],
    [401, true],
    [402, true],
    [403, true],
    [404, true],
    [408, true],
    [409, true],
    [413, false],
    [422, false],
    [429, true],
    [500, true],
    [501, true],
    [502, true],
    [503, true],
    [504, true],
    [529, true],
  ])('%i is one: %s', async ([status, movesOn]) => {
    const stage = await setUp([failing(status), good])
    const response = await ask(stage.gateway)
    expect(counts(stage)).toEqual([1, movesOn ? 1 : 0])
    if (movesOn) expect(response.status).toBe(200)
    else expect(response.status).toBe(status)
    await response.text()
  })

  test('an error about the request keeps its message', async () => {
    const error = { error: { message: 'Too long.', type: 'invalid_request_error', code: 'context_length_exceeded', param: 'messages' } }
    const stage = await setUp([socket => json(socket, 400, error), good])
    const response = await ask(stage.gateway)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual(error)
  })

  test('a target is tried once in a request, whatever its failure', async () => {
    const stage = await setUp([failing(500), failing(500), failing(500)])
    expect((await ask(stage.gateway)).status).toBe(500)
    expect(counts(stage)).toEqual([1, 1, 1])
  })

  test('a field that one target cannot serve is refused before any call', async () => {
    const stage = await setUp([good], {}, 'anthropic')
    const response = await ask(stage.gateway, { body: JSON.stringify({ ...chat.body(false), n: 2 }) })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: 'n' } })
    expect(counts(stage)).toEqual([0])
  })
})

describe.concurrent('the error that the caller gets', () => {
  test.for<[string, Pair]>(PAIRS)('%s: is 502 without details for 401 and 403, which concern our key', async ([, { client, upstream }]) => {
    for (const status of [401, 403]) {
      const body = JSON.stringify(upstream.error).replace('Told by the upstream.', 'Incorrect API key provided: sk-live-1234567890.')
      const stage = await setUp([socket => json(socket, status, body)], {}, upstream.provider)
      const response = await ask(stage.gateway, { dialect: client })
      expect(response.status).toBe(502)
      expect(await response.text()).not.toMatch(/key|sk-/)
    }
  })

  test.for<[string, Pair]>(PAIRS)('%s: keeps the status, retry-after and message of 429', async ([, { client, upstream }]) => {
    const stage = await setUp([socket => json(socket, 429, upstream.error, 'retry-after: 17\r\n')], {}, upstream.provider)
    const response = await ask(stage.gateway, { dialect: client, stream: true })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('17')
    const body = await response.json()
    expect(client.messageOf(body)).toBe('Told by the upstream.')
    if (client === upstream) expect(client.wordOf(body)).toBe(client.wordOf(upstream.error))
    else expect(client.wordOf(body)).toMatch(/^(rate_limit_error|RESOURCE_EXHAUSTED)$/)
  })

  test.for<[string, string, RegExp]>([
    ['seconds', '7', /^7$/],
    ['half seconds', '1.5', /^2$/],
    ['a date', new Date(Date.now() + 300_000).toUTCString(), /^(2[0-9][0-9]|300)$/],
    [
      'a date of the form of RFC 850',
      `${new Date(Date.now() + 300_000).toUTCString().replace(/^.*, (..) (...) ..(..)/, 'Sunday, $1-$2-$3')}`,
      /^(2[0-9][0-9]|300)$/,
    ],
    ['a date of the form of asctime', asctime(new Date(Date.now() + 300_000)), /^(2[0-9][0-9]|300)$/],
    ['a past date', new Date(Date.now() - 30_000).toUTCString(), /^0$/],
    ['more seconds than a timer holds', '99999999999', /^2147483$/],
    ['more seconds than a number holds', '9'.repeat(400), /^2147483$/],
    ['a date of a far year', 'Fri, 31 Dec 9999 23:59:59 GMT', /^2147483$/],
  ])('has retry-after in seconds if the upstream gives it in %s', async ([, given, told]) => {
    const stage = await setUp([failing(429, `retry-after: ${given}\r\n`)])
    expect((await ask(stage.gateway)).headers.get('retry-after')).toMatch(told)
  })

  test.for(['soon', '1e99', 'inf', 'Infinity', '-5', '+5', '0x10', '5 s', '1, 2', '31 Dec 2099', '2099-12-31T23:59:59Z'])(
    'has no retry-after if the upstream gives %s',
    async given => {
      const stage = await setUp([failing(429, `retry-after: ${given}\r\n`)])
      expect((await ask(stage.gateway)).headers.get('retry-after')).toBeNull()
    },
  )

  test.for<[string, string | null]>([
    ['250', '250'],
    ['1e99', null],
    ['-1', null],
    ['99999999999999', '2147483000'],
  ])('has a retry-after-ms only if it is valid: %s', async ([given, told]) => {
    const stage = await setUp([failing(429, `retry-after-ms: ${given}\r\n`)])
    expect((await ask(stage.gateway)).headers.get('retry-after-ms')).toBe(told)
  })

  test('is 529 for overload in dialects that have the status, and 503 in others', async () => {
    const stage = await setUp([failing(529, 'retry-after: 3\r\n')])
    const [known, other] = await Promise.all([
      ask(stage.gateway, { dialect: dialects.messages }),
      ask(stage.gateway, { dialect: dialects.generate }),
    ])
    expect([known.status, other.status]).toEqual([529, 503])
    expect([known.headers.get('retry-after'), other.headers.get('retry-after')]).toEqual(['3', '3'])
  })

  test('has the status of an error event that comes first in a stream', async () => {
    const event = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    const stage = await setUp([stream(event)], {}, 'anthropic')
    const response = await ask(stage.gateway, { dialect: dialects.messages, stream: true })
    expect(response.status).toBe(529)
    expect(await response.json()).toMatchObject({ error: { type: 'overloaded_error', message: 'Overloaded' } })
  })
})

/** Asks until the first target has been asked so often. */
async function untilTried(stage: Stage, times: number): Promise<void> {
  for (const end = performance.now() + PATIENCE; ; await sleep(100)) {
    await (await ask(stage.gateway)).text()
    if (counts(stage)[0] === times || performance.now() > end) break
  }
  expect(counts(stage)[0]).toBe(times)
}

describe.concurrent('a target that failed', () => {
  test('is ejected after repeated failures, and tried only if the others fail', async () => {
    const stage = await setUp([failing(500), good])
    for (let count = 0; count < 5; count++) expect((await ask(stage.gateway)).status).toBe(200)
    expect(counts(stage)).toEqual([3, 5])
  })

  test('comes back when its time is over, and stays if it answers', async () => {
    let isIll = true
    const stage = await setUp([
      socket => (isIll ? json(socket, 429, chat.error, 'retry-after: 10\r\n') : json(socket, 200, chat.answer)),
      good,
    ])
    await (await ask(stage.gateway)).text()
    await (await ask(stage.gateway)).text()
    expect(counts(stage)).toEqual([1, 2])
    isIll = false
    await untilTried(stage, 2)
    const others = counts(stage)[1]
    for (let count = 0; count < 3; count++) await (await ask(stage.gateway)).text()
    expect(counts(stage)).toEqual([5, others])
  })

  test('is ejected again if the trial fails', async () => {
    const stage = await setUp([failing(429, 'retry-after: 10\r\n'), good])
    await (await ask(stage.gateway)).text()
    await untilTried(stage, 2)
    const others = counts(stage)[1] as number
    for (let count = 0; count < 2; count++) expect((await ask(stage.gateway)).status).toBe(200)
    expect(counts(stage)).toEqual([2, others + 2])
  })

  test('is still tried if there is no other', async () => {
    const stage = await setUp([failing(500)])
    for (let count = 0; count < 3; count++) expect((await ask(stage.gateway)).status).toBe(500)
    expect(counts(stage)).toEqual([3])
  })

  test('is ejected for failures after the head, too', async () => {
    const stage = await setUp([stream(''), goodStream])
    for (let count = 0; count < 5; count++)
      expect(eventsIn(await (await ask(stage.gateway, { stream: true })).text()).at(-1)).toBe('[DONE]')
    expect(counts(stage)).toEqual([3, 5])
  })

  test('is not ejected for faulty requests', async () => {
    const stage = await setUp([failing(400), good])
    for (let count = 0; count < 3; count++) expect((await ask(stage.gateway)).status).toBe(400)
    expect(counts(stage)).toEqual([3, 0])
  })

  test('is not ejected if a client disconnects', async () => {
    const stage = await setUp([() => undefined, good])
    const gone = new AbortController()
    const asked = ask(stage.gateway, { signal: gone.signal }).catch(() => undefined)
    await settle(() => counts(stage)[0], 1)
    gone.abort()
    await asked
    await requestLines(stage.gateway)
    void ask(stage.gateway).catch(() => undefined)
    await settle(() => counts(stage)[0], 2)
    expect(counts(stage)).toEqual([2, 0])
  })
})

/** A date as C writes it: RFC 9110, 5.6.7. */
function asctime(date: Date): string {
  const [day, number, month, year, time] = date.toUTCString().split(/,? /)
  return `${day} ${month} ${number?.replace(/^0/, ' ')} ${time} ${year}`
}
