// Clients always get UTF-8, also for text that would fit into one byte a letter: some builds of the server's library write
// such text as Latin-1. Headers are bytes, as in HTTP.

import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Answering, ascii, headerText, reasonText, type Talking, utf8 } from '../../engine/http/bytes.js'
import { KEY, startGateway } from '../harness.js'
import { files, startMaker } from './abilities.js'
import { dialects, PAIRS } from './dialects.js'
import { ask, bytesOf, closing, dial, setUp, setUpPair } from './fake-upstreams.js'
import { json, stream } from './upstream.js'

/** Letters of one byte in Latin-1, with others, and alone; short, and longer than what is copied at once. */
const TEXTS = ['café ÿ¡', 'naïve – 日本 😀', 'plain', 'é'.repeat(100_000)].map(text => [text.slice(0, 20), text] as const)

/** The bytes of an answer as UTF-8 text. Fails if they are not valid. */
async function textOf(answer: Response): Promise<string> {
  return new TextDecoder('utf-8', { fatal: true }).decode(await answer.arrayBuffer())
}

describe.concurrent.each(PAIRS)('%s', (_name, { client, upstream }) => {
  const pair = { client, upstream }

  test.each(TEXTS)('an answer keeps its text: %s', async (_begin, text) => {
    const { gateway } = await setUpPair(pair, [socket => json(socket, 200, JSON.stringify(upstream.answer).replace('Hi', text))])
    expect(await textOf(await ask(gateway, { dialect: client }))).toContain(text)
  })

  test.each(TEXTS)('a stream keeps its text: %s', async (_begin, text) => {
    const { gateway } = await setUpPair(pair, [stream(upstream.begin, upstream.text(text), upstream.end)])
    expect(await textOf(await ask(gateway, { dialect: client, stream: true }))).toContain(text)
  })

  test("a failure has the provider's message, before a stream and inside it", async () => {
    const said = (text: string): string => text.replace('Told by the upstream.', 'Refusé, hélas.')
    const before = await setUpPair(pair, [socket => json(socket, 429, said(JSON.stringify(upstream.error)))])
    expect(await textOf(await ask(before.gateway, { dialect: client, stream: true }))).toContain('Refusé, hélas.')
    const inside = await setUpPair(pair, [stream(upstream.begin, upstream.text('Hi'), said(upstream.errorEvent))])
    expect(await textOf(await ask(inside.gateway, { dialect: client, stream: true }))).toContain('Refusé, hélas.')
  })

  test('an error about an unknown name quotes the name, and has the right length', async () => {
    const { gateway } = await setUpPair(pair, [() => undefined])
    const asked = await ask(gateway, { dialect: client, model: 'modèle' })
    expect(asked.status).toBe(404)
    const length = Number(asked.headers.get('content-length'))
    const text = await textOf(asked)
    expect([text.includes('modèle'), length]).toEqual([true, Buffer.byteLength(text)])
  })
})

describe.concurrent('headers', () => {
  test('of an upstream keep their bytes', async () => {
    const value = 'caf\xc3\xa9 caf\xe9'
    const { gateway } = await setUp([
      socket => {
        const body = JSON.stringify(dialects.chat.answer)
        const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nopenai-version: ${value}\r\ncontent-length: ${body.length}\r\n\r\n`
        socket.write(Buffer.from(head + body, 'latin1'))
      },
    ])
    const wire = await dial(gateway)
    wire.write(bytesOf('/v1/chat/completions', dialects.chat.headers, JSON.stringify(dialects.chat.body(false))))
    expect(await wire.until(/"Hi"/)).toContain(`: ${value}\r\n`)
  })

  test.each<[string, string | Buffer]>([
    ['plain text\tof "all" kinds!', 'plain text\tof "all" kinds!'],
    ['', ''],
    ['caf\xe9', Buffer.from([0x63, 0x61, 0x66, 0xe9])],
    ['caf\xe9 \u65e5', 'caf%C3%A9 %E6%97%A5'],
    ['a\r\nset-cookie: b', 'a%0D%0Aset-cookie: b'],
    ['a\0b\x7f\x85', 'a%00b%7F%C2%85'],
    ['\ud83d\ude00 \ud83d', '%F0%9F%98%80 %EF%BF%BD'],
  ])('are encoded: %j', (value, written) => {
    expect(headerText(value)).toEqual(written)
  })
})

test('a close reason is UTF-8, cut to its maximum length', async () => {
  const maker = closing(await startMaker())
  const upstreams = { maker: { provider: 'maker', base: maker.url, secret: 's' } }
  const gateway = closing(await startGateway({ upstreams, models: { m: { targets: [{ upstream: 'maker' }] } } }, files))
  const theirs = once(maker.sockets, 'connection') as Promise<[WebSocket]>
  const client = new WebSocket(`${gateway.url.replace('http', 'ws')}/talk?model=m`, { headers: { authorization: `Bearer ${KEY}` } })
  const closed = once(client, 'close')
  await once(client, 'open')
  const [side] = await theirs
  side.close(1000, 'déjà terminé')
  const [code, reason] = await closed
  expect([code, String(reason)]).toEqual([1000, 'déjà terminé'])
  expect(reasonText('é'.repeat(100))).toEqual(Buffer.from('é'.repeat(61)))
  expect(reasonText(`x${'é'.repeat(61)}`)).toHaveLength(123)
  expect(reasonText('😀'.repeat(31))).toEqual(Buffer.from('😀'.repeat(30)))
})

test('ASCII text stays text, and other text becomes bytes', () => {
  for (const text of ['', 'plain\r\n\0']) expect(utf8(text)).toBe(text)
  for (const text of ['é', 'ÿ', '日本', '😀', '\ud83d', 'a\x80']) expect(utf8(text)).toEqual(Buffer.from(text))
})

// Never called: what the compiler says of it is the test.
void ((res: Answering, ws: Talking<undefined>, text: string): void => {
  // @ts-expect-error
  res.writeStatus(text)
  // @ts-expect-error
  res.writeHeader('x', 'y')
  // @ts-expect-error
  res.writeHeader(ascii('x'), text)
  // @ts-expect-error
  res.write('x')
  // @ts-expect-error
  res.end(text)
  // @ts-expect-error
  res.tryEnd(text, 1)
  // @ts-expect-error
  ws.send(text, false)
  // @ts-expect-error
  ws.end(1000, text)
  res.end(utf8(text))
})
