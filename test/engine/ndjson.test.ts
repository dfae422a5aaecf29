// Streams of one JSON value a line: from a provider, to a client, and translated to and from server-sent events.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { framings } from '../../engine/wire/framing.js'
import { parseEvents } from '../../engine/wire/sse.js'
import { startGateway, type TestGateway } from '../harness.js'
import { startUpstream, type Upstream } from './upstream.js'

const DROPPED = ['max_tokens', 'temperature', 'top_p', 'n', 'best_of', 'echo', 'suffix', 'logprobs', 'stop', 'frequency_penalty'].concat(
  'presence_penalty',
  'logit_bias',
  'seed',
  'stream_options',
  'user',
)

/** A dialect whose streams are lines, and which streams by default. */
const OWN = {
  'schemas/lines/format.yaml': `title: Lines
response: json
stream:
  flag: { member: body.stream, default: true }
  framing: ndjson
  watch:
    end: { marker: ['"done":true'], when: done = true }
    fail: { marker: ['"error"'], when: $exists(error) }
    usage: { marker: ['"tokens"'], read: '{ "output": tokens }' }
usage: '{ "output": tokens }'
error:
  like: chat
  body: '{ "error": $message }'
  read: '{ "message": error }'
`,
  'schemas/lines/request.yaml':
    'type: object\nrequired: [model, text]\nproperties: { model: { type: string }, text: { type: string }, stream: { type: boolean } }\n',
  'schemas/lines/response.yaml':
    'type: object\nrequired: [text]\nproperties: { text: { type: string }, done: { type: boolean }, tokens: { type: integer } }\n',
  'schemas/lines/event.yaml':
    'type: object\nproperties: { text: { type: string }, done: { type: boolean }, tokens: { type: integer }, error: { type: string } }\n',
  'routes/lines.yaml': 'name: lines\nmethod: POST\npath: /lines\nauth: [bearer]\ndialect: lines\nbody: json\n',
  'providers/lines.yaml': 'title: Lines\ncredential: { header: x-key }\nspeaks: { lines: /say }\n',
  'mappings/completions-to-lines/mapping.yaml': `title: Completions on lines
request: '{ "model": $ctx.model, "text": prompt, "stream": $ctx.stream }'
response: |
  { "id": $ctx.id, "object": "text_completion", "created": $ctx.created, "model": $ctx.model,
    "choices": [{ "index": 0, "text": text, "logprobs": null, "finish_reason": "stop" }] }
stream:
  steps:
    - name: a line is a piece
      when: $exists(text)
      emit: |
        { "id": $ctx.id, "object": "text_completion", "created": $ctx.created, "model": $ctx.model,
          "choices": [{ "index": 0, "text": text, "logprobs": null, "finish_reason": done ? "stop" : null }] }
fields:
  dropped:
${DROPPED.map(name => `    ${name}: it has no such thing\n`).join('')}`,
}

const LINES = ['{"text":"Grü"}', '{"text":"ße","more":[1,{"a":"b"}]}', '{"text":"!","done":true,"tokens":3}']
const body = Buffer.from(`${LINES.join('\n')}\n`)
let upstream: Upstream
let gateway: TestGateway
/** What the upstream writes, piece by piece, and whether it ends well. */
let pieces: Buffer[] = []
let isCut = false

beforeAll(async () => {
  upstream = await startUpstream(async (socket, request) => {
    if (/"stream": ?false/.test(request.body)) {
      const text = '{"text":"whole","done":true,"tokens":1}'
      socket.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
      return
    }
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n')
    for (const piece of pieces) {
      socket.write(`${piece.length.toString(16)}\r\n`)
      socket.write(piece)
      socket.write('\r\n')
      await new Promise(setImmediate)
    }
    if (isCut) socket.destroy()
    else socket.end('0\r\n\r\n')
  })
  gateway = await startGateway(
    { upstreams: { one: { provider: 'lines', base: upstream.url, secret: 's' } }, models: { m: { targets: [{ upstream: 'one' }] } } },
    OWN,
  )
})

