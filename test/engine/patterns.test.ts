// `patterns`: words that must not be sent or received, in whole bodies and in streams, in every client's dialect.

import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { KEY, startGateway, type TestGateway } from '../harness.js'
import { until } from '../polling.js'

type Body = Record<string, unknown>

let seen: { text: string; body: Body }[] = []
/** The pieces of the answer, and of the arguments of a call in it. */
let pieces: string[] = []
let call: string[] | undefined
let hold: Promise<void> | undefined
/** Events in place of those that the pieces make. */
let script: string[] | undefined
/** A whole answer in place of the one that they make. */
let answered: Body | undefined

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x', choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`

const upstream: Server = createServer((request, response) => {
  let text = ''
  request.on('data', part => {
    text += String(part)
  })
  request.on('end', () => {
    const body = JSON.parse(text) as Body
    seen.push({ text, body })
    if (body.stream === true) void stream(response)
    else whole(response)
  })
})

function whole(response: ServerResponse): void {
  if (answered) {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answered))
    return
  }
  const message = {
    role: 'assistant',
    content: call ? null : pieces.join(''),
    ...(call && { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'pay', arguments: call.join('') } }] }),
  }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(
    JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'x',
      choices: [
        {
          index: 0,
          message,
          logprobs: { content: [{ token: '4111', logprob: 0, bytes: null, top_logprobs: [] }] },
          finish_reason: call ? 'tool_calls' : 'stop',
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  )
}

async function stream(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (script) {
    response.end(script.join(''))
    return
  }
  response.write(chunk({ role: 'assistant', content: '' }))
  for (const content of pieces) response.write(chunk({ content }))
  if (call) response.write(chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'pay', arguments: '' } }] }))
  for (const part of call ?? []) response.write(chunk({ tool_calls: [{ index: 0, function: { arguments: part } }] }))
  await hold
  response.write(chunk({}, call ? 'tool_calls' : 'stop'))
  response.write(
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\n`,
  )
  response.end('data: [DONE]\n\n')
}

await new Promise<void>(done => upstream.listen(0, '127.0.0.1', done))
const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
const CARD = '4111 1111 1111 1111'
const gateway: TestGateway = await startGateway({
  keys: [
    { name: 'test', value: KEY },
    { name: 'free', value: 'key-free' },
  ],
  upstreams: {
    one: { provider: 'together', base, secret: 'secret-one' },
    openai: { provider: 'openai', base, secret: 'secret-two' },
    anthropic: { provider: 'anthropic', base, secret: 'secret-three' },
    gemini: { provider: 'gemini', base, secret: 'secret-four' },
  },
  models: {
    m: { targets: [{ upstream: 'one' }] },
    open: { targets: [{ upstream: 'one' }] },
    gpt: { targets: [{ upstream: 'openai' }] },
    claude: { targets: [{ upstream: 'anthropic' }] },
    gemini: { targets: [{ upstream: 'gemini' }] },
    tagged: { targets: [{ upstream: 'one' }] },
  },
  patterns: {
    cards: { match: '\\b(?:\\d[ -]?){12,18}\\d\\b', mask: '[card]', window: 32, keys: ['test'], models: ['m', 'gpt', 'claude', 'gemini'] },
    mail: { match: ['[\\w.+-]+@[\\w-]+\\.[\\w.]+'], window: 64, in: ['request'] },
    projects: { words: ['Blue Heron', 'Größe'], do: 'block', window: 32, models: ['m'] },
    tags: { match: '[a-z0-9]{4}#\\d+', mask: '[tag]', window: 16, models: ['tagged'] },
  },
})
beforeEach(() => {
  seen = []
  pieces = ['Hello']
  call = undefined
  hold = undefined
  script = undefined
  answered = undefined
})
afterAll(async () => {
  await gateway.close()
  upstream.closeAllConnections()
  upstream.close()
})

const openai = new OpenAI({ apiKey: KEY, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const claude = new Anthropic({ apiKey: KEY, baseURL: gateway.url, maxRetries: 0 })
const gemini = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.url } })
const ask = (body: Body, key = KEY): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x' }], ...body }),
  })
const lineOf = (id: string | null): Promise<Body> => until(() => gateway.log.find(line => line.id === id))

/** The same in small pieces, so that whatever is sought is cut. */
const cut = (text: string, length = 3): string[] => text.match(new RegExp(`[\\s\\S]{1,${length}}`, 'g')) ?? []

describe('requests', () => {
  test('have all texts of the dialect masked, and everything else stays byte for byte', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: `{"model":"m", "seed": 41111111111111111,  "messages":[{"role":"user","content":"pay ${CARD} now"},{"role":"user","content":[{"type":"text","text":"to a.b@example.com"}]},{"role":"assistant","tool_calls":[{"id":"call_4111111111111111","type":"function","function":{"name":"pay","arguments":"{\\"card\\":\\"x\\\\n${CARD}\\",\\"n\\":1}"}}]},{"role":"tool","tool_call_id":"call_4111111111111111","content":"ok"}], "temperature":1.0}`,
    })
    expect(response.status).toBe(200)
    const [{ text, body }] = seen as [(typeof seen)[0]]
    expect(text).toMatch(/^\{"model":"m", "seed": 41111111111111111, {2}"messages":/)
    expect(text).toMatch(/, "temperature":1\.0\}$/)
    expect(body.messages).toEqual([
      { role: 'user', content: 'pay [card] now' },
      { role: 'user', content: [{ type: 'text', text: 'to ***' }] },
      {
        role: 'assistant',
        tool_calls: [
          {
            id: 'call_4111111111111111',
            type: 'function',
            function: { name: 'pay', arguments: JSON.stringify({ card: 'x\n[card]', n: 1 }) },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_4111111111111111', content: 'ok' },
    ])
    expect(await lineOf(response.headers.get('x-request-id'))).toMatchObject({ masked: { cards: 2, mail: 1 } })
    expect(JSON.stringify(gateway.log)).not.toContain(CARD)
  })

  test('are masked in every dialect of clients', async () => {
    const prompt = `pay ${CARD}`
    await claude.messages.create({
      model: 'm',
      max_tokens: 9,
      system: prompt,
      messages: [
        { role: 'user', content: prompt },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'pay', input: { deep: [{ card: CARD }] } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: prompt }] },
      ],
    })
    await openai.responses.create({
      model: 'm',
      instructions: prompt,
      input: [{ role: 'user', content: [{ type: 'input_text', text: prompt }] }],
    })
    await openai.responses.create({ model: 'm', input: prompt })
    await gemini.models.generateContent({ model: 'm', contents: prompt, config: { systemInstruction: prompt } })
    expect(seen).toHaveLength(4)
    for (const { text } of seen) {
      expect(text).not.toContain('4111')
      expect(text).toContain('[card]')
    }
  })

  test.each(['about the blue  heron.', 'BLUE HERON', 'über die Größe', '(Größe)'])('with %s are blocked', async content => {
    const response = await ask({ messages: [{ role: 'user', content }] })
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { error: { code: 'blocked_pattern', message: expect.stringContaining('projects') } },
    ])
    expect(seen).toEqual([])
  })

  test.each([...'\t\n\v\f\r \u0085\u00a0\u1680\u2009\u2028\u2029\u202f\u205f\u3000\ufeff'])(
    'with %j as a blank of a phrase are blocked',
    async blank => {
      expect((await ask({ messages: [{ role: 'user', content: `the blue${blank}${blank}heron.` }] })).status).toBe(403)
    },
  )

  test.each(['blue herons', 'Übergröße', 'Größen', 'xblue heron'])('with %s, which is another word, are not blocked', async content => {
    expect((await ask({ messages: [{ role: 'user', content }] })).status).toBe(200)
  })

  test('of other keys and for other models are not masked', async () => {
    const messages = [{ role: 'user', content: `pay ${CARD}` }]
    await ask({ messages }, 'key-free')
    await ask({ messages, model: 'open' })
    for (const { text } of seen) expect(text).toContain(CARD)
    expect(seen).toHaveLength(2)
  })

  test('are checked in a time that grows linearly with the text', async () => {
    const fine = await ask({ messages: [{ role: 'user', content: `${'1'.repeat(200_000)}x` }] })
    expect(fine.status).toBe(200)
  })
})

describe('whole answers', () => {
  test('are masked in every dialect, and members that repeat their texts are emptied', async () => {
    pieces = [`Your card is ${CARD}.`]
    const chat = await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
    expect(chat.choices[0]).toMatchObject({ message: { content: 'Your card is [card].' }, logprobs: null })
    const message = await claude.messages.create({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
    expect(message.content).toMatchObject([{ type: 'text', text: 'Your card is [card].' }])
    expect((await openai.responses.create({ model: 'm', input: 'x' })).output_text).toBe('Your card is [card].')
    expect((await gemini.models.generateContent({ model: 'm', contents: 'x' })).text).toBe('Your card is [card].')
  })

  test('keep arguments valid JSON, and are blocked for a number that cannot be masked', async () => {
    call = [`{"card": "${CARD}", "n": 1}`]
    const chat = await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'x' }] })
    const made = chat.choices[0]?.message.tool_calls?.[0] as { function: { arguments: string } } | undefined
    expect(JSON.parse(made?.function.arguments ?? '')).toEqual({ card: '[card]', n: 1 })
    call = ['{"card": 4111111111111111}']
    expect((await ask({})).status).toBe(403)
  })

  test('that are blocked are replaced by an error', async () => {
    pieces = ['It is Blue Heron.']
    const response = await ask({})
    const text = await response.text()
    expect([response.status, text]).toEqual([403, expect.stringContaining('blocked_pattern')])
    expect(text).not.toContain('Heron')
  })
})

describe('streams', () => {
  const long = `${'lorem ipsum '.repeat(30)}${CARD}${' dolor sit'.repeat(30)} ${CARD}`
  const masked = long.replaceAll(CARD, '[card]')

  test.each([1, 2, 5, 19, 1000])('are masked in pieces of %d in every dialect', async length => {
    pieces = cut(long, length)
    const messages = [{ role: 'user' as const, content: 'x' }]
    let text = ''
    for await (const event of await openai.chat.completions.create({ model: 'm', messages, stream: true }))
      text += event.choices[0]?.delta.content ?? ''
    expect(text).toBe(masked)
    const message = await claude.messages.stream({ model: 'm', max_tokens: 999, messages }).finalMessage()
    expect(message.content).toMatchObject([{ text: masked }])
    expect(message.stop_reason).toBe('end_turn')
    const response = await openai.responses.stream({ model: 'm', input: 'x' }).finalResponse()
    expect(response.output_text).toBe(masked)
    let parts = ''
    for await (const part of await gemini.models.generateContentStream({ model: 'm', contents: 'x' })) parts += part.text ?? ''
    expect(parts).toBe(masked)
  })

  test('are masked at any cut and any position', async () => {
    let seed = 7
    const random = (most: number): number => {
      seed = (seed * 48271) % 2147483647
      return seed % most
    }
    for (let round = 0; round < 25; round++) {
      const words = Array.from({ length: 5 + random(60) }, () => (random(6) === 0 ? CARD : 'lorem ipsum'.slice(0, 1 + random(11))))
      const said = words.join(' ')
      pieces = []
      for (let at = 0; at < said.length; ) {
        const length = 1 + random(24)
        pieces.push(said.slice(at, at + length))
        at += length
      }
      const text = await (await ask({ stream: true })).text()
      expect([...text.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join('')).toBe(said.replaceAll(CARD, '[card]'))
    }
  })

  test('are masked if their texts are interleaved, with any line ends', async () => {
    const one = (index: number, content: string): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x', choices: [{ index, delta: { content }, finish_reason: null }] })}\r\n\r\n`
    const [first, second] = [cut(`a ${CARD} ${'b'.repeat(90)}`), cut(`${'c'.repeat(80)} ${CARD} d`)]
    script = first.flatMap((piece, index) => [one(0, piece), one(1, second[index] ?? '')])
    script.push(...second.slice(first.length).map(piece => one(1, piece)), 'data: [DONE]\r\n\r\n')
    const text = await (await ask({ stream: true, n: 2 })).text()
    const said = ['', '']
    for (const [, data] of text.matchAll(/^data: (\{.*\})\r?$/gm)) {
      const [choice] = (JSON.parse(data as string) as { choices: { index: number; delta: { content: string } }[] }).choices
      if (choice) said[choice.index] += choice.delta.content
    }
    expect(said).toEqual([`a [card] ${'b'.repeat(90)}`, `${'c'.repeat(80)} [card] d`])
    expect(text).toMatch(/\[DONE\]\r\n\r\n$/)
  })

  test('keep every event valid JSON, and end with the end event', async () => {
    pieces = cut(long)
    const text = await (await ask({ stream: true })).text()
    const events = text.split('\n\n').filter(line => line.startsWith('data: '))
    expect(events.at(-1)).toBe('data: [DONE]')
    for (const event of events.slice(0, -1))
      expect(JSON.parse(event.slice('data: '.length))).toMatchObject({ object: 'chat.completion.chunk' })
    expect(events.length).toBeGreaterThan(pieces.length)
    expect(text).not.toContain('4111')
  })

  test('pass on what is certain before the end', async () => {
    let finish = (): void => undefined
    hold = new Promise(resolve => {
      finish = resolve
    })
    pieces = cut('lorem ipsum '.repeat(20))
    const reader = ((await ask({ stream: true })).body as ReadableStream<Uint8Array>).getReader()
    let text = ''
    const content = (): string => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join('')
    // All but the window and a quarter of it.
    while (content().length < 240 - 40 - 3) text += Buffer.from((await reader.read()).value as Uint8Array).toString()
    expect(content().length).toBeLessThanOrEqual(240 - 32)
    finish()
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += Buffer.from(part.value).toString()
    expect(content()).toBe('lorem ipsum '.repeat(20))
  })

  test('keep arguments valid JSON', async () => {
    call = cut(`{"card": "${CARD}", "text": "lorem \\"ipsum\\" ${CARD} ${'x'.repeat(100)}", "n": 1}`, 4)
    const message = await claude.messages.stream({ model: 'm', max_tokens: 99, messages: [{ role: 'user', content: 'x' }] }).finalMessage()
    expect(message.content.at(-1)).toMatchObject({ input: { card: '[card]', text: `lorem "ipsum" [card] ${'x'.repeat(100)}`, n: 1 } })
    call = cut(`{"card": 4111111111111111, "more": "${'x'.repeat(100)}"}`, 4)
    const text = await (await ask({ stream: true })).text()
    expect(text).toContain('blocked_pattern')
    expect(text).not.toContain('[DONE]')
  })

  test.each([
    ['behind an escape', String.raw`\nabcd#12`, String.raw`\n[tag]`],
    ['behind an escape of a number', String.raw`\u00e9abcd#12`, String.raw`\u00e9[tag]`],
    ['behind a backslash', String.raw`\\abcd#12`, String.raw`\\[tag]`],
    ['inside an escape', String.raw`\nabc#12`, undefined],
    ['inside an escape of a number', String.raw`\u0041bcd#12`, undefined],
  ])('mask a match that begins %s in arguments, or are blocked', async (_where, written, masked) => {
    call = cut(`{"text": "${written} ${'x'.repeat(100)}"}`, 4)
    const text = await (await ask({ model: 'tagged', stream: true })).text()
    const given = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data as string).choices?.[0]?.delta.tool_calls?.[0])
    const said = given.map(made => made?.function.arguments ?? '').join('')
    if (masked === undefined) expect(text).toContain('blocked_pattern')
    else expect(said).toBe(`{"text": "${masked} ${'x'.repeat(100)}"}`)
    expect(text.includes('[DONE]')).toBe(masked !== undefined)
  })

  test('let no more than a bounded length of events wait for the rest of a short text', async () => {
    const event = JSON.parse(chunk({}).slice('data: '.length)) as Body
    const silent = `data: ${JSON.stringify({ ...event, extra: 'y'.repeat(64 * 1024) })}\n\n`
    script = [chunk({ content: 'lorem ' }), ...new Array<string>(17).fill(silent), chunk({ content: 'Blue Heron ipsum' })]
    const text = await (await ask({ stream: true })).text()
    // What waited has left before the text could be decided together with what follows.
    expect(text).toContain('"content":"lorem "')
    expect(text).toContain('blocked_pattern')
    script = [chunk({ content: 'lorem ' }), silent, chunk({ content: 'Blue Heron ipsum' })]
    expect(await (await ask({ stream: true })).text()).not.toContain('lorem')
  })

  test.each([
    ['in the middle', 'lorem ipsum dolor sit amet '.repeat(10)],
    ['at the very end', ''],
  ])('that are blocked %s end with an error and without an end event', async (_where, rest) => {
    pieces = cut(`${'lorem ipsum dolor '.repeat(10)}it is Blue Heron ${rest}`)
    const response = await ask({ stream: true })
    const text = await response.text()
    const told = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join('')
    expect(told).toMatch(/^lorem ipsum dolor lorem/)
    expect(told).not.toContain('Blue')
    expect(text).toContain('blocked_pattern')
    expect(text).not.toContain('DONE')
    expect(await lineOf(response.headers.get('x-request-id'))).toMatchObject({ error: { kind: 'permission' }, partial: true })
    const failed = claude.messages.stream({ model: 'm', max_tokens: 99, messages: [{ role: 'user', content: 'x' }] }).finalMessage()
    await expect(failed).rejects.toThrow(/projects/)
  })

  test('of JSON arrays are masked as a whole', async () => {
    const list = (): Promise<Response> =>
      fetch(`${gateway.url}/v1beta/models/m:streamGenerateContent`, {
        method: 'POST',
        headers: { 'x-goog-api-key': KEY, 'content-type': 'application/json' },
        body: '{"contents":[{"role":"user","parts":[{"text":"x"}]}]}',
      })
    pieces = cut(long)
    const events = (await (await list()).json()) as { candidates?: { content?: { parts?: { text?: string }[] } }[] }[]
    expect(events.flatMap(({ candidates }) => candidates?.[0]?.content?.parts?.[0]?.text ?? '').join('')).toBe(masked)
    pieces = cut('lorem ipsum Blue Heron dolor')
    const refused = await (await list()).json()
    expect(JSON.stringify(refused)).toMatch(/^\[\{.*projects/)
    expect(JSON.stringify(refused)).not.toContain('Heron')
  })
})

