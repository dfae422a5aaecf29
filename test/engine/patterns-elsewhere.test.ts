// `patterns` where there is no body of JSON: in forms while they arrive, in answers that are plain texts, and in sockets.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI, { toFile } from 'openai'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'

const CARD = '4111 1111 1111 1111'

/** What the provider was sent, as it came; and what it answers. */
let seen: string[] = []
let answered = { type: 'application/json', pieces: ['{"text":"Hi"}'] }

const upstream: Server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    seen.push(Buffer.concat(chunks).toString('latin1'))
    response.writeHead(200, { 'content-type': answered.type })
    for (const piece of answered.pieces) response.write(piece)
    response.end()
  })
})
await new Promise<void>(done => upstream.listen(0, '127.0.0.1', done))
const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`

const gateway: TestGateway = await startGateway({
  upstreams: { one: { provider: 'openai', base, secret: 'secret-one' } },
  models: { m: { targets: [{ upstream: 'one' }] }, open: { targets: [{ upstream: 'one' }] } },
  patterns: {
    cards: { match: '\\b(?:\\d[ -]?){12,18}\\d\\b', mask: '[card]', window: 32, models: ['m'] },
    projects: { words: ['Blue Heron'], do: 'block', window: 32 },
  },
})
beforeEach(() => {
  seen = []
  answered = { type: 'application/json', pieces: ['{"text":"Hi"}'] }
})
afterAll(async () => {
  await gateway.close()
  upstream.closeAllConnections()
  upstream.close()
})
const openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const audio = (): Promise<File> => toFile(Buffer.from(`RIFF ${CARD}`), 'a.wav', { type: 'audio/wav' })

/** The parts of a form in an order of their own. */
function post(path: string, parts: readonly (readonly [string, string | Blob])[]): Promise<Response> {
  const form = new FormData()
  for (const [name, value] of parts) form.append(name, value as string)
  return fetch(`${gateway.url}${path}`, { method: 'POST', headers: { authorization: `Bearer ${KEY}` }, body: form })
}

describe('forms', () => {
  test('texts are masked before and behind the file and the model, and the file is left alone', async () => {
    await openai.audio.transcriptions.create({ model: 'm', file: await audio(), prompt: `pay ${CARD} now` })
    expect(seen[0]).toContain('pay [card] now')
    expect(seen[0]).toContain(`RIFF ${CARD}`)
    const file = new Blob([`RIFF ${CARD}`])
    for (const order of [
      [
        ['prompt', CARD],
        ['model', 'm'],
        ['file', file],
      ],
      [
        ['model', 'm'],
        ['file', file],
        ['prompt', CARD],
      ],
      [
        ['file', file],
        ['prompt', CARD],
        ['model', 'm'],
        ['language', 'en'],
      ],
    ] as const) {
      seen = []
      expect((await post('/v1/audio/transcriptions', order)).status).toBe(200)
      expect(seen[0]?.match(/name="prompt"\r\n\r\n([^\r]*)/)?.[1]).toBe('[card]')
      expect(seen[0]?.match(/name="prompt"/g)).toHaveLength(1)
      expect(seen[0]).toContain(`RIFF ${CARD}`)
    }
  })

  test('a model that a pattern is not for is left alone, wherever its name stands', async () => {
    for (const parts of [
      [
        ['prompt', CARD],
        ['model', 'open'],
      ],
      [
        ['model', 'open'],
        ['prompt', CARD],
      ],
    ] as const)
      expect((await post('/v1/audio/transcriptions', [...parts, ['file', new Blob(['x'])]])).status).toBe(200)
    for (const text of seen) expect(text).toContain(CARD)
    expect(seen).toHaveLength(2)
  })

  test('what is blocked is refused, and never sent as a whole', async () => {
    const response = await post('/v1/audio/transcriptions', [
      ['model', 'm'],
      ['prompt', 'the blue heron'],
      ['file', new Blob(['x'])],
    ])
    expect([response.status, await response.json()]).toMatchObject([403, { error: { code: 'blocked_pattern' } }])
    expect(seen.join('')).not.toContain('heron')
  })

  test('the prompt of a picture that is edited, too', async () => {
    answered = {
      type: 'application/json',
      pieces: [JSON.stringify({ created: 1, data: [{ b64_json: 'aGk=', revised_prompt: `a ${CARD}` }] })],
    }
    const made = await openai.images.edit({
      model: 'm',
      image: await toFile(Buffer.from('x'), 'a.png', { type: 'image/png' }),
      prompt: `a ${CARD}`,
    })
    expect(seen[0]).toContain('a [card]')
    expect(made.data?.[0]?.revised_prompt).toBe('a [card]')
  })
})

describe('answers that are plain texts', () => {
  test.each(['text/plain; charset=utf-8', 'text/vtt', 'application/x-subrip'])('%s is masked, wherever it is cut', async type => {
    for (const length of [1, 3, 7, 1000]) {
      answered = { type, pieces: `Grüße: pay ${CARD} to them and ${CARD}.`.match(new RegExp(`[\\s\\S]{1,${length}}`, 'g')) ?? [] }
      const response = await post('/v1/audio/transcriptions', [
        ['model', 'm'],
        ['response_format', 'text'],
        ['file', new Blob(['x'])],
      ])
      expect(await response.text()).toBe('Grüße: pay [card] to them and [card].')
    }
  })

  test('a text that is blocked ends without its end', async () => {
    answered = { type: 'text/plain', pieces: ['so ', 'it is the blue', ' heron', ' who'] }
    const text = await post('/v1/audio/transcriptions', [
      ['model', 'm'],
      ['file', new Blob(['x'])],
    ]).then(answer => answer.text(), String)
    expect(text).not.toContain('heron')
  })
})
