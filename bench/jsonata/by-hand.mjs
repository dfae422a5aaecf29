// Code that a programmer would write instead of the mappings, for conversations of texts only. Anything else is detected where
// a complete version would handle it, and refused.

const refuse = what => {
  throw new Error(`only text is written by hand: ${what}`)
}

/** An event in the form of a compiled reducer's: the kind, and the JSON. */
const tell = (out, ...events) => {
  for (const event of events) out.push(event.type ?? '', JSON.stringify(event))
}

/** The messages request for a chat request. */
export function toMessagesRequest(input, ctx) {
  const system = []
  const messages = []
  let last
  for (const { role, content, tool_calls: calls } of input.messages) {
    if (typeof content !== 'string' || calls) refuse('a message')
    if (!/\S/.test(content)) continue
    const block = { type: 'text', text: content }
    if (role === 'system' || role === 'developer') {
      if (last) refuse('a later instruction')
      system.push(block)
    } else if (last?.role === role) last.content.push(block)
    else if (role === 'user' || role === 'assistant') messages.push((last = { role, content: [block] }))
    else refuse(role)
  }
  if (messages[0]?.role !== 'user') messages.unshift({ role: 'user', content: [{ type: 'text', text: 'Continue.' }] })
  if (last.role === 'assistant') {
    const block = last.content.at(-1)
    block.text = block.text.trimEnd()
  }
  if (input.tools || input.functions || input.response_format || input.reasoning_effort || input.web_search_options) refuse('a control')
  const { temperature, top_p: nucleus } = input
  const stops = typeof input.stop === 'string' ? [input.stop] : input.stop
  const person = input.safety_identifier || input.user
  const isWarm = typeof temperature === 'number' && !(temperature >= 1 && nucleus < 1)
  return {
    model: ctx.model,
    max_tokens: input.max_completion_tokens || input.max_tokens || ctx.max_output,
    system: system.length > 0 ? system : undefined,
    messages,
    temperature: isWarm ? Math.min(temperature, 1) : undefined,
    top_p: !isWarm && typeof nucleus === 'number' ? nucleus : undefined,
    stop_sequences: stops?.length > 0 ? stops : undefined,
    metadata: person ? { user_id: person } : undefined,
    service_tier: input.service_tier ? refuse('a tier') : undefined,
    stream: input.stream === true ? true : undefined,
  }
}

const FINISH = { end_turn: 'stop', stop_sequence: 'stop', tool_use: 'tool_calls', max_tokens: 'length', refusal: 'content_filter' }

const usageOf = (input, write, read, output, thought) => ({
  prompt_tokens: input + write + read,
  completion_tokens: output,
  total_tokens: input + write + read + output,
  prompt_tokens_details: { cached_tokens: read, cache_write_tokens: write },
  completion_tokens_details: { reasoning_tokens: thought },
})

const chatId = (id, own) => `chatcmpl-${!id ? own : id.startsWith('msg_') ? id.slice(4) : id}`

/** The chat response for the answer of a messages provider. */
export function toChatResponse({ id, model, content, stop_reason: stop, usage }, ctx) {
  let text = ''
  for (const block of content) {
    if (block.type !== 'text' || block.citations) refuse(block.type)
    text += block.text
  }
  return {
    id: chatId(id, ctx.id),
    object: 'chat.completion',
    created: ctx.created,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, refusal: stop === 'refusal' ? refuse(stop) : null, annotations: [] },
        logprobs: null,
        finish_reason: FINISH[stop] ?? 'stop',
      },
    ],
    usage: usageOf(
      usage.input_tokens ?? 0,
      usage.cache_creation_input_tokens ?? 0,
      usage.cache_read_input_tokens ?? 0,
      usage.output_tokens ?? 0,
      usage.output_tokens_details?.thinking_tokens ?? 0,
    ),
  }
}

