// The official OpenAI client, chat completions.

import OpenAI from 'openai'
import { type Answer, type Ask, isAddress, type Speaker } from './sdk.js'

type Item = OpenAI.ChatCompletionMessageParam
type Event = OpenAI.ChatCompletionChunk
/** What of the answer the SDK's types do not know. */
type Reasoned = { reasoning_content?: string }

const params = (ask: Ask<Item>): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  model: ask.model,
  messages: [...(ask.system === undefined ? [] : [{ role: 'system' as const, content: ask.system }]), ...ask.history],
  ...(ask.tools && {
    tools: ask.tools.map(({ name, description, parameters }) => ({
      type: 'function' as const,
      function: { name, ...(description && { description }), ...(parameters && { parameters: parameters as Record<string, unknown> }) },
    })),
  }),
  ...(ask.choice && {
    tool_choice:
      ask.choice === 'any'
        ? ('required' as const)
        : typeof ask.choice === 'string'
          ? ask.choice
          : { type: 'function' as const, function: { name: ask.choice.name } },
  }),
  ...(ask.isSerial && { parallel_tool_calls: false }),
  ...(ask.schema && {
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: ask.schema as Record<string, unknown> } },
  }),
  ...(ask.reasons !== undefined && { reasoning_effort: ask.reasons ? ('high' as const) : ('none' as const) }),
  ...(ask.stops && { stop: ask.stops }),
  ...(ask.limit && { max_completion_tokens: ask.limit }),
})

function answerOf(completion: OpenAI.ChatCompletion): Answer<Item> {
  const { message, finish_reason: finish } = completion.choices[0] as OpenAI.ChatCompletion.Choice
  const { usage } = completion
  return {
    text: message.content ?? '',
    thought: (message as Reasoned).reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map(call => {
      if (call.type !== 'function') throw new Error('the call is not of a function')
      return { id: call.id, name: call.function.name, args: JSON.parse(call.function.arguments) }
    }),
    finish,
    usage: {
      input: usage?.prompt_tokens ?? Number.NaN,
      output: usage?.completion_tokens ?? Number.NaN,
      cached: usage?.prompt_tokens_details?.cached_tokens ?? Number.NaN,
      written: usage?.prompt_tokens_details?.cache_write_tokens,
      reasoning: usage?.completion_tokens_details?.reasoning_tokens,
    },
    said: [message],
  }
}

export const chat: Speaker<Item, Event> = {
  dialect: 'chat',
  connect(url, apiKey, maxRetries = 0) {
    const { completions } = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries, logLevel: 'off' }).chat
    const asked = { stream: true, stream_options: { include_usage: true } } as const
    return {
      whole: async ask => answerOf(await completions.create(params(ask), { signal: ask.signal })),
      async folded(ask) {
        // Of what it does not know the SDK keeps the last piece alone, so callers join the reasoning themselves.
        let thought = ''
        const stream = completions.stream({ ...params(ask), ...asked }, { signal: ask.signal })
        stream.on('chunk', chunk => {
          thought += (chunk.choices[0]?.delta as Reasoned | undefined)?.reasoning_content ?? ''
        })
        return { ...answerOf(await stream.finalChatCompletion()), thought }
      },
      async *events(ask) {
        yield* await completions.create({ ...params(ask), stream: true }, { signal: ask.signal })
      },
    }
  },
  user: (...parts) => [
    {
      role: 'user',
      content: parts.map((part): OpenAI.ChatCompletionContentPart => {
        if (typeof part === 'string') return { type: 'text', text: part }
        if ('document' in part)
          return { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${part.document}` } }
        return { type: 'image_url', image_url: { url: isAddress(part.image) ? part.image : `data:image/png;base64,${part.image}` } }
      }),
    },
  ],
  results: list => list.map(({ call, text }): Item => ({ role: 'tool', tool_call_id: call.id, content: text })),
  textOf: event => event.choices[0]?.delta.content ?? '',
  ends: event => Boolean(event.choices[0]?.finish_reason),
  finish: { stop: 'stop', length: 'length', tool: 'tool_calls', filter: 'content_filter' },
  errors: { told: OpenAI.APIError, broken: OpenAI.APIConnectionError },
  kinds: {
    invalid_request: { of: OpenAI.BadRequestError, like: { status: 400, type: 'invalid_request_error', code: null } },
    not_found: { of: OpenAI.NotFoundError, like: { status: 404, type: 'invalid_request_error', code: 'model_not_found' } },
    conflict: { of: OpenAI.ConflictError, like: { status: 409, type: 'conflict_error' } },
    too_large: { of: OpenAI.APIError, like: { status: 413, type: 'invalid_request_error', code: 'request_too_large' } },
    rate_limit: { of: OpenAI.RateLimitError, like: { status: 429, type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
    upstream: { of: OpenAI.InternalServerError, like: { status: 502, type: 'server_error' } },
    overloaded: { of: OpenAI.InternalServerError, like: { status: 503, type: 'server_error' } },
  },
  retryAfter: error => (error instanceof OpenAI.APIError ? (error.headers?.get('retry-after') ?? undefined) : undefined),
}