afterAll(async () => {
  await gateway?.close()
  await upstream?.close()
})

const ask = (path: string, request: object): Promise<Response> => gateway.post(path, { model: 'm', ...request })

/** Bytes cut at some offsets. */
function cut(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const ends = [...new Set(offsets.map(offset => offset % bytes.length))].filter(end => end > 0).sort((left, right) => left - right)
  return [0, ...ends].map((from, index) => bytes.subarray(from, ends[index] ?? bytes.length))
}

describe('a stream of lines', () => {
  test('is the default answer, line by line, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(200), { maxLength: 12 }), async offsets => {
        pieces = cut(body, offsets)
        isCut = false
        const answer = await ask('/lines', { text: 'x' })
        expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
        expect(
          (await answer.text())
            .trim()
            .split('\n')
            .map(line => JSON.parse(line)),
        ).toEqual(LINES.map(line => JSON.parse(line)))
      }),
      { numRuns: 25 },
    )
    await expect.poll(() => gateway.log.findLast(({ msg }) => msg === 'request')).toMatchObject({ usage: { output: 3 }, status: 200 })
  })

  test('is a whole answer if the request wants no stream', async () => {
    const answer = await ask('/lines', { text: 'x', stream: false })
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toEqual({ text: 'whole', done: true, tokens: 1 })
  })

  test('becomes events for a client of another dialect', async () => {
    pieces = cut(body, [3, 20, 21])
    const text = await (await ask('/v1/completions', { prompt: 'x', stream: true })).text()
    const events: string[] = []
    parseEvents(text, data => events.push(data))
    expect(events.pop()).toBe('[DONE]')
    expect(events.map(data => JSON.parse(data).choices[0]?.text).join('')).toBe('Grüße!')
  })

  test('that is cut off or fails never looks complete', async () => {
    pieces = [Buffer.from(`${LINES[0]}\n`)]
    for (const [last, why] of [
      ['', 'The upstream broke its answer off before it was complete.'],
      ['{"error":"overheated"}\n', 'overheated'],
      ['{"text":\n', 'The upstream sent an invalid answer.'],
    ] as const) {
      pieces = [Buffer.from(`${LINES[0]}\n`), ...(last === '' ? [] : [Buffer.from(last)])]
      const lines = (await (await ask('/lines', { text: 'x' })).text()).trim().split('\n')
      expect(lines.map(line => JSON.parse(line))).toEqual([JSON.parse(LINES[0] as string), { error: expect.stringContaining(why) }])
    }
  })

  test('that fails with its first line has an error status', async () => {
    pieces = [Buffer.from('{"error":"overheated"}\n')]
    const answer = await ask('/lines', { text: 'x' })
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(await answer.json()).toEqual({ error: expect.stringContaining('overheated') })
  })
})

test('lines become the same events at any cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue(), { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(400), { maxLength: 8 }),
      fc.constantFrom('\n', '\r\n', '\n\n'),
      fc.boolean(),
      (values, offsets, end, isEnded) => {
        const bytes = Buffer.from(values.map(value => JSON.stringify(value)).join(end) + (isEnded ? end : ''))
        const blocks = framings.ndjson.blocks(1_000_000)
        let text = ''
        for (const piece of cut(bytes, offsets)) text += blocks.push(piece)?.toString() ?? ''
        const rest = blocks.rest()
        if (rest) text += `${rest.toString()}\n\n`
        const found: unknown[] = []
        parseEvents(text, data => found.push(JSON.parse(data)))
        expect(found).toEqual(JSON.parse(JSON.stringify(values)))
      },
    ),
  )
  expect(() => framings.ndjson.blocks(10).push(Buffer.alloc(11, 'a'))).toThrow(RangeError)
})
