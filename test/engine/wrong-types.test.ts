// Provider values of another type than the API's: converted if their meaning is obvious, otherwise no answer. They never cause
// an internal error, and the next target is tried as long as nothing has been sent.

import { describe, expect, test } from 'vitest'
import { KEY, startGateway } from '../harness.js'
import { type Dialect, dialects, lastEvent, type Pair } from './dialects.js'
import { ask, closing, ONLY_RESPONSES, requestLines, setUp, setUpPair } from './fake-upstreams.js'
import { json, startUpstream, stream } from './upstream.js'

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

  test('a whole answer with a wrong type is valid for the client, or a failure', async () => {
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

  test('an event with a wrong type is valid for the client, or ends the stream with an error', async () => {
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

  test('a piece of text with a wrong type is read if its meaning is obvious, or ends the stream with an error', async () => {
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

  test('the next target answers after a first event with a wrong type', async () => {
    const good = upstream.begin + upstream.text('Hi') + upstream.end
    const first = (upstream.begin + upstream.text('Hi')).replace(/"(index|choices|message)":(\d|\[|\{)/, '"$1":true,"was":$2')
    const stage = await setUpPair(pair, [stream(upstream === dialects.generate ? WRONG_CANDIDATES : first), stream(good)])
    const text = await (await ask(stage.gateway, { dialect: client, stream: true })).text()
    expect(text).toContain('"Hi"')
    expect(text).toMatch(client.proof)
    expect((await requestLines(stage.gateway))[0]).toMatchObject({ target: 'up1/m' })
  })

  test('the next target answers after an answer that cannot be read', async () => {
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

describe.concurrent.each([
  { provider: 'openai', path: '/v1/videos', at: '/v1/videos', answerOf: (id: string) => `{"id": ${id} ,"status":"queued","progress":7}` },
  {
    provider: 'kling',
    path: '/kling/v1/videos/text2video',
    at: '/v1/videos/text2video',
    answerOf: (id: string) => `{"code":0,"data":{"task_status":"submitted","created_at":7,"task_id":${id}}}`,
  },
])('a task of $provider', ({ provider, path, at, answerOf }) => {
  test.each(['7', '12345678901234567890'])('whose id is the number %s is sealed, and can be asked for', async id => {
    const upstream = closing(await startUpstream(socket => json(socket, 200, answerOf(id))))
    // A secret of two parts, as Kling has them.
    const gateway = closing(
      await startGateway({
        upstreams: { one: { provider, base: upstream.url, secret: 'access:secret' } },
        models: { m: { targets: [{ upstream: 'one' }] } },
      }),
    )
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'm', model_name: 'm', prompt: 'A cat.' })
    const made = await (await fetch(gateway.url + path, { method: 'POST', headers, body })).text()
    const sealed = /"(?:task_)?id": ?"([^"]+)"/.exec(made)?.[1]
    expect(made).toBe(answerOf(JSON.stringify(sealed)))
    expect(await (await fetch(`${gateway.url}${path}/${sealed}`, { headers })).text()).toBe(made)
    expect(upstream.requests.at(-1)?.line).toBe(`GET ${at}/${id} HTTP/1.1`)
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

/** Answers that say all that there is: thoughts, text with pages and probabilities, searches, calls. */
const page = { url: 'https://a.example/', title: 'A' }
const tokens = [{ token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [{ token: 'Hi', logprob: -0.1, bytes: [72, 105] }] }]
const RICH: Record<string, Record<string, unknown>> = {
  chat: {
    ...dialects.chat.answer,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Hi',
          refusal: null,
          reasoning_content: 'Hm',
          annotations: [{ type: 'url_citation', url_citation: { ...page, start_index: 0, end_index: 2 } }],
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        },
        logprobs: { content: tokens, refusal: null },
        finish_reason: 'tool_calls',
      },
    ],
  },
  messages: {
    ...dialects.messages.answer,
    content: [
      { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'abc' },
      { type: 'text', text: 'Hi', citations: [{ type: 'web_search_result_location', ...page, encrypted_index: 'x', cited_text: 'Hi' }] },
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ type: 'web_search_result', ...page, encrypted_content: 'x' }],
      },
      { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
  },
  generate: {
    ...dialects.generate.answer,
    candidates: [
      {
        index: 0,
        content: {
          role: 'model',
          parts: [
            { text: 'Hm', thought: true, thoughtSignature: 'c2ln' },
            { text: 'Hi' },
            { functionCall: { id: 'x', name: 'f', args: { a: 1 } }, thoughtSignature: 'c2ln' },
            { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
          ],
        },
        finishReason: 'STOP',
        citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 2, uri: page.url }] },
        groundingMetadata: {
          webSearchQueries: ['q'],
          groundingChunks: [{ web: { uri: page.url, title: 'A' } }],
          groundingSupports: [{ segment: { startIndex: 0, endIndex: 2, text: 'Hi' }, groundingChunkIndices: [0] }],
        },
        logprobsResult: { chosenCandidates: [{ token: 'Hi', logProbability: -0.1 }] },
      },
    ],
  },
  responses: {
    ...dialects.responses.answer,
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }], encrypted_content: 'abc' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [
          {
            type: 'output_text',
            text: 'Hi',
            annotations: [{ type: 'url_citation', ...page, start_index: 0, end_index: 2 }],
            logprobs: tokens,
          },
        ],
      },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"a":1}', status: 'completed' },
    ],
  },
}

