// JSONata of the size of a simple mapping, and for each expression an equivalent function written by hand.
// A reducer's input is { event, state }, its result { state, events }.

import { answer, chatChunks, chatRequest, messagesEvents } from './inputs.mjs'

const request = `(
  $system := messages[role = "system" or role = "developer"];
  {
    "model": model,
    "max_tokens": max_completion_tokens ? max_completion_tokens : max_tokens ? max_tokens : 4096,
    "system": $exists($system) ? [$map($system, function($m) { { "type": "text", "text": $m.content } })],
    "messages": [$map($filter(messages, function($m) { $m.role != "system" and $m.role != "developer" }), function($m) {
      $m.role = "tool"
        ? { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": $m.tool_call_id, "content": $m.content }] }
        : { "role": $m.role, "content": [
            $type($m.content) = "string"
              ? { "type": "text", "text": $m.content }
              : $map($m.content, function($p) { $p.type = "text"
                  ? { "type": "text", "text": $p.text }
                  : { "type": "image", "source": { "type": "url", "url": $p.image_url.url } } }),
            $map($m.tool_calls, function($c) { { "type": "tool_use", "id": $c.id, "name": $c.function.name, "input": $c.function.arguments } })
          ] }
    })],
    "tools": $exists(tools)
      ? [$map(tools, function($t) { { "name": $t.function.name, "description": $t.function.description, "input_schema": $t.function.parameters } })],
    "temperature": temperature,
    "top_p": top_p,
    "stop_sequences": $type(stop) = "string" ? [stop] : stop,
    "stream": stream
  }
)`

function requestByHand(input) {
  const system = []
  const messages = []
  for (const message of input.messages) {
    const { role, content } = message
    if (role === 'system' || role === 'developer') system.push({ type: 'text', text: content })
    else if (role === 'tool') {
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: message.tool_call_id, content }] })
    } else {
      const blocks = []
      if (typeof content === 'string') blocks.push({ type: 'text', text: content })
      else if (content) {
        for (const part of content) {
          blocks.push(
            part.type === 'text'
              ? { type: 'text', text: part.text }
              : { type: 'image', source: { type: 'url', url: part.image_url.url } },
          )
        }
      }
      if (message.tool_calls) {
        for (const call of message.tool_calls) {
          blocks.push({ type: 'tool_use', id: call.id, name: call.function.name, input: call.function.arguments })
        }
      }
      messages.push({ role, content: blocks })
    }
  }
  return {
    model: input.model,
    max_tokens: input.max_completion_tokens || input.max_tokens || 4096,
    system: system.length > 0 ? system : undefined,
    messages,
    tools: input.tools?.map(tool => ({
      name: tool.function.name,
      description: tool.function.description,
      input_schema: tool.function.parameters,
    })),
    temperature: input.temperature,
    top_p: input.top_p,
    stop_sequences: typeof input.stop === 'string' ? [input.stop] : input.stop,
    stream: input.stream,
  }
}

const response = `(
  $calls := content[type = "tool_use"];
  $text := $join(content[type = "text"].text);
  $read := usage.cache_read_input_tokens ? usage.cache_read_input_tokens : 0;
  $write := usage.cache_creation_input_tokens ? usage.cache_creation_input_tokens : 0;
  $prompt := usage.input_tokens + $read + $write;
  {
    "id": id,
    "object": "chat.completion",
    "model": model,
    "choices": [{
      "index": 0,
      "message": {
        "role": "assistant",
        "content": $text ? $text : null,
        "tool_calls": $exists($calls)
          ? [$map($calls, function($c) { { "id": $c.id, "type": "function", "function": { "name": $c.name, "arguments": $string($c.input) } } })]
      },
      "logprobs": null,
      "finish_reason": stop_reason = "max_tokens" ? "length" : stop_reason = "tool_use" ? "tool_calls" : "stop"
    }],
    "usage": {
      "prompt_tokens": $prompt,
      "completion_tokens": usage.output_tokens,
      "total_tokens": $prompt + usage.output_tokens,
      "prompt_tokens_details": { "cached_tokens": $read }
    }
  }
)`

