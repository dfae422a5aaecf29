// The official Anthropic client.

import Anthropic from '@anthropic-ai/sdk'
import { type Answer, type Ask, isAddress, type Speaker } from './sdk.js'

type Item = Anthropic.MessageParam
type Event = Anthropic.RawMessageStreamEvent

const params = (ask: Ask<Item>): Anthropic.MessageCreateParamsNonStreaming => ({
  model: ask.model,
  max_tokens: ask.limit ?? 16_000,
  messages: ask.history,
  ...(ask.system && { system: ask.system }),
  ...(ask.tools && {
    tools: ask.tools.map(({ name, description, parameters }) => ({
      name,
      ...(description && { description }),
      input_schema: (parameters ?? { type: 'object' }) as Anthropic.Tool.InputSchema,
    })),
  }),
  ...(ask.choice && { tool_choice: typeof ask.choice === 'string' ? { type: ask.choice } : { type: 'tool', name: ask.choice.name } }),
  ...(ask.isSerial && { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }),
  ...(ask.schema && { output_config: { format: { type: 'json_schema', schema: ask.schema as Record<string, unknown> } } }),
  ...(ask.stops && { stop_sequences: ask.stops }),
  ...(ask.reasons !== undefined && { thinking: ask.reasons ? { type: 'enabled', budget_tokens: 8192 } : { type: 'disabled' } }),
})

function answerOf(message: Anthropic.Message): Answer<Item> {
  const { content, usage } = message
  const cached = usage.cache_read_input_tokens ?? 0
  return {
    text: content.map(block => (block.type === 'text' ? block.text : '')).join(''),
    thought: content.map(block => (block.type === 'thinking' ? block.thinking : '')).join(''),
    calls: content.flatMap(block => (block.type === 'tool_use' ? [{ id: block.id, name: block.name, args: block.input }] : [])),
    finish: message.stop_reason ?? 'none',
    usage: {
      // What caches gave and took is counted beside the input.
      input: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
      output: usage.output_tokens,
      cached,
      written: usage.cache_creation_input_tokens ?? undefined,
      reasoning: usage.output_tokens_details?.thinking_tokens,
    },
    said: [{ role: 'assistant', content }],
  }
}

export const messages: Speaker<Item, Event> = {
  dialect: 'messages',
  connect(url, apiKey, maxRetries = 0) {
    const client = new Anthropic({ baseURL: url, apiKey, maxRetries, logLevel: 'off' })
    return {
      whole: async ask => answerOf(await client.messages.create(params(ask), { signal: ask.signal })),
      folded: async ask => answerOf(await client.messages.stream(params(ask), { signal: ask.signal }).finalMessage()),
      async *events(ask) {
        yield* await client.messages.create({ ...params(ask), stream: true }, { signal: ask.signal })
      },
    }
  },
  user: (...parts) => [
    {
      role: 'user',
      content: parts.map((part): Anthropic.ContentBlockParam => {
        if (typeof part === 'string') return { type: 'text', text: part }
        if ('document' in part) return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: part.document } }
        return {
          type: 'image',
          source: isAddress(part.image) ? { type: 'url', url: part.image } : { type: 'base64', media_type: 'image/png', data: part.image },
        }
      }),
    },
  ],
  results: list => [
    {
      role: 'user',
      content: list.map(({ call, text, failed }) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: text,
        ...(failed && { is_error: true }),
      })),
    },
  ],
  textOf: event => (event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : ''),
  ends: event => event.type === 'message_stop',
  finish: { stop: 'end_turn', length: 'max_tokens', tool: 'tool_use', filter: 'refusal' },
  errors: { told: Anthropic.APIError, broken: Anthropic.APIConnectionError },
  kinds: {
    invalid_request: { of: Anthropic.BadRequestError, like: { status: 400, type: 'invalid_request_error' } },
    not_found: { of: Anthropic.NotFoundError, like: { status: 404, type: 'not_found_error' } },
    conflict: { of: Anthropic.ConflictError, like: { status: 409, type: 'conflict_error' } },
    too_large: { of: Anthropic.APIError, like: { status: 413, type: 'request_too_large' } },
    rate_limit: { of: Anthropic.RateLimitError, like: { status: 429, type: 'rate_limit_error' } },
    upstream: { of: Anthropic.InternalServerError, like: { status: 502, type: 'api_error' } },
    overloaded: { of: Anthropic.InternalServerError, like: { status: 529, type: 'overloaded_error' } },
  },
  retryAfter: error => (error instanceof Anthropic.APIError ? (error.headers?.get('retry-after') ?? undefined) : undefined),
}