/** What a list within an answer is if it is null: empty. */
const EMPTY_LISTS: Record<string, (answer: string) => string[]> = {
  chat: answer => [
    answer.replace(/"annotations":\[.*?\]/, '"annotations":null'),
    answer.replace(/"top_logprobs":\[.*?\}\]/, '"top_logprobs":null'),
  ],
  messages: answer => [answer.replace(/"citations":\[.*?\]/, '"citations":null')],
  generate: answer => [answer.replace(/"groundingChunks":\[.*?\]/, '"groundingChunks":null')],
  responses: answer => [
    answer.replace(/"annotations":\[.*?\]/, '"annotations":null'),
    answer.replace(/"summary":\[.*?\]/, '"summary":null'),
  ],
}

describe.concurrent.each(Object.keys(RICH))('an answer of %s with all members', name => {
  test('causes no internal error with a value of a wrong type, and may have null for a list', async () => {
    let answer = ''
    const upstream = closing(await startUpstream(socket => json(socket, 200, answer)))
    const provider = { chat: 'together', messages: 'anthropic', generate: 'gemini', responses: 'only_responses' }[name]
    const gateway = closing(
      await startGateway(
        { upstreams: { one: { provider, base: upstream.url, secret: 'x' } }, models: { m: { targets: [{ upstream: 'one' }] } } },
        ONLY_RESPONSES,
      ),
    )
    const rich = JSON.stringify(RICH[name])
    const wrong: string[] = []
    const clients = Object.values(dialects).filter(client => client.name !== name)
    // Each mutant is told to one client, so that it does not take long.
    for (const [turn, client] of clients.entries()) {
      const said = async (text: string): Promise<number> => {
        answer = text
        const response = await ask(gateway, { dialect: client })
        await response.text()
        return response.status
      }
      for (const text of [rich, ...(EMPTY_LISTS[name]?.(rich) ?? [])])
        if ((await said(text)) !== 200) wrong.push(`${client.name}: refused ${text}`)
      for (const { at, value } of [...mutants(RICH[name])].filter((_mutant, index) => index % clients.length === turn)) {
        const status = await said(JSON.stringify(value))
        if (status !== 200 && status < 501) wrong.push(`${client.name}: ${at}: ${status}`)
      }
    }
    expect(wrong).toEqual([])
  })
})

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
