// Provider values of another type than the API's: converted if their meaning is obvious, otherwise no answer. They never cause
// an internal error, and the next target is tried as long as nothing has been sent.

import { describe, expect, test } from 'vitest'
import { type Dialect, dialects, lastEvent, type Pair } from './dialects.js'
import { ask, requestLines, setUp, setUpPair } from './fake-upstreams.js'
import { json, stream } from './upstream.js'

/** Every pair that is translated, by a provider that prefers its dialect. */
const ALL: [string, Pair][] = Object.values(dialects).flatMap(client =>
  Object.values(dialects)
    .filter(upstream => upstream.provider !== client.provider && upstream !== dialects.responses)
    .map((upstream): [string, Pair] => [`${client.name} on ${upstream.name}`, { client, upstream }]),
)

const OTHERS: readonly unknown[] = [null, true, 5, '12', [{}], { a: 1 }]

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** The value with one of its members, or elements, each time another one: the leaves, and what holds them. */
function* mutants(value: unknown): Generator<{ at: string; value: unknown }> {
  if (typeof value !== 'object' || value === null) return
  const holder = value as Record<string, unknown>
  for (const [name, item] of Object.entries(holder)) {
    const put = (other: unknown): unknown =>
      Array.isArray(value) ? value.map((old, index) => (String(index) === name ? other : old)) : { ...holder, [name]: other }
    for (const other of OTHERS) if (kindOf(other) !== kindOf(item)) yield { at: `${name} = ${JSON.stringify(other)}`, value: put(other) }
    for (const inner of mutants(item)) yield { at: `${name}.${inner.at}`, value: put(inner.value) }
  }
}

/** Data of the events of a whole stream, and that with one of them changed. */
function* mutantStreams({ begin, text, end }: Dialect): Generator<{ at: string; text: string }> {
  const blocks = (begin + text('Hi') + end).split('\n\n').filter(block => block !== '')
  for (const [index, block] of blocks.entries()) {
    const [, head = '', data = ''] = /^([\s\S]*?data: )(.*)$/.exec(block) ?? []
    if (!data.startsWith('{')) continue
    for (const { at, value } of mutants(JSON.parse(data)))
      yield {
        at: `event ${index}: ${at}`,
        text: [...blocks.slice(0, index), head + JSON.stringify(value), ...blocks.slice(index + 1)].map(one => `${one}\n\n`).join(''),
      }
  }
}

