// The inputs: requests, an answer and streams as they are sent.

const sentence = 'The quick brown fox jumps over the lazy dog, and nobody minds. '

/** A chat request with `turns` turns beside the system prompt, each of about `length` characters. */
export function chatRequest(turns, length) {
  const content = sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length).trim()
  return {
    model: 'm',
    max_completion_tokens: 1024,
    temperature: 0.5,
    messages: [
      { role: 'system', content: 'You are brief.' },
      ...Array.from({ length: turns }, (_, index) => ({ role: index % 2 ? 'assistant' : 'user', content: `${index} ${content}` })),
    ],
  }
}

/** A messages answer of about 1 KB. */
export const answer = {
  id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: sentence.repeat(13) }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 25, cache_creation_input_tokens: 3, cache_read_input_tokens: 5, output_tokens: 150 },
}

const words = Array.from({ length: 84 }, (_, index) => ` word${index}`)

/** A messages stream of 88 events. */
export const messagesEvents = [
  {
    type: 'message_start',
    message: {
      id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 5, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  ...words.slice(0, 82).map(text => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 82 } },
  { type: 'message_stop' },
]

const chunk = (delta, finish) => ({
  id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
  object: 'chat.completion.chunk',
  created: 1700000000,
  model: 'm',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  usage: null,
})

/** A chat stream of 88 chunks. */
export const chatChunks = [
  chunk({ role: 'assistant', content: '', refusal: null }, null),
  chunk({ content: 'Once' }, null),
  ...words.map(content => chunk({ content }, null)),
  chunk({}, 'stop'),
  { ...chunk({}, null), choices: [], usage: { prompt_tokens: 25, completion_tokens: 85, total_tokens: 110 } },
]
