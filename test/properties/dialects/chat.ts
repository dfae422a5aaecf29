import fc from 'fast-check'
import { keyed, mostly } from '../../../cli/cases/words.js'
import {
  atLeast,
  called,
  callsInText,
  functionsIn,
  list,
  number,
  numbered,
  object,
  parsed,
  pruned,
  string,
  textIn,
  uncut,
  wrapped,
} from './help.js'
import type { Conversation, Table, Turn, Values } from './table.js'

const messageOf = (response: Values): Values => object(list(response.choices)[0]?.message)

export const chat: Table = {
  traits: keyed([
    ['reasoning_content', mostly(0.3, fc.boolean())],
    ['reasoning_effort', mostly(0.4, fc.constantFrom<unknown>(false, ['low', 'high'], ['none', 'medium']))],
    ['effort_with_tools', mostly(0.2, fc.constant(false))],
    ['sampling', mostly(0.2, fc.constant(false))],
    ['custom_tools', mostly(0.3, fc.constant(true))],
    ['developer_role', mostly(0.3, fc.constant(true))],
  ]),
  asking: {
    model: 'client-model',
    messages: [{ role: 'user', content: 'Hi' }],
    stream_options: { include_usage: true },
    web_search_options: {},
  },
  cannot: [],

  answer: {
    required: ['usage'],
    properties: {
      choices: {
        minItems: 1,
        maxItems: 1,
        items: {
          properties: {
            index: { const: 0 },
            finish_reason: { enum: ['stop', 'length', 'tool_calls', 'content_filter'] },
            logprobs: { type: 'null' },
            message: {
              properties: {
                content: { type: ['string', 'null'] },
                audio: { type: 'null' },
                images: { type: 'null' },
                function_call: { type: 'null' },
                annotations: { type: 'null' },
                tool_calls: {
                  items: {
                    required: ['type'],
                    properties: { type: { const: 'function' }, function: { properties: { name: { minLength: 1 } } } },
                  },
                },
                thinking_blocks: { items: { required: ['type'], properties: { type: { enum: ['thinking', 'redacted_thinking'] } } } },
              },
            },
          },
        },
      },
      usage: { type: 'object' },
    },
  },
  settle(response) {
    const message = messageOf(response)
    const blocks = list(message.thinking_blocks).map((block, index) =>
      block.type === 'thinking'
        ? { type: 'thinking', thinking: string(block.thinking) || 'Hm.', signature: string(block.signature) || numbered('sig', index) }
        : { type: 'redacted_thinking', data: /^[\w+/=-]+$/.test(string(block.data)) ? block.data : 'hidden' },
    )
    const thought = blocks.map(block => string((block as Values).thinking)).join('')
    const isCut = ['length', 'content_filter'].includes(string(list(response.choices)[0]?.finish_reason))
    const calls = list(message.tool_calls).map((call, index) => ({
      ...call,
      id: numbered('call', index),
      function: { ...object(call.function), arguments: uncut(object(call.function).arguments, isCut) },
    }))
    const details = list(message.reasoning_details).map(({ text, summary }, index) => ({
      type: 'reasoning.summary',
      summary: string(summary) || string(text) || 'Hm.',
      index,
    }))
    const { reasoning, thinking_blocks: _blocks, reasoning_details: _details, reasoning_content: told, ...rest } = message
    const settled = {
      ...rest,
      ...(calls.length > 0 ? { tool_calls: calls } : { tool_calls: null }),
      ...(blocks.length > 0
        ? { thinking_blocks: blocks, ...(Boolean(told) && { reasoning_content: thought }) }
        : told
          ? { reasoning_content: told }
          : details.length > 0
            ? { reasoning: null, reasoning_details: details }
            : reasoning !== undefined && { reasoning }),
    }
    const usage = { ...object(response.usage) }
    const read = object(usage.prompt_tokens_details)
    const prompt_tokens = atLeast(
      usage.prompt_tokens,
      Math.max(number(read.cached_tokens), number(usage.prompt_cache_hit_tokens), number(usage.cached_tokens)),
      read.cache_write_tokens,
    )
    const completion_tokens = atLeast(usage.completion_tokens, object(usage.completion_tokens_details).reasoning_tokens)
    // All names of one count tell the same.
    if (number(read.cached_tokens) > 0) delete usage.prompt_cache_hit_tokens
    if (number(read.cached_tokens) > 0 || number(usage.prompt_cache_hit_tokens) > 0) delete usage.cached_tokens
    return {
      ...response,
      choices: [{ ...list(response.choices)[0], message: settled }],
      usage: { ...usage, prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
    }
  },

  unfold(response, cut) {
    const { choices: _choices, object: _object, usage, ...head } = response
    const message = messageOf(response)
    const chunk = (delta: Values, finish: unknown = null): Values => ({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
      usage: null,
    })
    const events = [chunk({ role: 'assistant', content: '' })]
    if (Array.isArray(message.thinking_blocks)) {
      for (const block of list(message.thinking_blocks)) {
        if (block.type !== 'thinking') {
          events.push(chunk({ thinking_blocks: [block] }))
          continue
        }
        for (const piece of cut(string(block.thinking)))
          events.push(
            chunk({
              ...(message.reasoning_content !== undefined && { reasoning_content: piece }),
              thinking_blocks: [{ type: 'thinking', thinking: piece }],
            }),
          )
        events.push(chunk({ thinking_blocks: [{ type: 'thinking', thinking: '', signature: block.signature }] }))
      }
    } else {
      for (const piece of cut(string(message.reasoning_content))) events.push(chunk({ reasoning_content: piece }))
      for (const piece of cut(string(message.reasoning))) events.push(chunk({ reasoning: piece }))
      for (const detail of list(message.reasoning_details))
        for (const piece of cut(string(detail.summary)))
          events.push(chunk({ reasoning: null, reasoning_details: [{ ...detail, summary: piece }] }))
    }
    for (const piece of cut(string(message.content))) events.push(chunk({ content: piece }))
    for (const piece of cut(string(message.refusal))) events.push(chunk({ refusal: piece }))
    list(message.tool_calls).forEach((call, index) => {
      const { name, arguments: given } = object(call.function)
      events.push(chunk({ tool_calls: [{ ...call, index, function: { name, arguments: '' } }] }))
      for (const piece of cut(string(given))) events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }))
    })
    events.push(chunk({}, list(response.choices)[0]?.finish_reason))
    return [...events, { ...head, object: 'chat.completion.chunk', choices: [], usage }]
  },
  strand(event) {
    const choice = list(event.choices)[0]
    const delta = object(choice?.delta)
    const [call] = list(delta.tool_calls)
    if (choice?.finish_reason || delta.role !== undefined) return undefined
    if (call) return `call ${call.index}`
    return delta.content || delta.refusal
      ? 'text'
      : delta.reasoning_content || delta.reasoning || delta.reasoning_details || delta.thinking_blocks
        ? 'thought'
        : undefined
  },
  // As Azure tells of its filters.
  noise: [{ id: '', object: '', created: 0, model: '', choices: [] }],

  fold(events) {
    const message: Values = { role: 'assistant', content: '' }
    const calls: Values[] = []
    let finish: unknown
    let usage: unknown
    const add = (holder: Values, name: string, piece: unknown): void => {
      if (typeof piece === 'string') holder[name] = string(holder[name]) + piece
    }
    for (const event of events) {
      usage = event.usage ?? usage
      const choice = list(event.choices)[0]
      if (choice === undefined) continue
      finish = choice.finish_reason ?? finish
      const delta = object(choice.delta)
      for (const name of ['content', 'refusal', 'reasoning_content']) add(message, name, delta[name])
      // The helpers of clients put a list together by `index`; without it they keep the last of several.
      for (const name of ['thinking_blocks', 'annotations']) {
        if (!Array.isArray(delta[name])) continue
        const known = list(delta[name]).every(({ index }) => typeof index === 'number') ? list(message[name]).slice() : []
        list(delta[name]).forEach(({ index, ...item }, position) => {
          known[(index as number | undefined) ?? position] = item
        })
        message[name] = known
      }
      if (typeof delta.function_call === 'object') {
        message.function_call ??= { name: '', arguments: '' }
        add(message.function_call as Values, 'name', object(delta.function_call).name)
        add(message.function_call as Values, 'arguments', object(delta.function_call).arguments)
      }
      for (const { index, ...piece } of list(delta.tool_calls)) {
        calls[index as number] ??= { id: piece.id, type: piece.type ?? 'function' }
        const call = calls[index as number] as Values
        if (piece.extra_content) call.extra_content = piece.extra_content
        if (piece.custom) call.custom = piece.custom
        if (piece.function) {
          call.function ??= { name: '', arguments: '' }
          add(call.function as Values, 'name', object(piece.function).name)
          add(call.function as Values, 'arguments', object(piece.function).arguments)
        }
      }
    }
    if (calls.length > 0) message.tool_calls = calls
    return { choices: [{ index: 0, message, finish_reason: finish, logprobs: null }], usage }
  },
  essence(response) {
    const [choice] = list(response.choices)
    const message = messageOf(response)
    return pruned({
      ...message,
      tool_calls: list(message.tool_calls).map(({ id: _id, ...call }) => call),
      finish_reason: choice?.finish_reason,
      usage: response.usage,
    })
  },
  said(response) {
    const message = messageOf(response)
    const finish = list(response.choices)[0]?.finish_reason
    const usage = object(response.usage)
    const blocks = list(message.thinking_blocks)
    return {
      text: string(message.content) + string(message.refusal),
      reasoning:
        string(message.reasoning_content) ||
        string(message.reasoning) ||
        list(message.reasoning_details)
          .map(({ summary }) => string(summary))
          .join('') ||
        blocks.map(({ thinking }) => string(thinking)).join(''),
      signatures: [
        list(message.reasoning_details).length > 0 ? 'the list' : '',
        ...blocks.map(({ signature, data }) => string(signature ?? data)),
        ...list(message.tool_calls).map(({ extra_content: extra }) => string(object(object(extra).google).thought_signature)),
      ].filter(text => text !== ''),
      calls: list(message.tool_calls).map(call => called(object(call.function).name, object(call.function).arguments)),
      stop: finish === 'content_filter' || message.refusal ? 'refused' : finish === 'length' ? 'limit' : 'end',
      usage: {
        input: number(usage.prompt_tokens),
        output: number(usage.completion_tokens),
        cached:
          number(object(usage.prompt_tokens_details).cached_tokens) || number(usage.prompt_cache_hit_tokens) || number(usage.cached_tokens),
        reasoning: number(object(usage.completion_tokens_details).reasoning_tokens),
      },
    }
  },

  faults(events) {
    const found: string[] = []
    const heads = new Set(events.map(({ id, model, created, object: kind }) => JSON.stringify([id, model, created, kind])))
    if (heads.size > 1) found.push(`chunks differ in id, model, created or object: ${[...heads].join(' ')}`)
    let finished = false
    let begun = false
    let usage = false
    const calls: { id: unknown }[] = []
    events.forEach((event, at) => {
      if (usage) found.push(`${at}: a chunk after the usage`)
      const [choice] = list(event.choices)
      if (choice === undefined) {
        if (!finished) found.push(`${at}: usage before the reason`)
        if (!event.usage) found.push(`${at}: neither a choice nor usage`)
        usage = true
        return
      }
      if (finished) found.push(`${at}: a choice after its reason`)
      const delta = object(choice.delta)
      if (!begun && delta.role !== 'assistant') found.push(`${at}: the first chunk has no role`)
      begun = true
      for (const piece of list(delta.tool_calls)) {
        const known = calls[piece.index as number]
        if (typeof piece.index !== 'number' || piece.index > calls.length) found.push(`${at}: calls are not numbered one by one`)
        else if (known === undefined) {
          if (!string(piece.id)) found.push(`${at}: a call begins without id`)
          if (!string(object(piece.function ?? piece.custom).name)) found.push(`${at}: a call begins without name`)
          if (calls.some(({ id }) => id === piece.id)) found.push(`${at}: two calls have the id ${piece.id}`)
          calls.push({ id: piece.id })
        } else if (piece.id !== undefined && piece.id !== known.id) found.push(`${at}: a call changes its id`)
      }
      if (choice.finish_reason !== null && choice.finish_reason !== undefined) finished = true
    })
    if (!finished) found.push('there is no reason at the end')
    return found
  },

  write({ system, turns, tools, temperature, top_p, limit, stops }) {
    return {
      model: 'client-model',
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        ...turns.flatMap((turn): Values[] =>
          turn.by === 'user'
            ? [{ role: 'user', content: turn.text }]
            : [
                {
                  role: 'assistant',
                  content: turn.text === '' ? null : turn.text,
                  ...(turn.calls.length > 0 && { tool_calls: callsInText(turn.calls) }),
                },
                ...turn.calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
              ],
        ),
      ],
      ...(tools.length > 0 && { tools: wrapped(tools) }),
      temperature,
      top_p,
      max_completion_tokens: limit,
      stop: stops,
    }
  },
  read(request): Conversation {
    const turns: Turn[] = []
    const system: string[] = []
    for (const message of list(request.messages)) {
      const last = turns.at(-1)
      if (message.role === 'system' || message.role === 'developer') system.push(textIn(message.content))
      else if (message.role === 'user') turns.push({ by: 'user', text: textIn(message.content) })
      else if (message.role === 'assistant')
        turns.push({
          by: 'model',
          text: textIn(message.content),
          calls: list(message.tool_calls).map(call => ({
            id: string(call.id),
            name: string(object(call.function).name),
            arguments: parsed(string(object(call.function).arguments)) as Values,
            result: '',
          })),
        })
      else if (last?.by === 'model')
        for (const call of last.calls) if (call.id === message.tool_call_id) call.result = textIn(message.content)
    }
    return {
      ...(system.length > 0 && { system: system.join('\n\n') }),
      turns,
      tools: functionsIn(request.tools),
      temperature: request.temperature as number,
      top_p: request.top_p as number,
      limit: (request.max_completion_tokens ?? request.max_tokens) as number,
      stops: request.stop as string[],
    }
  },
}
