// A provider that deviates from its dialect: its answers, events, errors and usage are corrected.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseEvents } from '../../engine/wire/sse.js'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { startUpstream, type Upstream } from './upstream.js'

const OWN = {
  'providers/quirky.yaml': `title: Quirky
credential: { header: x-key }
speaks:
  chat:
    path: /quirky
    usage: '{ "input": meter.sent, "output": meter.made }'
    response: |
      $exists(result) ? $merge([result ~> |choices[finish_reason = "eos"]|{ "finish_reason": "stop" }|, { "meter": meter }])
    event: |
      type = "heartbeat" ? [] : choices[0].finish_reason = "eos" ? $ ~> |choices[finish_reason = "eos"]|{ "finish_reason": "stop" }|
`,
  // The same dialect, one event a line.
  'schemas/lined/format.yaml': 'title: Lined\nlike: completions\nstream: { framing: ndjson }\n',
  'routes/lined.yaml': 'name: lined\nlike: completions\npath: /lined\ndialect: lined\n',
  'providers/lined.yaml': `title: Lined
credential: { header: x-key }
speaks:
  lined:
    path: /lined
    event: 'type = "heartbeat" ? [] : $exists(parts) ? parts.{ "id": "c", "choices": [{ "index": 0, "text": $, "finish_reason": null }] }'
`,
  'providers/demanding.yaml': `title: Demanding
credential: { header: x-key }
speaks:
  chat:
    path: /quirky
    drop: ['messages[].reasoning_content', 'messages[].content[].cache_control']
    request: 'messages[0].content = "Fail" ? { "id": $number("x") } : messages[-1].content = "Own" ? $merge([$, { "mine": $count(messages) }])'
`,
  'providers/faulty.yaml': `title: Faulty
credential: { header: x-key }
speaks:
  chat:
    path: /quirky
    error: 'fault ? { "error": { "message": fault.msg, "code": $string(fault.no), "type": fault.no = 9 ? $number("x") : "fault" } }'
`,
  'providers/metered.yaml': `title: Metered
credential: { header: x-key }
speaks: { chat: { path: /metered, usage: '{ "input": meter.sent, "output": meter.made }' } }
`,
  'providers/wrong.yaml': `title: Wrong
credential: { header: x-key }
speaks: { chat: { path: /quirky, response: '{ "id": $number("x") }', event: '{ "id": $number("x") }' } }
`,
}

