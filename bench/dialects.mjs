/**
 * The bytes on the wire: the benchmark's requests, its upstream's answers, and readers for answers. Every answer has the
 * same text, so that a translated answer can be compared with it.
 *
 * A dialect: `path(model, stream)`, `request({ model, stream, bytes })` → JSON text, `answer` and `events` (of the
 * upstream; absent if only clients speak the dialect), `read(json)` → text, `readStream(events)` →
 * { deltas, ended }.
 */

export const CHUNKS = 64
export const DIMENSIONS = 1536
/** Milliseconds between the events of a paced stream, by the kind of answer. */
export const PACES = { paced: 20, slow: 100 }

const WORDS = 'the quiet river carries every small boat past towns and fields until it meets open water again'.split(' ')
const PIECES = Array.from({ length: CHUNKS }, (_, i) => `${WORDS[i % WORDS.length]}${i % 16 === 15 ? '.\n' : ' '}`)
/** The answer to everything. */
export const TEXT = PIECES.join('')

const MODEL = 'bench'
const CREATED = 1700000000
const USAGE = { input: 211, output: CHUNKS }

const sse = (data, event) => `${event ? `event: ${event}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
const named = data => sse(data, data.type)

// ---- the prompts: a conversation of turns, filled up to an exact number of bytes --------------------------------

const TURN = 2000
const SENTENCE = 'Please look at "the second table", then say in a few plain words what changed since last week.\n'

/** @returns {{ role: 'user' | 'assistant', text: string }[]} an odd number of turns, the first and the last the user's */
function conversation(bytes) {
  const pairs = Math.floor(bytes / TURN / 2)
  return Array.from({ length: 2 * pairs + 1 }, (_, i) => ({
    role: i % 2 ? 'assistant' : 'user',
    text: i === 2 * pairs ? '' : SENTENCE.repeat(Math.floor((TURN - 150) / (SENTENCE.length + 3))),
  }))
}

/** The JSON text of `build(turns)`, whose last turn is filled so that the whole has exactly so many bytes. */
function sized(bytes, build) {
  const turns = conversation(bytes)
  const last = turns[turns.length - 1]
  const missing = () => bytes - Buffer.byteLength(JSON.stringify(build(turns)))
  const encoded = JSON.stringify(SENTENCE).length - 2
  last.text = SENTENCE.repeat(Math.max(0, Math.floor((missing() - 1) / encoded)))
  last.text += 'x'.repeat(Math.max(0, missing()))
  return JSON.stringify(build(turns))
}

const SYSTEM = 'You are a careful assistant. Answer briefly.'

// ---- chat -----------------------------------------------------------------------------------------------------------

const chatChunk = (choices, more) => ({
  id: 'chatcmpl-bench0000000000000000',
  object: 'chat.completion.chunk',
  created: CREATED,
  model: MODEL,
  ...more,
  choices,
})
const chatDelta = (delta, finish = null) => chatChunk([{ index: 0, delta, logprobs: null, finish_reason: finish }])
const chatUsage = { prompt_tokens: USAGE.input, completion_tokens: USAGE.output, total_tokens: USAGE.input + USAGE.output }

const chat = {
  path: () => '/v1/chat/completions',
  request: ({ model, stream, bytes }) =>
    sized(bytes, turns => ({
      model,
      ...(stream && { stream: true }),
      temperature: 0.5,
      max_completion_tokens: 1024,
      messages: [{ role: 'system', content: SYSTEM }, ...turns.map(({ role, text }) => ({ role, content: text }))],
    })),
  answer: {
    id: 'chatcmpl-bench0000000000000000',
    object: 'chat.completion',
    created: CREATED,
    model: MODEL,
    choices: [
      { index: 0, message: { role: 'assistant', content: TEXT, refusal: null, annotations: [] }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: { ...chatUsage, prompt_tokens_details: { cached_tokens: 0 }, completion_tokens_details: { reasoning_tokens: 0 } },
    service_tier: 'default',
    system_fingerprint: 'fp_bench',
  },
  /** Like the real API: a usage event only if the request asks for it. */
  events: asked => [
    ...PIECES.map((content, i) => sse(chatDelta(i ? { content } : { role: 'assistant', content }))),
    sse(chatDelta({}, 'stop')),
    ...(asked ? [sse(chatChunk([], { usage: chatUsage }))] : []),
    sse('[DONE]'),
  ],
  read: json => json.object === 'chat.completion' && json.choices[0].message.content,
  readStream: events => ({
    deltas: events
      .filter(({ data }) => data !== '[DONE]')
      .map(({ json }) => json.choices[0]?.delta.content)
      .filter(Boolean),
    ended: events.at(-1).data === '[DONE]' && events.some(({ json }) => json?.choices[0]?.finish_reason === 'stop'),
  }),
}

// ---- messages -------------------------------------------------------------------------------------------------------

const message = (content, stop, usage) => ({
  id: 'msg_bench0000000000000000',
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage,
})

const messages = {
  path: () => '/v1/messages',
  request: ({ model, stream, bytes }) =>
    sized(bytes, turns => ({
      model,
      ...(stream && { stream: true }),
      temperature: 0.5,
      max_tokens: 1024,
      system: SYSTEM,
      messages: turns.map(({ role, text }) => ({ role, content: [{ type: 'text', text }] })),
    })),
  answer: message([{ type: 'text', text: TEXT }], 'end_turn', {
    input_tokens: USAGE.input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: USAGE.output,
    service_tier: 'standard',
  }),
  events: () => [
    named({ type: 'message_start', message: message([], null, { input_tokens: USAGE.input, output_tokens: 1 }) }),
    named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...PIECES.map(text => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    named({ type: 'content_block_stop', index: 0 }),
    named({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: USAGE.output } }),
    named({ type: 'message_stop' }),
  ],
  read: json => json.type === 'message' && json.content[0].text,
  readStream: events => ({
    deltas: events.filter(({ json }) => json?.type === 'content_block_delta').map(({ json }) => json.delta.text),
    ended: events[0].event === 'message_start' && events.at(-1).event === 'message_stop',
  }),
}

// ---- generate -------------------------------------------------------------------------------------------------------

const generateUsage = { promptTokenCount: USAGE.input, candidatesTokenCount: USAGE.output, totalTokenCount: USAGE.input + USAGE.output }
const generated = (text, end) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, ...(end && { finishReason: 'STOP' }), index: 0 }],
  ...(end && { usageMetadata: generateUsage }),
  modelVersion: MODEL,
  responseId: 'bench00000000000',
})
const generatedText = json => json.candidates[0].content.parts[0].text

