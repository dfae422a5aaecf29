// Numbers in the application's own JSON keep their digits in every translation: schemas, arguments and results of tools, whole
// and streamed, in every pair of text dialects.

import { beforeAll, describe, expect, test } from 'vitest'
import { keepDigits, releaseDigits } from '../../engine/wire/json/digits.js'
import { startGateway, type TestGateway } from '../harness.js'
import { dialects } from './dialects.js'
import { ask, closing } from './fake-upstreams.js'
import { json, type Request, startUpstream, stream } from './upstream.js'

const NAMES = ['chat', 'messages', 'generate', 'responses'] as const
type Name = (typeof NAMES)[number]
const NUMBERS = '[12345678901234567890,9007199254740993,1.0,-0.0,1e400,0.10,1E5,-1.5e-7,7,"1.0"]'
const ARGS = `{"id":9223372036854775807,"list":${NUMBERS}}`
const RESULT = `{"found":18446744073709551615,"list":${NUMBERS}}`
const SCHEMA = `{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807,"default":1.0}},"required":["id"]}`

/** The JSON text of a value in which `@ARGS` and the like are replaced by JSON, and `text:@ARGS` by a text that contains it. */
function written(value: unknown): string {
  const parts: Record<string, string> = { '@ARGS': ARGS, '@RESULT': RESULT, '@SCHEMA': SCHEMA }
  return JSON.stringify(value).replaceAll(/"(text:)?(@[A-Z]+)"/g, (_all, text, name) => {
    const json = parts[name] as string
    return text ? JSON.stringify(json) : json
  })
}

const REQUESTS: Record<Name, Record<string, unknown>> = {
  chat: {
    model: 'm',
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: 'text:@ARGS' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'text:@RESULT' },
    ],
    tools: [{ type: 'function', function: { name: 'look', parameters: '@SCHEMA' } }],
  },
  messages: {
    model: 'm',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: '@ARGS' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'text:@RESULT' }] },
    ],
    tools: [{ name: 'look', input_schema: '@SCHEMA' }],
  },
  generate: {
    contents: [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: [{ functionCall: { name: 'look', args: '@ARGS' } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'look', response: '@RESULT' } }] },
    ],
    tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: '@SCHEMA' }] }],
  },
  responses: {
    model: 'm',
    input: [
      { role: 'user', content: 'x' },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: 'text:@ARGS' },
      { type: 'function_call_output', call_id: 'call_1', output: 'text:@RESULT' },
    ],
    tools: [{ type: 'function', name: 'look', parameters: '@SCHEMA', strict: false }],
  },
}

const usage = {
  input_tokens: 3,
  output_tokens: 2,
  total_tokens: 5,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
}
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: 'text:@ARGS', status: 'completed' }
const ANSWERS: Record<Name, Record<string, unknown>> = {
  chat: {
    ...dialects.chat.answer,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: 'text:@ARGS' } }],
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  messages: {
    ...dialects.messages.answer,
    content: [{ type: 'tool_use', id: 'call_1', name: 'look', input: '@ARGS' }],
    stop_reason: 'tool_use',
  },
  generate: {
    ...dialects.generate.answer,
    candidates: [
      { index: 0, content: { role: 'model', parts: [{ functionCall: { name: 'look', args: '@ARGS' } }] }, finishReason: 'STOP' },
    ],
  },
  responses: { ...dialects.responses.answer, output: [call] },
}

const half = ARGS.length >> 1
const chatChunk = (delta: object, finish: string | null = null): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const EVENTS: Record<Name, unknown[]> = {
  chat: [
    chatChunk({ role: 'assistant', tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }] }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: ARGS.slice(0, half) } }] }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: ARGS.slice(half) } }] }),
    chatChunk({}, 'tool_calls'),
  ],
  messages: [
    { type: 'message_start', message: { ...dialects.messages.answer, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'call_1', name: 'look', input: {} } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: ARGS.slice(0, half) } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: ARGS.slice(half) } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ],
  generate: [ANSWERS.generate],
  responses: [
    {
      type: 'response.created',
      sequence_number: 0,
      response: { ...dialects.responses.answer, status: 'in_progress', output: [], usage: null },
    },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...call, arguments: '', status: 'in_progress' } },
    { type: 'response.function_call_arguments.delta', sequence_number: 2, output_index: 0, item_id: 'fc_1', delta: ARGS.slice(0, half) },
    { type: 'response.function_call_arguments.delta', sequence_number: 3, output_index: 0, item_id: 'fc_1', delta: ARGS.slice(half) },
    { type: 'response.function_call_arguments.done', sequence_number: 4, output_index: 0, item_id: 'fc_1', arguments: 'text:@ARGS' },
    { type: 'response.output_item.done', sequence_number: 5, output_index: 0, item: call },
    { type: 'response.completed', sequence_number: 6, response: { ...ANSWERS.responses, usage } },
  ],
}