describe.concurrent.each(ALL)('%s', (_name, pair) => {
  const { client, upstream } = pair

  test('whole answers', async () => {
    let answer: unknown
    const { gateway } = await setUpPair(pair, [socket => json(socket, 200, answer)])
    const wrong: string[] = []
    let understood = 0
    for (const { at, value } of mutants(upstream.answer)) {
      answer = value
      const response = await ask(gateway, { dialect: client })
      const body = await response.json()
      if (response.status === 200) understood++
      else if (response.status < 501) wrong.push(`${at}: ${response.status} ${client.messageOf(body)}`)
    }
    expect(wrong).toEqual([])
    expect(understood).toBeGreaterThan(15)
  })

  test('events', async () => {
    let answer = ''
    const { gateway } = await setUpPair(pair, [(socket, request) => stream(answer)(socket, request)])
    const wrong: string[] = []
    for (const { at, text } of mutantStreams(upstream)) {
      answer = text
      const before = gateway.log.filter(({ msg }) => msg === 'request').length
      const response = await ask(gateway, { dialect: client, stream: true })
      await response.text()
      if (response.status !== 200 && response.status < 501) wrong.push(`${at}: ${response.status}`)
      const line = (await requestLines(gateway, before + 1))[before] as { error?: { kind: string; cause?: string } }
      if (line.error?.kind === 'internal') wrong.push(`${at}: internal ${line.error.cause}`)
    }
    expect(wrong).toEqual([])
  })

  test('a piece of text of another type', async () => {
    let piece = ''
    const { gateway } = await setUpPair(pair, [
      (socket, request) => stream(upstream.begin + upstream.text('Hi') + piece + upstream.end)(socket, request),
    ])
    // A number is a text plainly.
    piece = upstream.text('Hi').replaceAll('"Hi"', '7731')
    const understood = await (await ask(gateway, { dialect: client, stream: true })).text()
    expect(understood).toContain('"7731"')
    expect(understood).toMatch(client.proof)
    piece = upstream.text('Hi').replaceAll('"Hi"', '{"a":1}')
    const broken = await (await ask(gateway, { dialect: client, stream: true })).text()
    expect(broken).toContain('"Hi"')
    expect(client.messageOf(lastEvent(broken))).toBe('The upstream sent an event that could not be translated.')
    expect(broken).not.toMatch(client.proof)
  })

  test('a first event of another type: the next target answers', async () => {
    const good = upstream.begin + upstream.text('Hi') + upstream.end
    const first = (upstream.begin + upstream.text('Hi')).replace(/"(index|choices|message)":(\d|\[|\{)/, '"$1":true,"was":$2')
    const stage = await setUpPair(pair, [stream(upstream === dialects.generate ? WRONG_CANDIDATES : first), stream(good)])
    const text = await (await ask(stage.gateway, { dialect: client, stream: true })).text()
    expect(text).toContain('"Hi"')
    expect(text).toMatch(client.proof)
    expect((await requestLines(stage.gateway))[0]).toMatchObject({ target: 'up1/m' })
  })

  test('an answer that cannot be understood: the next target answers', async () => {
    const stage = await setUpPair(pair, [
      socket => json(socket, 200, unreadable[upstream.name]),
      socket => json(socket, 200, upstream.answer),
    ])
    const response = await ask(stage.gateway, { dialect: client })
    expect(await response.text()).toContain('"Hi"')
    expect(stage.upstreams.map(({ requests }) => requests.length)).toEqual([1, 1])
    expect((await requestLines(stage.gateway))[0]).toMatchObject({
      target: 'up1/m',
      failed: [{ target: 'up0/m', kind: 'upstream', cause: expect.stringMatching(/^'\w+' should be array$|is no answer\.$/) }],
    })
  })

  test('a value with an obvious meaning is accepted', async () => {
    const { gateway } = await setUpPair(pair, [socket => json(socket, 200, plain[upstream.name])])
    const response = await ask(gateway, { dialect: client })
    const text = await response.text()
    expect({ status: response.status, text }).toEqual({ status: 200, text: expect.stringContaining('"Hi"') })
    expect((await requestLines(gateway))[0]).toMatchObject({ usage: { input: 3, output: 2 } })
  })
})

const WRONG_CANDIDATES = 'data: {"candidates":true}\n\n'

/** The list that is the answer itself has another type. */
const unreadable: Record<string, Record<string, unknown>> = {
  chat: { ...dialects.chat.answer, choices: 5 },
  messages: { ...dialects.messages.answer, content: 5 },
  generate: { ...dialects.generate.answer, candidates: 5 },
}

/** Numbers in text, a name that is a number, null for what is not there. */
const plain: Record<string, Record<string, unknown>> = {
  chat: {
    ...dialects.chat.answer,
    id: 5,
    model: null,
    created: '1',
    usage: { prompt_tokens: '3', completion_tokens: '2', total_tokens: 5 },
  },
  messages: { ...dialects.messages.answer, id: 5, model: null, usage: { input_tokens: '3', output_tokens: '2' } },
  generate: {
    ...dialects.generate.answer,
    responseId: 5,
    modelVersion: null,
    candidates: [{ index: '0', content: { role: null, parts: [{ text: 'Hi', thought: null }] }, finishReason: null }],
    usageMetadata: { promptTokenCount: '3', candidatesTokenCount: '2', totalTokenCount: 5 },
  },
}

test('the log has the reason why an answer was invalid', async () => {
  const { gateway } = await setUp([socket => json(socket, 200, unreadable.messages)], {}, 'anthropic')
  expect((await ask(gateway)).status).toBe(502)
  expect((await requestLines(gateway))[0]).toMatchObject({
    error: { kind: 'upstream', cause: expect.stringMatching(/should be array$|is no answer\.$/) },
    target: 'up0/m',
  })
})

test('an answer that is nested too deeply is invalid', async () => {
  const nested = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const call = { type: 'tool_use', id: 't1', name: 'f', input: 0 }
  const answer = JSON.stringify({ ...dialects.messages.answer, content: [call], stop_reason: 'tool_use' }).replace(
    '"input":0',
    `"input":${nested}`,
  )
  const { gateway } = await setUp([socket => json(socket, 200, answer)], {}, 'anthropic')
  expect((await ask(gateway)).status).toBe(502)
  expect((await requestLines(gateway))[0]).toMatchObject({ error: { kind: 'upstream' } })
})

test('an event that is nested too deeply ends its stream with an error, or is ignored', async () => {
  const { messages } = dialects
  const nested = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  for (const [member, more] of [
    ['"text":"Hi"', `"text":${nested}`],
    ['"index":0', `"index":${nested}`],
    ['"index":0', `"index":0,"more":${nested}`],
  ] as const) {
    const wrong = messages.text('Hi').replace(member, more)
    const { gateway } = await setUp([stream(messages.begin + wrong + messages.end)], {}, 'anthropic')
    const text = await (await ask(gateway, { stream: true })).text()
    const [line] = (await requestLines(gateway)) as [{ error?: { kind: string } }]
    if (line.error) expect(line.error.kind).toBe('upstream')
    else expect(text).toMatch(dialects.chat.proof)
  }
})

test('an event that cannot be translated ends its stream with an error', async () => {
  const { generate, messages } = dialects
  const wrong = generate.end.replace('"STOP"', '{"a":1}')
  const { gateway } = await setUp([stream(generate.begin + generate.text('Hi') + wrong)], {}, 'gemini')
  const text = await (await ask(gateway, { dialect: messages, stream: true })).text()
  expect(text).toContain('"Hi"')
  expect(messages.messageOf(lastEvent(text))).toBe('The upstream sent an event that could not be translated.')
  expect(text).not.toMatch(messages.proof)
  expect((await requestLines(gateway))[0]).toMatchObject({
    error: { kind: 'upstream', cause: "'finishReason' should be string" },
  })
})