function responseByHand({ id, model, content, stop_reason, usage }) {
  let text = ''
  let calls
  for (const block of content) {
    if (block.type === 'text') text += block.text
    else if (block.type === 'tool_use') {
      calls ??= []
      calls.push({ id: block.id, type: 'function', function: { name: block.name, arguments: JSON.stringify(block.input) } })
    }
  }
  const read = usage.cache_read_input_tokens || 0
  const prompt = usage.input_tokens + read + (usage.cache_creation_input_tokens || 0)
  return {
    id,
    object: 'chat.completion',
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text || null, tool_calls: calls },
        logprobs: null,
        finish_reason: stop_reason === 'max_tokens' ? 'length' : stop_reason === 'tool_use' ? 'tool_calls' : 'stop',
      },
    ],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: usage.output_tokens,
      total_tokens: prompt + usage.output_tokens,
      prompt_tokens_details: { cached_tokens: read },
    },
  }
}

const toChat = `(
  event.type = "content_block_delta" and event.delta.type = "text_delta" ? {
    "state": state,
    "events": [{
      "id": state.id, "object": "chat.completion.chunk", "model": state.model,
      "choices": [{ "index": 0, "delta": { "content": event.delta.text }, "logprobs": null, "finish_reason": null }]
    }]
  }
  : event.type = "content_block_delta" and event.delta.type = "input_json_delta" ? {
    "state": state,
    "events": [{
      "id": state.id, "object": "chat.completion.chunk", "model": state.model,
      "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": state.tool, "function": { "arguments": event.delta.partial_json } }] },
        "logprobs": null, "finish_reason": null }]
    }]
  }
  : event.type = "content_block_start" and event.content_block.type = "tool_use" ? {
    "state": $merge([state, { "tool": state.tool + 1 }]),
    "events": [{
      "id": state.id, "object": "chat.completion.chunk", "model": state.model,
      "choices": [{ "index": 0, "delta": { "tool_calls": [{
        "index": state.tool + 1, "id": event.content_block.id, "type": "function",
        "function": { "name": event.content_block.name, "arguments": "" }
      }] }, "logprobs": null, "finish_reason": null }]
    }]
  }
  : event.type = "message_start" ? {
    "state": $merge([state, { "id": event.message.id, "model": event.message.model, "input": event.message.usage.input_tokens }]),
    "events": [{
      "id": event.message.id, "object": "chat.completion.chunk", "model": event.message.model,
      "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "" }, "logprobs": null, "finish_reason": null }]
    }]
  }
  : event.type = "message_delta" ? {
    "state": $merge([state, { "output": event.usage.output_tokens }]),
    "events": [{
      "id": state.id, "object": "chat.completion.chunk", "model": state.model,
      "choices": [{ "index": 0, "delta": {}, "logprobs": null,
        "finish_reason": event.delta.stop_reason = "max_tokens" ? "length" : event.delta.stop_reason = "tool_use" ? "tool_calls" : "stop" }]
    }]
  }
  : event.type = "message_stop" ? {
    "state": state,
    "events": [{
      "id": state.id, "object": "chat.completion.chunk", "model": state.model, "choices": [],
      "usage": { "prompt_tokens": state.input, "completion_tokens": state.output, "total_tokens": state.input + state.output }
    }]
  }
  : { "state": state, "events": [] }
)`

const chunkByHand = (id, model, delta, finish) => ({
  id,
  object: 'chat.completion.chunk',
  model,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
})

function toChatByHand({ event, state }) {
  const { id, model } = state
  switch (event.type) {
    case 'content_block_delta': {
      const { delta } = event
      if (delta.type === 'text_delta') return { state, events: [chunkByHand(id, model, { content: delta.text }, null)] }
      if (delta.type !== 'input_json_delta') return { state, events: [] }
      const call = { index: state.tool, function: { arguments: delta.partial_json } }
      return { state, events: [chunkByHand(id, model, { tool_calls: [call] }, null)] }
    }
    case 'content_block_start': {
      const { content_block: block } = event
      if (block.type !== 'tool_use') return { state, events: [] }
      const tool = state.tool + 1
      const call = { index: tool, id: block.id, type: 'function', function: { name: block.name, arguments: '' } }
      return { state: { ...state, tool }, events: [chunkByHand(id, model, { tool_calls: [call] }, null)] }
    }
    case 'message_start': {
      const { message } = event
      return {
        state: { ...state, id: message.id, model: message.model, input: message.usage.input_tokens },
        events: [chunkByHand(message.id, message.model, { role: 'assistant', content: '' }, null)],
      }
    }
    case 'message_delta': {
      const reason = event.delta.stop_reason
      const finish = reason === 'max_tokens' ? 'length' : reason === 'tool_use' ? 'tool_calls' : 'stop'
      return { state: { ...state, output: event.usage.output_tokens }, events: [chunkByHand(id, model, {}, finish)] }
    }
    case 'message_stop': {
      const { input, output } = state
      const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
      return { state, events: [{ id, object: 'chat.completion.chunk', model, choices: [], usage }] }
    }
  }
  return { state, events: [] }
}