const framed = (name: Name, event: unknown): string => {
  const { type } = event as { type?: string }
  return `${type !== undefined && (name === 'messages' || name === 'responses') ? `event: ${type}\n` : ''}data: ${written(event)}\n\n`
}
const streamed = (name: Name): string =>
  EVENTS[name].map(event => framed(name, event)).join('') + (name === 'chat' ? 'data: [DONE]\n\n' : '')

/** A text without the quotes and escapes that JSON inside JSON has. */
const bare = (text: string): string => text.replaceAll('\\', '').replaceAll(/\s/g, '')
/** What deltas of arguments add up to, in each client's words. */
function gathered(text: string): string {
  let arguments_ = ''
  for (const [, data] of text.matchAll(/^data: ?(\{.*\})\r?$/gm)) {
    const event = JSON.parse(data as string)
    arguments_ += event.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments ?? event.delta?.partial_json ?? ''
    if (event.type === 'response.function_call_arguments.delta') arguments_ += event.delta
  }
  return arguments_ === '' ? text : arguments_
}

const SPEAKERS: Record<Name, string> = { chat: 'together', messages: 'anthropic', generate: 'gemini', responses: 'only_responses' }
const OWN = {
  'providers/only_responses.yaml':
    'title: Responses alone\nbase: http://127.0.0.1:9\ncredential: { header: authorization }\nspeaks: { responses: /v1/responses }\n',
}

/** What the upstreams give: words, or a call; and what they were asked, the last one last. */
let isCalling = false
const asked: Request[] = []
let gateway: TestGateway

beforeAll(async () => {
  const upstreams: Record<string, unknown> = {}
  const models: Record<string, unknown> = {}
  for (const name of NAMES) {
    const upstream = await startUpstream((socket, request) => {
      asked.push(request)
      if (/"stream":true|streamGenerate/.test(request.text)) stream(streamed(name))(socket, request)
      else json(socket, 200, isCalling ? written(ANSWERS[name]) : dialects[name].answer)
    })
    closing(upstream)
    upstreams[name] = { provider: SPEAKERS[name], base: upstream.url, secret: 'some-secret' }
    models[`on-${name}`] = { targets: [{ upstream: name }] }
  }
  gateway = closing(await startGateway({ upstreams, models }, OWN))
  // An overlay is compiled with all of the built-in data.
})

/** What a client asks, as it is written, of the provider of a dialect. */
function send(client: Name, upstream: Name, isStream: boolean): Promise<Response> {
  const model = `on-${upstream}`
  const request = client === 'generate' ? REQUESTS.generate : { ...REQUESTS[client], model, ...(isStream && { stream: true }) }
  return ask(gateway, { dialect: dialects[client], model, stream: isStream, body: written(request) })
}

const PAIRS = NAMES.flatMap(client => NAMES.map((upstream): [Name, Name] => [client, upstream]))

describe.each(PAIRS)('%s to %s', (client, upstream) => {
  test('the numbers of schemas, arguments and results of a request keep their digits', async () => {
    isCalling = false
    const response = await send(client, upstream, false)
    expect(await response.text()).toContain('Hi')
    const sent = bare(asked.at(-1)?.body ?? '')
    expect(sent).toContain(ARGS)
    expect(sent).toContain(RESULT)
    expect(sent).toContain('"maximum":9223372036854775807')
    expect(sent).toContain('"default":1.0')
  })

  test('the numbers of arguments in a whole answer keep their digits', async () => {
    isCalling = true
    expect(bare(await (await send(client, upstream, false)).text())).toContain(ARGS)
  })

  test('the numbers of arguments in a stream keep their digits', async () => {
    const text = await (await send(client, upstream, true)).text()
    expect(text).toMatch(dialects[client].proof)
    expect(bare(gathered(text))).toContain(ARGS)
  })
})