const generate = {
  path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  request: ({ bytes }) =>
    sized(bytes, turns => ({
      systemInstruction: { parts: [{ text: SYSTEM }] },
      generationConfig: { temperature: 0.5, maxOutputTokens: 1024 },
      contents: turns.map(({ role, text }) => ({ role: role === 'user' ? 'user' : 'model', parts: [{ text }] })),
    })),
  answer: generated(TEXT, true),
  /** Its lines end as the real API's do. */
  events: () => PIECES.map((text, i) => sse(generated(text, i === CHUNKS - 1)).replaceAll('\n', '\r\n')),
  read: generatedText,
  readStream: events => ({
    deltas: events.map(({ json }) => generatedText(json)).filter(Boolean),
    ended: events.at(-1).json.candidates[0].finishReason === 'STOP',
  }),
}

// ---- responses: spoken by clients only --------------------------------------------------------------------------------

const responses = {
  path: () => '/v1/responses',
  request: ({ model, stream, bytes }) =>
    sized(bytes, turns => ({
      model,
      ...(stream && { stream: true }),
      temperature: 0.5,
      max_output_tokens: 1024,
      store: false,
      instructions: SYSTEM,
      input: turns.map(({ role, text }) => ({ role, content: text })),
    })),
  read: json => json.object === 'response' && json.status === 'completed' && json.output[0].content[0].text,
  readStream: events => ({
    deltas: events.filter(({ json }) => json?.type === 'response.output_text.delta').map(({ json }) => json.delta),
    ended: events.at(-1).json?.type === 'response.completed',
  }),
}

// ---- embeddings -----------------------------------------------------------------------------------------------------

const VECTOR = Array.from({ length: DIMENSIONS }, (_, i) => Number((Math.sin(i + 1) / 40).toFixed(9)))

const embeddings = {
  path: () => '/v1/embeddings',
  request: ({ model }) => JSON.stringify({ model, input: SENTENCE.repeat(4), encoding_format: 'float' }),
  answer: {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: VECTOR }],
    model: MODEL,
    usage: { prompt_tokens: 80, total_tokens: 80 },
  },
  /** Compared with the text like the others: the right vector reads as the right text. */
  read: json => (JSON.stringify(json.data[0].embedding) === JSON.stringify(VECTOR) ? TEXT : `a vector of ${json.data[0].embedding.length}`),
}

export const dialects = { chat, messages, generate, responses, embeddings }

// ---- verification -----------------------------------------------------------------------------------------------------

/** @param {string} body @returns {{ event?: string, data: string, json?: any }[]} */
export function parseEvents(body) {
  return body
    .split(/\r?\n\r?\n/)
    .filter(block => block.includes('data:'))
    .map(block => {
      const lines = block.split(/\r?\n/)
      const data = lines
        .filter(line => line.startsWith('data:'))
        .map(line => line.slice(5).trimStart())
        .join('\n')
      return {
        event: lines
          .find(line => line.startsWith('event:'))
          ?.slice(6)
          .trim(),
        data,
        json: data.startsWith('{') ? JSON.parse(data) : undefined,
      }
    })
}

/**
 * Throws with the reason, unless this is the whole right answer in the right dialect.
 * @param {{ status: number, type: string, body: string }} answer
 * @returns {{ events: number }} the number of events of a stream
 */
export function verify(dialect, stream, { status, type, body }) {
  const short = () => JSON.stringify(body.slice(0, 160))
  if (status !== 200) throw new Error(`HTTP ${status}: ${short()}`)
  if (!type.includes(stream ? 'text/event-stream' : 'application/json')) throw new Error(`content-type ${type}`)
  if (!stream) {
    const text = attempt(() => dialects[dialect].read(JSON.parse(body)))
    if (text !== TEXT) throw new Error(`not the expected ${dialect} answer: ${short()}`)
    return { events: 0 }
  }
  const events = attempt(() => parseEvents(body)) ?? []
  const read = attempt(() => dialects[dialect].readStream(events))
  if (!read) throw new Error(`not a ${dialect} stream: ${short()}`)
  if (!read.ended) throw new Error(`the stream has no proven end: …${JSON.stringify(body.slice(-160))}`)
  if (read.deltas.length !== CHUNKS) throw new Error(`${read.deltas.length} text events instead of ${CHUNKS}`)
  if (read.deltas.join('') !== TEXT) throw new Error('the text of the stream is wrong')
  return { events: events.length }
}

function attempt(read) {
  try {
    return read()
  } catch {
    return undefined
  }
}
