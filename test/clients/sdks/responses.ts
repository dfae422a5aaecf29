// The official OpenAI client, responses.

import OpenAI from 'openai'
import { chat } from './chat.js'
import { type Answer, type Ask, isAddress, type Speaker } from './sdk.js'

type Item = OpenAI.Responses.ResponseInputItem
type Event = OpenAI.Responses.ResponseStreamEvent

const params = (ask: Ask<Item>): OpenAI.Responses.ResponseCreateParamsNonStreaming => ({
  model: ask.model,
  input: ask.history,
  store: false,
  include: ['reasoning.encrypted_content'],
  ...(ask.system && { instructions: ask.system }),
  ...(ask.tools && {
    tools: ask.tools.map(({ name, description, parameters }) => ({
      type: 'function' as const,
      name,
      strict: false,
      ...(description && { description }),
      parameters: (parameters as Record<string, unknown>) ?? null,
    })),
  }),
  ...(ask.choice && {
    tool_choice:
      ask.choice === 'any'
        ? ('required' as const)
        : typeof ask.choice === 'string'
          ? ask.choice
          : { type: 'function' as const, name: ask.choice.name },
  }),
  ...(ask.isSerial && { parallel_tool_calls: false }),
  ...(ask.schema && {
    text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: ask.schema as Record<string, unknown> } },
  }),
  ...(ask.reasons !== undefined && { reasoning: ask.reasons ? { effort: 'high', summary: 'auto' } : { effort: 'none' } }),
  ...(ask.limit && { max_output_tokens: ask.limit }),
})

function answerOf(response: OpenAI.Responses.Response): Answer<Item> {
  const { output, usage } = response
  return {
    text: response.output_text,
    thought: output.map(item => (item.type === 'reasoning' ? item.summary.map(part => part.text).join('') : '')).join(''),
    calls: output.flatMap(item =>
      item.type === 'function_call' ? [{ id: item.call_id, name: item.name, args: JSON.parse(item.arguments) }] : [],
    ),
    finish: response.incomplete_details?.reason ?? response.status ?? 'none',
    usage: {
      input: usage?.input_tokens ?? Number.NaN,
      output: usage?.output_tokens ?? Number.NaN,
      cached: usage?.input_tokens_details.cached_tokens ?? Number.NaN,
      written: usage?.input_tokens_details.cache_write_tokens,
      reasoning: usage?.output_tokens_details.reasoning_tokens,
    },
    said: output as Item[],
  }
}

export const responses: Speaker<Item, Event> = {
  dialect: 'responses',
  connect(url, apiKey, maxRetries = 0) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries, logLevel: 'off' })
    return {
      whole: async ask => answerOf(await client.responses.create(params(ask), { signal: ask.signal })),
      folded: async ask =>
        answerOf(await client.responses.stream({ ...params(ask), stream: true }, { signal: ask.signal }).finalResponse()),
      async *events(ask) {
        for await (const event of await client.responses.create({ ...params(ask), stream: true }, { signal: ask.signal })) {
          // What this very dialect says flat is an event to the SDK, and the caller's to throw.
          if (event.type === 'error') throw new OpenAI.APIError(undefined, event, event.message, undefined)
          yield event
        }
      },
    }
  },
  user: (...parts) => [
    {
      role: 'user',
      content: parts.map((part): OpenAI.Responses.ResponseInputContent => {
        if (typeof part === 'string') return { type: 'input_text', text: part }
        if ('document' in part) return { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${part.document}` }
        return {
          type: 'input_image',
          detail: 'auto',
          image_url: isAddress(part.image) ? part.image : `data:image/png;base64,${part.image}`,
        }
      }),
    },
  ],
  results: list => list.map(({ call, text }): Item => ({ type: 'function_call_output', call_id: call.id, output: text })),
  textOf: event => (event.type === 'response.output_text.delta' ? event.delta : ''),
  ends: event => event.type === 'response.completed' || event.type === 'response.incomplete',
  finish: { stop: 'completed', length: 'max_output_tokens', tool: 'completed', filter: 'content_filter' },
  errors: chat.errors,
  kinds: chat.kinds,
  retryAfter: chat.retryAfter,
}