test.each(['chat', 'messages', 'responses'] as const)('snake case and both cases keep the digits of numbers, to %s', async upstream => {
  for (const [declarations, parameters, called, told] of [
    ['functionDeclarations', 'parameters_json_schema', 'functionCall', 'function_response'],
    ['function_declarations', 'parametersJsonSchema', 'function_call', 'functionResponse'],
    ['function_declarations', 'parameters_json_schema', 'function_call', 'function_response'],
  ] as const) {
    const contents = [
      { role: 'user', parts: [{ text: 'x' }] },
      { role: 'model', parts: [{ [called]: { name: 'look', args: '@ARGS' } }] },
      { role: 'user', parts: [{ [told]: { name: 'look', response: '@RESULT' } }] },
    ]
    const body = written({ contents, tools: [{ [declarations]: [{ name: 'look', [parameters]: '@SCHEMA' }] }] })
    isCalling = false
    const response = await ask(gateway, { dialect: dialects.generate, model: `on-${upstream}`, stream: false, body })
    expect(await response.text()).toContain('Hi')
    const sent = bare(asked.at(-1)?.body ?? '')
    expect(sent).toContain(ARGS)
    expect(sent).toContain(RESULT)
    expect(sent).toContain('"maximum":9223372036854775807')
  }
})

/** A schema in the provider's own language, whose members have types of their own. */
const OWN_SCHEMA =
  '{"type":"OBJECT","properties":{"a":{"type":"NUMBER","minimum":0.0,"maximum":9007199254740993},"b":{"type":"ARRAY","maxItems":9223372036854775807,"items":{"type":"STRING"}}}}'
const MEMBERS: [name: string, body: string][] = [
  ['parameters', `"tools":[{"functionDeclarations":[{"name":"look","parameters":${OWN_SCHEMA}}]}]`],
  ['responseSchema', `"generationConfig":{"responseMimeType":"application/json","responseSchema":${OWN_SCHEMA}}`],
  ['responseJsonSchema', `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":${lower(OWN_SCHEMA)}}`],
  ['responseFormat', `"generationConfig":{"responseFormat":{"text":{"mimeType":"application/json","schema":${lower(OWN_SCHEMA)}}}}`],
  ['response_format', `"generation_config":{"response_format":[{"text":{"mime_type":"application/json","schema":${lower(OWN_SCHEMA)}}}]}`],
]

function lower(schema: string): string {
  return schema.replaceAll(/"[A-Z]+"/g, word => word.toLowerCase())
}

describe.each(MEMBERS)('a schema of generate in %s', (_name, members) => {
  test.each(NAMES)('keeps the digits of its numbers on the way to %s', async upstream => {
    isCalling = false
    const body = `{"contents":[{"parts":[{"text":"x"}]}],${members}}`
    const response = await ask(gateway, { dialect: dialects.generate, model: `on-${upstream}`, stream: false, body })
    expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 })
    const sent = bare(asked.at(-1)?.body ?? '')
    for (const number of ['0.0', '9007199254740993', '9223372036854775807']) expect(sent).toContain(number)
  })
})

test('a value that is not a number is refused where a number is required', async () => {
  for (const wrong of ['"a"', '{}', '[]']) {
    const body = `{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"NUMBER","minimum":${wrong},"maximum":1.0}}]}]}`
    const response = await ask(gateway, { dialect: dialects.generate, model: 'on-chat', stream: false, body })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain("parameters.minimum': expected number.")
  }
})

test('keepDigits and releaseDigits change neither numbers nor texts', () => {
  for (const text of [ARGS, RESULT, SCHEMA, '[1,-1,0,1.5,"1e5","a\\"1.0",123456789012345]', '{"1.0":[1.0]}']) {
    expect(releaseDigits(JSON.stringify(JSON.parse(keepDigits(text))))).toBe(text)
  }
})

test('keepDigits accepts strings of any length and content', () => {
  for (const text of ['x'.repeat(24_000_000), '\n'.repeat(8_000_000), '\\"1.0'.repeat(1000), '\\\\']) {
    const json = `{"a":1.0,"b":${JSON.stringify(text)},"c":1e400}`
    const kept = keepDigits(json)
    expect(JSON.parse(kept).b === text).toBe(true)
    expect(releaseDigits(kept) === json).toBe(true)
  }
})
