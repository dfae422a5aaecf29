// A minimal request, answer, stream and in-stream failure of each text dialect, for the tests of the engine's guarantees.

import { KEY } from '../harness.js'

export interface Dialect {
  name: string
  /** A provider that speaks it, and prefers it. */
  provider: string
  path(stream: boolean, model?: string): string
  headers: Record<string, string>
  body(stream: boolean, model?: string): Record<string, unknown>
  /** A whole answer that says `Hi`. */
  answer: Record<string, unknown>
  /** The events before the text, one with a piece of text, and those behind it, as they are written. */
  begin: string
  text(content: string): string
  end: string
  /** An error, as a body and as an event of a stream. */
  error: Record<string, unknown>
  errorEvent: string
  /** What only a stream that ended well may hold. */
  proof: RegExp
  /** The message in an error body or event. */
  messageOf(error: unknown): string | undefined
  /** The members of an error that say of which kind it is. */
  wordOf(error: unknown): string | undefined
}

const line = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`
const named = (event: { type: string; [member: string]: unknown }): string => `event: ${event.type}\n${line(event)}`
type Told = { error?: { message?: string; type?: string; status?: string } }
type Failed = { response?: { error: { code: string; message: string } } }
const messageOf = (error: unknown): string | undefined => (error as Told).error?.message

const chunkOf = (delta: object, finish: string | null, more = {}): string =>
  line({
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more,
  })

const chat: Dialect = {
  name: 'chat',
  provider: 'openai',
  path: () => '/v1/chat/completions',
  headers: { authorization: `Bearer ${KEY}` },
  body: (stream, model = 'm') => ({ model, stream, messages: [{ role: 'user', content: 'x' }] }),
  answer: {
    id: 'c1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  begin: chunkOf({ role: 'assistant', content: '' }, null),
  text: content => chunkOf({ content }, null),
  end:
    chunkOf({}, 'stop') +
    line({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    }) +
    'data: [DONE]\n\n',
  error: { error: { message: 'Told by the upstream.', type: 'server_error', code: null, param: null } },
  errorEvent: line({ error: { message: 'Told by the upstream.', type: 'server_error', code: null, param: null } }),
  proof: /\[DONE\]|"finish_reason":"/,
  messageOf,
  wordOf: error => (error as Told).error?.type,
}

const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  },
}

const messages: Dialect = {
  name: 'messages',
  provider: 'anthropic',
  path: () => '/v1/messages',
  headers: { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' },
  body: (stream, model = 'm') => ({ model, stream, max_tokens: 100, messages: [{ role: 'user', content: 'x' }] }),
  answer: {
    ...start.message,
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  begin: named(start) + named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  text: content => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: content } }),
  end:
    named({ type: 'content_block_stop', index: 0 }) +
    named({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } } as {
      type: string
    }) +
    named({ type: 'message_stop' }),
  error: { type: 'error', error: { type: 'api_error', message: 'Told by the upstream.' } },
  errorEvent: named({ type: 'error', error: { type: 'api_error', message: 'Told by the upstream.' } }),
  proof: /message_stop|message_delta/,
  messageOf,
  wordOf: error => (error as Told).error?.type,
}

const output = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
}
const response = (status: string, more: object = {}): Record<string, unknown> => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status,
  model: 'm',
  output: [],
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  ...more,
})
const usage = {
  input_tokens: 3,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 2,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 5,
}
const step = (type: string, number: number, more: object): string => named({ type, sequence_number: number, ...more })

const responses: Dialect = {
  name: 'responses',
  provider: 'openai',
  path: () => '/v1/responses',
  headers: { authorization: `Bearer ${KEY}` },
  body: (stream, model = 'm') => ({ model, stream, input: 'x' }),
  answer: response('completed', { output: [output], usage }),
  begin:
    step('response.created', 0, { response: response('in_progress') }) +
    step('response.output_item.added', 1, { output_index: 0, item: { ...output, status: 'in_progress', content: [] } }) +
    step('response.content_part.added', 2, {
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    }),
  text: content =>
    step('response.output_text.delta', 3, { item_id: 'msg_1', output_index: 0, content_index: 0, delta: content, logprobs: [] }),
  end: step('response.completed', 4, { response: response('completed', { output: [output], usage }) }),
  error: { error: { message: 'Told by the upstream.', type: 'server_error', code: null, param: null } },
  errorEvent: step('error', 4, { code: 'server_error', message: 'Told by the upstream.', param: null }),
  proof: /response\.completed|response\.incomplete/,
  // A stream that fails ends with the response that failed.
  messageOf: error => (error as Failed).response?.error.message ?? messageOf(error),
  wordOf: error => (error as Failed).response?.error.code ?? (error as Told).error?.type,
}

const candidate = (content: string | undefined, finish?: string): string =>
  line({
    candidates: [
      {
        index: 0,
        ...(content !== undefined && { content: { role: 'model', parts: [{ text: content }] } }),
        ...(finish && { finishReason: finish }),
      },
    ],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    modelVersion: 'm',
    responseId: 'r1',
  })

const generate: Dialect = {
  name: 'generate',
  provider: 'gemini',
  path: (stream, model = 'm') => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  headers: { 'x-goog-api-key': KEY },
  body: () => ({ contents: [{ role: 'user', parts: [{ text: 'x' }] }] }),
  answer: {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    modelVersion: 'm',
    responseId: 'r1',
  },
  begin: candidate(''),
  text: content => candidate(content),
  end: candidate(undefined, 'STOP'),
  error: { error: { code: 500, message: 'Told by the upstream.', status: 'INTERNAL' } },
  errorEvent: line({ error: { code: 500, message: 'Told by the upstream.', status: 'INTERNAL' } }),
  proof: /finishReason/,
  messageOf,
  wordOf: error => (error as Told).error?.status,
}

export const dialects = { chat, messages, responses, generate } as const

export interface Pair {
  /** What the client speaks, and what its upstream does. */
  client: Dialect
  upstream: Dialect
}

/** Each dialect with itself, where bytes pass, and some with another, where they are translated. */
export const PAIRS: [string, Pair][] = [
  ['chat', { client: chat, upstream: chat }],
  ['messages', { client: messages, upstream: messages }],
  ['responses', { client: responses, upstream: responses }],
  ['generate', { client: generate, upstream: generate }],
  ['chat on messages', { client: chat, upstream: messages }],
  ['messages on chat', { client: messages, upstream: chat }],
  ['responses on messages', { client: responses, upstream: messages }],
]

/** The data of the events that a client received. */
export function eventsIn(text: string): string[] {
  return text
    .split(/\r?\n\r?\n/)
    .flatMap(block => block.split(/\r?\n/).filter(one => one.startsWith('data:')))
    .map(one => one.slice(5).trim())
}

/** The last event, parsed; nothing if it is no JSON. */
export function lastEvent(text: string): unknown {
  try {
    return JSON.parse(eventsIn(text).at(-1) ?? '')
  } catch {
    return undefined
  }
}