const toMessages = `(
  $choice := event.choices[0];
  $text := $choice.delta.content;
  $says := $type($text) = "string" and $text != "";
  $begins := state.started = false;
  $opens := $says and state.open = false;
  $reason := $choice.finish_reason;
  $ends := $type($reason) = "string";
  $counted := $type(event.usage) = "object";
  {
    "state": $begins or $opens or $ends ? $merge([state, {
        "started": true,
        "open": $ends ? false : state.open or $opens,
        "reason": $ends ? $reason : state.reason
      }]) : state,
    "events": [
      $begins ? { "type": "message_start", "message": {
        "id": event.id, "type": "message", "role": "assistant", "model": event.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 0, "output_tokens": 0 }
      } },
      $opens ? { "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } },
      $says ? { "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": $text } },
      $ends and state.open ? { "type": "content_block_stop", "index": 0 },
      $counted ? [
        {
          "type": "message_delta",
          "delta": { "stop_reason": state.reason = "length" ? "max_tokens" : state.reason = "tool_calls" ? "tool_use" : "end_turn", "stop_sequence": null },
          "usage": { "input_tokens": event.usage.prompt_tokens, "output_tokens": event.usage.completion_tokens }
        },
        { "type": "message_stop" }
      ]
    ]
  }
)`

function toMessagesByHand({ event, state }) {
  const choice = event.choices[0]
  const text = choice?.delta.content
  const says = typeof text === 'string' && text !== ''
  const begins = !state.started
  const opens = says && !state.open
  const reason = choice?.finish_reason
  const ends = typeof reason === 'string'
  const events = []
  if (begins) {
    events.push({
      type: 'message_start',
      message: {
        id: event.id,
        type: 'message',
        role: 'assistant',
        model: event.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 0, output_tokens: 0 },
      },
    })
  }
  if (opens) events.push({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } })
  if (says) events.push({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })
  if (ends && state.open) events.push({ type: 'content_block_stop', index: 0 })
  if (event.usage) {
    const stop = state.reason === 'length' ? 'max_tokens' : state.reason === 'tool_calls' ? 'tool_use' : 'end_turn'
    events.push(
      {
        type: 'message_delta',
        delta: { stop_reason: stop, stop_sequence: null },
        usage: { input_tokens: event.usage.prompt_tokens, output_tokens: event.usage.completion_tokens },
      },
      { type: 'message_stop' },
    )
  }
  const next =
    begins || opens || ends
      ? { ...state, started: true, open: ends ? false : state.open || opens, reason: ends ? reason : state.reason }
      : state
  return { state: next, events }
}

/** The beginning of a stream, and its middle. */
const chatStart = { id: '', model: '', tool: -1, input: 0, output: 0 }
const chatMidst = { id: 'msg_1', model: 'm', tool: -1, input: 25, output: 0 }
const messagesStart = { started: false, open: false, reason: '' }
const messagesMidst = { started: true, open: true, reason: '' }

export const requests = { expression: request, byHand: requestByHand, schema: 'chat/request' }
export const responses = { expression: response, byHand: responseByHand, schema: 'messages/response' }
export const reducers = {
  toChat: { expression: toChat, byHand: toChatByHand, schema: 'messages/event', start: chatStart, events: messagesEvents },
  toMessages: { expression: toMessages, byHand: toMessagesByHand, schema: 'chat/event', start: messagesStart, events: chatChunks },
}

export const plain = [
  { name: 'request, 1 KB', kind: 'request', ...requests, input: chatRequest(3, 250) },
  { name: 'request, 200 messages', kind: 'request', ...requests, input: chatRequest(200, 450) },
  { name: 'response', kind: 'request', ...responses, input: answer },
  { name: 'messages event, text', kind: 'chunk', ...reducers.toChat, input: { event: messagesEvents[5], state: chatMidst } },
  { name: 'chat chunk, text', kind: 'chunk', ...reducers.toMessages, input: { event: chatChunks[5], state: messagesMidst } },
  { name: 'chat chunk, first', kind: 'chunk', ...reducers.toMessages, input: { event: chatChunks[1], state: messagesStart } },
]