/** The chat chunks for the events of a messages provider. */
export const toChat = {
  start: () => ({ id: '', model: '', stop: null, input: 0, write: 0, read: 0, output: 0, thought: 0 }),
  event(state, event, ctx, carry, out) {
    switch (event.type) {
      case 'content_block_delta': {
        const { delta } = event
        if (delta.type !== 'text_delta') return refuse(delta.type)
        if (delta.text !== '') tell(out, chatChunk(state, carry, ctx.created, { content: delta.text }, null))
        return
      }
      case 'message_start': {
        const { id, model, usage } = event.message
        state.id = chatId(id, ctx.id)
        state.model = model
        state.input = usage.input_tokens ?? 0
        state.write = usage.cache_creation_input_tokens ?? 0
        state.read = usage.cache_read_input_tokens ?? 0
        state.output = usage.output_tokens ?? 0
        tell(out, chatChunk(state, carry, ctx.created, { role: 'assistant', content: '', refusal: null }, null))
        return
      }
      case 'content_block_start':
        if (event.content_block.type !== 'text') refuse(event.content_block.type)
        return
      case 'message_delta': {
        const { delta, usage } = event
        if (typeof delta.stop_reason === 'string') state.stop = delta.stop_reason
        if (typeof usage.input_tokens === 'number') state.input = usage.input_tokens
        if (typeof usage.cache_creation_input_tokens === 'number') state.write = usage.cache_creation_input_tokens
        if (typeof usage.cache_read_input_tokens === 'number') state.read = usage.cache_read_input_tokens
        if (typeof usage.output_tokens === 'number') state.output = usage.output_tokens
        return
      }
    }
  },
  done(state, ctx, carry, out) {
    tell(out, chatChunk(state, carry, ctx.created, {}, FINISH[state.stop] ?? 'stop'))
    if (!carry.usage) return
    tell(out, {
      id: state.id,
      object: 'chat.completion.chunk',
      created: ctx.created,
      model: state.model,
      choices: [],
      usage: usageOf(state.input, state.write, state.read, state.output, state.thought),
    })
  },
}

const chatChunk = (state, carry, created, delta, finish) => ({
  id: state.id,
  object: 'chat.completion.chunk',
  created,
  model: state.model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  usage: carry.usage ? null : undefined,
})

const REASON = { stop: 'end_turn', length: 'max_tokens', content_filter: 'refusal' }

const countsOf = usage => {
  const read = usage.prompt_tokens_details?.cached_tokens || 0
  const written = usage.prompt_tokens_details?.cache_write_tokens || 0
  const thinking = usage.completion_tokens_details?.reasoning_tokens
  return {
    input_tokens: Math.max(0, (usage.prompt_tokens || 0) - read - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: usage.completion_tokens || 0,
    output_tokens_details: typeof thinking === 'number' ? { thinking_tokens: thinking } : undefined,
  }
}

/** The messages events for the chunks of a chat provider. */
export const toMessages = {
  start: () => ({ started: false, index: -1, open: 'none', stop: null, usage: null }),
  event(state, chunk, ctx, _carry, out) {
    const choice = chunk.choices[0]
    if (choice !== undefined) {
      const { delta } = choice
      if (delta.tool_calls || delta.function_call || delta.reasoning_content || delta.reasoning || delta.thinking_blocks) refuse('a piece')
      if (!state.started) {
        state.started = true
        tell(out, 
          {
            type: 'message_start',
            message: {
              id: `msg_${!chunk.id ? ctx.id : chunk.id.startsWith('chatcmpl-') ? chunk.id.slice(9) : chunk.id}`,
              type: 'message',
              role: 'assistant',
              model: ctx.requested,
              content: [],
              stop_reason: null,
              stop_sequence: null,
              usage: { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 },
            },
          },
          { type: 'ping' },
        )
      }
      const text = delta.content || delta.refusal
      if (text) {
        if (typeof text !== 'string') refuse('parts')
        if (state.open !== 'text') {
          state.open = 'text'
          state.index++
          tell(out, { type: 'content_block_start', index: state.index, content_block: { type: 'text', text: '' } })
        }
        tell(out, { type: 'content_block_delta', index: state.index, delta: { type: 'text_delta', text } })
      }
      if (choice.finish_reason) state.stop = choice.finish_reason
    }
    if (chunk.usage) state.usage = countsOf(chunk.usage)
  },
  done(state, _ctx, _carry, out) {
    if (state.open !== 'none') tell(out, { type: 'content_block_stop', index: state.index })
    tell(out, 
      { type: 'message_delta', delta: { stop_reason: REASON[state.stop] ?? 'end_turn', stop_sequence: null }, usage: state.usage },
      { type: 'message_stop' },
    )
  },
}
