// Incomplete streams never look complete: the client gets what came, an error in its dialect, and no end. Complete streams of
// an unusual form are complete.

import { describe, expect, test } from 'vitest'
import { dialects, eventsIn, lastEvent, PAIRS, type Pair } from './dialects.js'
import { ask, requestLines, setUp, setUpPair } from './fake-upstreams.js'
import { chunk, json, type Script, stream, streamHead } from './upstream.js'

/** A stream whose connection breaks behind the text. */
const broken =
  (text: string | Buffer): Script =>
  socket => {
    const body = Buffer.from(text)
    socket.write(streamHead)
    socket.write(`${body.length.toString(16)}\r\n`)
    socket.write(body)
    socket.write('\r\n', () => setTimeout(() => socket.destroy(), 20))
  }

describe.concurrent.each(PAIRS)('%s', (_name, pair) => {
  const { client, upstream } = pair
  const began = upstream.begin + upstream.text('Hi')
  const sliced = (text: string, length: number): Buffer => Buffer.from(text).subarray(0, length)
  /** Cut inside a character of four bytes. */
  const torn = (): Buffer => {
    const text = began + upstream.text('😀')
    return sliced(text, Buffer.from(text).indexOf(Buffer.from('😀')) + 2)
  }

  test.for<[string, Script]>([
    ['the body ends', stream(began)],
    ['the connection breaks', broken(began)],
    ['the body ends inside an event', stream(began + upstream.text('there').slice(0, -12))],
    ['the connection breaks inside an event', broken(began + upstream.text('there').slice(0, -12))],
    ['the body ends between the lines of an event', stream(`${began}data: `)],
    ['the connection breaks inside a character', broken(torn())],
    ['the body is shorter than declared', socket => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n${began}`)],
    ['the body ends with the connection', socket => socket.end(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${began}`)],
    ['a chunk is malformed', socket => socket.write(`${streamHead + chunk(began)}oops\r\n`)],
    ['the last event is not JSON', stream(`${began}data: {"error": oops\n\n`, upstream.text('there'))],
    ['events are null, and the body ends', stream(`${began}data: null\n\ndata: 1\n\ndata: []\n\n`)],
  ])('%s: the client gets what came, an error and no end event', async ([, script]) => {
    const { gateway } = await setUpPair(pair, [script])
    const response = await ask(gateway, { dialect: client, stream: true })
    const text = await response.text()
    expect(response.status).toBe(200)
    expect(text).toContain('"Hi"')
    expect(client.messageOf(lastEvent(text))).toMatch(/upstream/i)
    expect(client.wordOf(lastEvent(text))).toMatch(/^(server_error|api_error|INTERNAL)$/)
    expect(text).not.toMatch(client.proof)
    // Every event is whole, except malformed ones of the upstream.
    for (const data of eventsIn(text)) expect(() => JSON.parse(data)).not.toThrow()
    expect(text.endsWith('\n\n')).toBe(true)
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ status: 200, partial: true, error: { kind: 'upstream' } })
  })

  test('an event that is nested too deeply ends only its stream', async () => {
    const deep = `"x":${'['.repeat(30_000)}${']'.repeat(30_000)},`
    const nested = began.replace(/data: \{(.*"response":\{)?/, (head: string) => head + deep)
    const { gateway } = await setUpPair(pair, [broken(nested), stream(began, upstream.end)])
    const text = await (await ask(gateway, { dialect: client, stream: true })).text()
    expect(text).not.toMatch(client.proof)
    expect(client.wordOf(lastEvent(text))).toMatch(/^(server_error|api_error|INTERNAL)$/)
    expect((await ask(gateway, { dialect: client, stream: true })).status).toBe(200)
  })

  test('a broken event ends its stream', async () => {
    const { gateway } = await setUpPair(pair, [stream(began, 'data: {"oops\n\n', upstream.text('there'), upstream.end)])
    const text = await (await ask(gateway, { dialect: client, stream: true })).text()
    expect(client.messageOf(lastEvent(text))).toMatch(/upstream/i)
    expect(text).not.toMatch(client.proof)
  })

  test.for<[string, string, (text: string) => string]>([
    ['CR LF for line ends', upstream.begin + upstream.text('Hi') + upstream.end, text => text.replaceAll('\n', '\r\n')],
    ['no space after the colons', upstream.begin + upstream.text('Hi') + upstream.end, text => text.replaceAll(/^(data|event): /gm, '$1:')],
    ['comments between all events', `: a\n\n${upstream.begin}: b\n\n${upstream.text('Hi')}: c\n\n${upstream.end}`, text => text],
    ['no blank line at the end', upstream.begin + upstream.text('Hi') + upstream.end, text => text.trimEnd()],
    ['half a blank line at the end', upstream.begin + upstream.text('Hi') + upstream.end, text => `${text.trimEnd()}\n`],
    ['a comment after the end', upstream.begin + upstream.text('Hi') + upstream.end, text => `${text}\n\n: bye\n\n`],
    ['a byte order mark', upstream.begin + upstream.text('Hi') + upstream.end, text => `\uFEFF${text}`],
  ])('a complete stream is accepted with %s', async ([, text, written]) => {
    const { gateway } = await setUpPair(pair, [stream(written(text))])
    const got = await (await ask(gateway, { dialect: client, stream: true })).text()
    expect(got).toContain('"Hi"')
    expect(got).toMatch(client.proof)
    expect(got).not.toMatch(/"error":\{/)
    // The last event has its blank line: without it no client takes it for one.
    expect(got).toMatch(/\r?\n\r?\n(: bye\n\n)?$/)
    const [line] = await requestLines(gateway)
    expect(line).toMatchObject({ status: 200, usage: { input: 3, output: 2 } })
    expect(line).not.toHaveProperty('partial')
    expect(line).not.toHaveProperty('error')
  })

  test('a stream that comes byte by byte is read', async () => {
    const whole = upstream.begin + upstream.text('Hi é€😀') + upstream.end
    const { gateway } = await setUpPair(pair, [
      socket => {
        socket.setNoDelay(true)
        socket.write(streamHead)
        for (const byte of Buffer.from(whole)) socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]))
        socket.write(chunk(''))
      },
      stream(whole),
    ])
    const first = await (await ask(gateway, { dialect: client, stream: true })).text()
    expect(first).toContain('Hi é€😀')
    expect(first).toMatch(client.proof)
    // Ids that are sealed on their way are others.
    if (client === upstream && client.name !== 'chat') expect(first.replaceAll(/resp_[\w-]{20,}/g, 'resp_1')).toBe(whole)
  })

  test.for<[string, Script]>([
    ['a page', socket => json(socket, 200, '<html>no</html>')],
    ['nothing', socket => json(socket, 200, '')],
    ['null', socket => json(socket, 200, 'null')],
    ['a text', socket => json(socket, 200, '"Hi"')],
    ['a list', socket => json(socket, 200, '[]')],
    ['half an answer', socket => json(socket, 200, JSON.stringify(upstream.answer).slice(0, -9))],
    ['broken usage', socket => json(socket, 200, JSON.stringify(upstream.answer).replace(/("usage\w*"):\{/, '$1:{oops'))],
    ['a body that breaks off', socket => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"id":', () => socket.destroy())],
    ['a stream', stream(upstream.begin, upstream.end)],
    ['an empty answer with status 204', socket => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')],
    ['a redirect', socket => json(socket, 307, upstream.answer, 'location: http://127.0.0.1:1/\r\n')],
  ])('%s in place of an answer is 502 in the form of the caller', async ([, script]) => {
    const { gateway } = await setUpPair(pair, [script])
    const response = await ask(gateway, { dialect: client })
    const body = await response.json()
    expect({ status: response.status, word: client.wordOf(body) }).toEqual({
      status: 502,
      word: expect.stringMatching(/^(server_error|api_error|INTERNAL)$/),
    })
    expect((await requestLines(gateway))[0]).toMatchObject({ status: 502, error: { kind: 'upstream' } })
  })

  test('an error with status 200 is an error', async () => {
    const { gateway } = await setUpPair(pair, [socket => json(socket, 200, upstream.error)])
    const response = await ask(gateway, { dialect: client })
    expect(response.status).toBeGreaterThanOrEqual(500)
    expect(client.messageOf(await response.json())).toBe('Told by the upstream.')
  })
})

const { chat } = dialects

describe.concurrent('in the same dialect', () => {
  test('an answer passes byte for byte, with any blanks, numbers and members', async () => {
    const odd = ` {"id" : "c1", "x":[1.50, 1e400, 12345678901234567890], "é":"\\u00e9", "choices":[{}],\n"usage":{"prompt_tokens":1,"completion_tokens":1} } `
    const { gateway } = await setUp([socket => json(socket, 200, odd)])
    expect(await (await ask(gateway)).text()).toBe(odd)
  })

  test('a stream passes byte for byte, with comments, names and blanks', async () => {
    const odd = `: hello\n\nevent:x\nid: 7\ndata:{"id" : "c1","choices":[{"delta":{"content":"é"}}]}\n\n\n\n${chat.text('x')}${chat.text('')}data: [DONE]\n\n`
    const { gateway } = await setUp([stream(odd.slice(0, 30), odd.slice(30))])
    expect(await (await ask(gateway, { stream: true })).text()).toBe(odd)
  })

  test.each([false, true])('a sentinel with blanks behind it ends a stream (patterns: %j)', async patterns => {
    const spaced = chat.begin + chat.text('Hi') + chat.end.replace('[DONE]', '[DONE] \t')
    expect(spaced).toContain('[DONE] ')
    const { gateway } = await setUp([stream(spaced)], patterns ? { patterns: { none: { match: 'never', do: 'mask' } } } : {})
    for (const dialect of [chat, dialects.messages]) {
      const text = await (await ask(gateway, { dialect, stream: true })).text()
      expect(text).toContain('Hi')
      expect(text).toMatch(dialect.proof)
      expect(text).not.toMatch(/"error"/)
    }
  })

  test('a first event over the limit is a failure of the upstream', async () => {
    const { gateway } = await setUp([
      socket => {
        socket.write(streamHead)
        const part = chunk('x'.repeat(1024 * 1024))
        socket.write(chunk('data: "'))
        for (let count = 0; count < 34; count++) socket.write(part)
      },
      stream(chat.begin, chat.end),
    ])
    const text = await (await ask(gateway, { stream: true })).text()
    expect(eventsIn(text).at(-1)).toBe('[DONE]')
  })

  test('a later event over the limit ends the stream with an error', async () => {
    const { gateway } = await setUp([
      socket => {
        socket.write(streamHead + chunk(chat.begin + chat.text('Hi')))
        const part = chunk('x'.repeat(1024 * 1024))
        socket.write(chunk('data: "'))
        for (let count = 0; count < 34; count++) socket.write(part)
      },
    ])
    const text = await (await ask(gateway, { stream: true })).text()
    expect(chat.messageOf(lastEvent(text))).toMatch(/upstream/)
    expect((await requestLines(gateway))[0]).toMatchObject({ error: { kind: 'upstream' } })
  })

  test('bytes after the end of a stream are not passed on', async () => {
    const { gateway } = await setUp([stream(chat.begin + chat.end, chat.text('ghost'), chat.errorEvent)])
    const text = await (await ask(gateway, { stream: true })).text()
    expect(text).not.toMatch(/ghost|Told/)
    expect(eventsIn(text).at(-1)).toBe('[DONE]')
  })

  test('an upstream that does not close after the end of its stream does not delay the client', async () => {
    const { gateway, upstreams } = await setUp([socket => socket.write(streamHead + chunk(chat.begin + chat.end))])
    const text = await (await ask(gateway, { stream: true })).text()
    expect(eventsIn(text).at(-1)).toBe('[DONE]')
    await expect.soft((await requestLines(gateway))[0]).toMatchObject({ status: 200 })
    expect(upstreams[0]?.requests).toHaveLength(1)
  })

  test('the connection to an upstream is reused after a complete stream', async () => {
    const { gateway, upstreams } = await setUp([stream(chat.begin, chat.end)])
    for (let count = 0; count < 3; count++) await (await ask(gateway, { stream: true })).text()
    expect(upstreams[0]?.requests).toHaveLength(3)
    expect(upstreams[0]?.opened()).toBe(1)
  })
})

describe.concurrent('a streamed JSON array', () => {
  const { generate } = dialects as { generate: Pair['client'] }
  const array = { ...generate, path: () => '/v1beta/models/m:streamGenerateContent' }

  test('ends as an array', async () => {
    const { gateway } = await setUp([stream(generate.begin, generate.text('Hi'), generate.end)], {}, 'gemini')
    const response = await ask(gateway, { dialect: array, stream: true })
    expect(response.headers.get('content-type')).toBe('application/json')
    const list = (await response.json()) as unknown[]
    expect(list).toHaveLength(3)
    expect(JSON.stringify(list)).toMatch(generate.proof)
  })

  test('that is cut off ends with an error as its last item', async () => {
    const { gateway } = await setUp([stream(generate.begin, generate.text('Hi'))], {}, 'gemini')
    const list = (await (await ask(gateway, { dialect: array, stream: true })).json()) as unknown[]
    expect(generate.messageOf(list.at(-1))).toMatch(/upstream/)
    expect(JSON.stringify(list)).not.toMatch(generate.proof)
  })

  test('that fails before it begins has an error status', async () => {
    const { gateway } = await setUp([stream(generate.errorEvent)], {}, 'gemini')
    const response = await ask(gateway, { dialect: array, stream: true })
    expect(response.status).toBe(502)
    expect(generate.messageOf(await response.json())).toBe('Told by the upstream.')
  })
})