test('a wrong pattern is a finding', async () => {
  const failed: unknown = await startGateway({
    upstreams: { one: { provider: 'together', base, secret: 'none' } },
    patterns: {
      a: { match: '(\\w+) \\1' },
      b: { match: ['fine', '(?=ahead)'] },
      c: { match: 'x', routes: ['chats'] },
      d: { match: 'x*' },
    },
  }).catch((error: unknown) => error)
  expect([...(failed as Error).message.matchAll(/ {2}([a-z]+\/[a-z-]+)/g)].map(([, rule]) => rule)).toEqual([
    'pattern/syntax',
    'pattern/syntax',
    'names/route',
  ])
  for (const pattern of [{}, { match: 'x', words: ['y'] }, { match: 'x', mask: 'a"b' }, { words: [' y'] }]) {
    const wrong: unknown = await startGateway({ patterns: { e: pattern } }).catch((error: unknown) => error)
    expect((wrong as Error).message).toMatch(/grammar\//)
  }
})

/** A person's or a model's text where a provider of the client's own dialect gets it, or gives it: what tools saw, ran and found. */
describe('texts of tools and documents', () => {
  const MEDIA = '4111111111111111'
  const send = (path: string, body: Body): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(body),
    })
  const plain = { type: 'text', media_type: 'text/plain', data: CARD }
  const found = { type: 'search_result', source: 'https://x.example', title: 'x', content: [{ type: 'text', text: CARD }] }
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: `iVBORw0KGgo/${MEDIA}` } }
  const documents = [
    { type: 'document', source: plain },
    { type: 'document', source: { type: 'content', content: CARD } },
    { type: 'document', source: { type: 'content', content: [{ type: 'text', text: CARD }, image] } },
    found,
    image,
  ]
  const ran = { type: 'bash_code_execution_result', stdout: CARD, stderr: CARD, return_code: 0, content: [] }
  const fetched = { type: 'web_fetch_result', url: 'https://x.example', content: { type: 'document', source: plain, title: CARD } }
  const cited = { type: 'char_location', cited_text: CARD, document_title: CARD, document_index: 0, start_char_index: 0, end_char_index: 1 }
  const blocks = [
    { type: 'text', text: CARD, citations: [cited] },
    { type: 'bash_code_execution_tool_result', tool_use_id: 'srvtoolu_1', content: ran },
    { type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_1', content: fetched },
    { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [{ type: 'text', text: CARD }] },
  ]
  const called = [
    {
      type: 'code_interpreter_call',
      id: 'ci_1',
      status: 'completed',
      container_id: 'c',
      code: CARD,
      outputs: [{ type: 'logs', logs: CARD }],
    },
    { type: 'shell_call', id: 'sh_1', call_id: 's', status: 'completed', action: { commands: [CARD] } },
    { type: 'apply_patch_call', id: 'p_1', call_id: 'p', status: 'completed', operation: { type: 'update_file', path: 'x', diff: CARD } },
    { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: [CARD], results: [{ file_id: 'f', text: CARD }] },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: CARD, queries: [CARD] } },
    { type: 'mcp_call', id: 'mcp_1', name: 'f', server_label: 's', arguments: JSON.stringify({ card: CARD }), output: CARD },
    {
      type: 'computer_call',
      id: 'cu_1',
      call_id: 'u',
      status: 'completed',
      action: { type: 'type', text: CARD },
      pending_safety_checks: [],
    },
    {
      type: 'local_shell_call',
      id: 'ls_1',
      call_id: 'l',
      status: 'completed',
      action: { type: 'exec', command: ['echo', CARD], env: { CARD } },
    },
    { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: MEDIA, revised_prompt: CARD },
  ]
  const items = [
    ...called,
    { type: 'shell_call_output', call_id: 's', output: [{ stdout: CARD, stderr: CARD, outcome: { type: 'exit', exit_code: 0 } }] },
    { role: 'user', content: [{ type: 'input_image', image_url: `data:image/png;base64,${MEDIA}` }] },
  ]
  const variables = { card: CARD, part: { type: 'input_text', text: CARD }, image: { type: 'input_image', image_url: `data:,${MEDIA}` } }
  const thoughts = [
    { type: 'reasoning.text', text: CARD, index: 0 },
    { type: 'reasoning.summary', summary: CARD, index: 1 },
  ]
  const code = [{ executableCode: { language: 'PYTHON', code: CARD } }, { codeExecutionResult: { outcome: 'OUTCOME_OK', output: CARD } }]
  const turn = (content: unknown): Body[] => [{ role: 'user', content }]
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'x', stop_reason: 'end_turn', stop_sequence: null }
  const response = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'x' }

  test.each<[string, string, Body]>([
    ['documents', '/v1/messages', { model: 'claude', max_tokens: 9, messages: turn(documents) }],
    ['counted documents', '/v1/messages/count_tokens', { model: 'claude', messages: turn(documents) }],
    [
      'results of tools',
      '/v1/messages',
      { model: 'claude', max_tokens: 9, messages: turn([{ type: 'tool_result', tool_use_id: 'toolu_1', content: documents }]) },
    ],
    [
      'results of server tools',
      '/v1/messages',
      { model: 'claude', max_tokens: 9, messages: [...turn('x'), { role: 'assistant', content: [...blocks, image] }] },
    ],
    ['items', '/v1/responses', { model: 'gpt', input: items, prompt: { id: 'pmpt_1', variables } }],
    ['counted items', '/v1/responses/input_tokens', { model: 'gpt', input: items }],
    [
      'reasoning',
      '/v1/chat/completions',
      {
        model: 'gpt',
        messages: [
          ...turn([{ type: 'image_url', image_url: { url: `data:,${MEDIA}` } }]),
          { role: 'assistant', content: 'x', reasoning: CARD, reasoning_details: thoughts },
        ],
        tools: [{ type: 'custom', custom: { name: 'f', description: CARD } }],
      },
    ],
    [
      'code',
      '/v1beta/models/gemini:generateContent',
      {
        contents: [
          { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: MEDIA } }] },
          { role: 'model', parts: code },
        ],
      },
    ],
  ])('of requests are masked, and media are not: %s', async (_name, path, body) => {
    await (await send(path, body)).text()
    expect(seen).toHaveLength(1)
    const [{ text }] = seen as [(typeof seen)[0]]
    expect(text).not.toContain(CARD)
    expect(text).toContain('[card]')
    expect(text).toContain(MEDIA)
  })

  test.each<[string, Body]>([
    ['/v1/messages', { max_tokens: 9, type: 'base64', messages: [{ role: 'user', type: 'base64', content: CARD }] }],
    ['/v1/messages', { max_tokens: 9, messages: turn([{ type: 'document', source: { ...plain, extra: { type: 'base64' } } }]) }],
    ['/v1/responses', { type: 'response.audio.delta', input: [{ type: 'message', role: 'user', content: CARD }] }],
  ])('of requests are not hidden by what marks media elsewhere: %s %j', async (path, body) => {
    expect((await send(path, { model: 'm', ...body })).status).toBe(200)
    expect(seen[0]?.text).toContain('[card]')
    expect(seen[0]?.text).not.toContain(CARD)
  })

  test.each<[string, string, Body, Body]>([
    [
      'blocks',
      '/v1/messages',
      { model: 'claude', max_tokens: 9, messages: turn('x') },
      { ...message, content: blocks, usage: { input_tokens: 1, output_tokens: 1 } },
    ],
    [
      'items',
      '/v1/responses',
      { model: 'gpt', input: 'x' },
      { ...response, output: called, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
    ],
    [
      'reasoning',
      '/v1/chat/completions',
      { model: 'gpt', messages: turn('x') },
      {
        ...{ id: 'c', object: 'chat.completion', created: 1, model: 'x' },
        choices: [{ index: 0, message: { role: 'assistant', content: CARD, reasoning_details: thoughts }, finish_reason: 'stop' }],
      },
    ],
  ])('of answers are masked: %s', async (_name, path, body, given) => {
    answered = given
    const text = await (await send(path, body)).text()
    expect(text).not.toContain(CARD)
    expect(text).toContain('[card]')
  })

  test('of streams are masked, whole and in pieces', async () => {
    const event = (type: string, said: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...said })}\n\n`
    const details = (text: string): string => chunk({ reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] })
    script = [...cut(`it is ${CARD}.`).map(details), chunk({ content: 'ok' }), chunk({}, 'stop'), 'data: [DONE]\n\n']
    const chat = await (await send('/v1/chat/completions', { model: 'gpt', messages: turn('x'), stream: true })).text()
    const told = [...chat.matchAll(/"reasoning_details":\[\{"type":"reasoning.text","text":"([^"]*)"/g)].map(([, text]) => text).join('')
    expect(told).toBe('it is [card].')
    script = [
      event('message_start', { message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } }),
      ...blocks.flatMap((content_block, index) => [
        event('content_block_start', { index, content_block }),
        event('content_block_delta', { index, delta: { type: 'citations_delta', citation: cited } }),
        event('content_block_stop', { index }),
      ]),
      event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } }),
      event('message_stop', {}),
    ]
    const messages = await (await send('/v1/messages', { model: 'claude', max_tokens: 9, messages: turn('x'), stream: true })).text()
    script = [
      ...called.map((item, index) => event('response.output_item.done', { sequence_number: index, output_index: index, item })),
      event('response.completed', { sequence_number: called.length, response: { ...response, output: called, usage: null } }),
    ]
    const responses = await (await send('/v1/responses', { model: 'gpt', input: 'x', stream: true })).text()
    for (const [text, end] of [
      [messages, 'message_stop'],
      [responses, 'response.completed'],
    ] as const) {
      expect(text).not.toContain(CARD)
      expect(text).toContain(end)
    }
    expect(responses).toContain(MEDIA)
  })
})