const message = { role: 'assistant', content: 'Grüße' }
const head = { id: 'c', object: 'chat.completion', created: 1, model: 'm' }
const whole = {
  success: true,
  meter: { sent: 3, made: 4 },
  result: { ...head, choices: [{ index: 0, message, finish_reason: 'eos' }] },
}
const chunk = (delta: object, finish_reason: string | null, more: object = {}): string =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`
const EVENTS = [
  'data: {"type":"heartbeat"}\n\n',
  ': a comment\n\n',
  chunk({ role: 'assistant', content: 'Grü' }, null),
  chunk({ content: 'ße' }, null),
  chunk({}, 'eos', { meter: { sent: 3, made: 4 } }),
  'data: [DONE]\n\n',
]

const LINES = ['{"type":"heartbeat"}', '{"parts":["Grü","ße"]}', '{"id":"c","choices":[{"index":0,"text":"!","finish_reason":"stop"}]}', '']

let upstream: Upstream
let gateway: TestGateway
/** The body of the last request. */
let sent = ''
/** What the upstream answers with, and as what. */
let answered: { type: string; body: string; status?: number } = { type: 'application/json', body: '' }

beforeAll(async () => {
  upstream = await startUpstream((socket, request) => {
    sent = request.body
    const isStream = /"stream": ?true/.test(request.body)
    const lines = { type: 'application/x-ndjson', body: LINES.join('\n'), status: 200 }
    const {
      type,
      body,
      status = 200,
    } = request.line.includes('/lined') ? lines : isStream ? { type: 'text/event-stream', body: EVENTS.join(''), status: 200 } : answered
    const bytes = Buffer.from(body)
    socket.write(`HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\ncontent-length: ${bytes.length}\r\n\r\n`)
    // In two writes, the second of which begins inside of a character.
    const seam = bytes.indexOf(0xbc)
    socket.write(bytes.subarray(0, seam), () => setImmediate(() => socket.write(bytes.subarray(seam))))
  })
  const names = ['quirky', 'demanding', 'faulty', 'metered', 'wrong', 'lined']
  gateway = await startGateway(
    {
      upstreams: Object.fromEntries(names.map(provider => [provider, { provider, base: upstream.url, secret: 's' }])),
      models: Object.fromEntries(names.map(name => [name, { targets: [{ upstream: name }] }])),
    },
    OWN,
  )
})

afterAll(async () => {
  await gateway?.close()
  await upstream?.close()
})

const ask = (path: string, request: object): Promise<Response> =>
  gateway.post(path, { messages: [{ role: 'user', content: 'Hi' }], ...request })

const lastUsage = (): unknown => gateway.log.findLast(({ msg }) => msg === 'request')?.usage

function eventsOf(text: string): unknown[] {
  const events: unknown[] = []
  parseEvents(text, data => events.push(data === '[DONE]' ? data : JSON.parse(data)))
  return events
}

describe('an answer that differs from its dialect', () => {
  beforeAll(() => {
    answered = { type: 'application/json', body: JSON.stringify(whole) }
  })

  test('has the form of its dialect for a client of the same dialect', async () => {
    const answer = await ask('/v1/chat/completions', { model: 'quirky' })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({
      ...whole.result,
      meter: whole.meter,
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    })
    await expect.poll(lastUsage).toMatchObject({ input: 3, output: 4 })
  })

  test('is translated for a client of another dialect', async () => {
    const answer = await ask('/v1/messages', { model: 'quirky', max_tokens: 9 })
    expect(await answer.json()).toMatchObject({ type: 'message', content: [{ type: 'text', text: 'Grüße' }], stop_reason: 'end_turn' })
  })

  test('is a failure of the provider if the patch fails', async () => {
    const answer = await ask('/v1/chat/completions', { model: 'wrong' })
    expect(answer.status).toBe(502)
    expect(await answer.json()).toMatchObject({ error: { message: 'The upstream sent an invalid answer.' } })
  })
})

describe('an error that differs from its dialect', () => {
  const refuse = (body: object): void => {
    answered = { type: 'application/json', status: 400, body: JSON.stringify(body) }
  }
  const fault = { fault: { msg: 'The prompt is too spicy.', no: 17 } }

  test('has the form of the dialect of each client', async () => {
    refuse(fault)
    const chat = await ask('/v1/chat/completions', { model: 'faulty' })
    expect([chat.status, await chat.json()]).toMatchObject([
      400,
      { error: { message: 'The prompt is too spicy.', code: '17', type: 'fault' } },
    ])
    const messages = await ask('/v1/messages', { model: 'faulty', max_tokens: 9 })
    expect([messages.status, await messages.json()]).toMatchObject([400, { error: { message: 'The prompt is too spicy.' } }])
  })

  test('passes if it needs no patch, and leaves the status alone if the patch fails', async () => {
    refuse({ error: { message: 'As usual.', code: 'usual' } })
    expect(await (await ask('/v1/chat/completions', { model: 'faulty' })).json()).toMatchObject({
      error: { message: 'As usual.', code: 'usual' },
    })
    refuse({ fault: { ...fault.fault, no: 9 } })
    const answer = await ask('/v1/chat/completions', { model: 'faulty' })
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { message: 'The upstream answered with status 400.' } }])
  })
})

describe('a request that a provider refuses as its dialect has it', () => {
  beforeAll(() => {
    answered = { type: 'application/json', body: JSON.stringify(whole.result) }
  })
  const long = 'a long text '.repeat(20_000)
  const own = { role: 'user', content: 'Own' }
  const said = { role: 'assistant', content: 'Ho', reasoning_content: 'Why' }

  test('is patched between a client and a provider of the same dialect, whatever its length', async () => {
    for (const content of ['Hi', long]) {
      const messages = [{ role: 'user', content }, own]
      expect((await ask('/v1/chat/completions', { model: 'demanding', seed: 1, messages })).status).toBe(200)
      expect(JSON.parse(sent)).toEqual({ model: 'demanding', seed: 1, messages, mine: 2 })
    }
  })

  test('passes byte for byte if it needs no change', async () => {
    for (const content of ['Hi \\u0041', long]) {
      const text = `{"messages": [{ "role":"user","content":"${content}"}],  "model":"demanding"}`
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
        body: text,
      })
      expect(sent).toBe(text)
    }
  })

  test('loses the members inside of others that the provider refuses, and those are told', async () => {
    for (const content of ['Hi', long]) {
      const marked = [{ type: 'text', text: content, cache_control: { type: 'ephemeral' } }]
      const answer = await ask('/v1/chat/completions', {
        model: 'demanding',
        messages: [said, { role: 'user', content: marked }, { ...said, reasoning_content: null }],
      })
      expect(answer.headers.get('x-sluice-dropped')).toBe('messages[].reasoning_content, messages[].content[].cache_control')
      const ho = { role: 'assistant', content: 'Ho' }
      expect(JSON.parse(sent)).toEqual({
        model: 'demanding',
        messages: [ho, { role: 'user', content: [{ type: 'text', text: content }] }, ho],
      })
    }
  })

  test('names nothing as dropped that says nothing', async () => {
    const messages = [{ ...said, reasoning_content: null }]
    const answer = await ask('/v1/chat/completions', { model: 'demanding', messages })
    expect(answer.headers.get('x-sluice-dropped')).toBeNull()
    expect(JSON.parse(sent).messages).toEqual([{ role: 'assistant', content: 'Ho' }])
  })

  test('is patched after a mapping made it', async () => {
    expect((await ask('/v1/messages', { model: 'demanding', max_tokens: 9, messages: [own] })).status).toBe(200)
    expect(JSON.parse(sent)).toEqual({ model: 'demanding', max_completion_tokens: 9, messages: [own], mine: 1 })
  })

  test('is an error of the gateway if the patch fails', async () => {
    const answer = await ask('/v1/chat/completions', { model: 'demanding', messages: [{ role: 'user', content: 'Fail' }] })
    expect(answer.status).toBe(500)
  })
})

describe('a stream that differs from its dialect', () => {
  test('has the form of its dialect for a client of the same dialect', async () => {
    const answer = await ask('/v1/chat/completions', { model: 'quirky', stream: true })
    const text = await answer.text()
    expect(text).not.toContain('heartbeat')
    // What needs no patch is as it came.
    expect(text).toContain(EVENTS[1])
    expect(text).toContain(EVENTS[2])
    expect(eventsOf(text)).toEqual([
      ...[2, 3].map(index => eventsOf(EVENTS[index] as string)[0]),
      expect.objectContaining({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      '[DONE]',
    ])
    await expect.poll(lastUsage).toMatchObject({ input: 3, output: 4 })
  })

  test('is translated for a client of another dialect', async () => {
    const text = await (await ask('/v1/messages', { model: 'quirky', max_tokens: 9, stream: true })).text()
    const events = eventsOf(text) as { type: string; delta?: { stop_reason?: string } }[]
    expect(events.map(({ delta }) => delta?.stop_reason).filter(Boolean)).toEqual(['end_turn'])
    expect(events.at(-1)).toEqual({ type: 'message_stop' })
  })

  test('has a line for each event if the framing is lines', async () => {
    const answer = await ask('/lined', { model: 'lined', prompt: 'Hi', stream: true })
    const lines = (await answer.text()).trim().split('\n')
    expect(lines.map(line => JSON.parse(line).choices[0].text)).toEqual(['Grü', 'ße', '!'])
    expect(lines.at(-1)).toBe(LINES[2])
  })

  test('ends with a failure if the patch fails', async () => {
    const answer = await ask('/v1/chat/completions', { model: 'wrong', stream: true })
    expect(answer.status).toBe(502)
  })
})

describe('usage at other paths', () => {
  test('is counted, and the answer passes byte for byte', async () => {
    const body = `{ "id":"c", "big": 12345678901234567890,  "choices":[{"message":{"content":"ü"}}], "meter":{"sent":3,"made":4}}`
    answered = { type: 'application/json', body }
    const answer = await ask('/v1/chat/completions', { model: 'metered' })
    expect(await answer.text()).toBe(body)
    await expect.poll(lastUsage).toMatchObject({ input: 3, output: 4 })
  })

  test('is counted in a stream, which passes byte for byte', async () => {
    const answer = await ask('/v1/chat/completions', { model: 'metered', stream: true })
    const text = await answer.text()
    expect(text).toBe(EVENTS.join(''))
    await expect.poll(lastUsage).toMatchObject({ input: 3, output: 4 })
  })
})
