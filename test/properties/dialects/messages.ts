import fc from 'fast-check'
import { keyed, mostly } from '../../../cli/cases/words.js'
import { atLeast, list, number, numbered, object, parsed, pruned, string } from './help.js'
import type { Conversation, Table, Turn, Values } from './table.js'

/** Which delta goes into which block. */
const DELTAS: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  server_tool_use: ['input_json_delta'],
}

export const messages: Table = {
  traits: keyed([
    ['thinking', mostly(0.5, fc.constantFrom('budget', 'adaptive', 'none'))],
    ['sampling', mostly(0.3, fc.constantFrom('free', 'fixed'))],
    ['structured', mostly(0.4, fc.constantFrom('native', 'prompt'))],
    ['system_turns', mostly(0.4, fc.boolean())],
    ['web_search', mostly(0.4, fc.constant('web_search_20250305'))],
  ]),
  asking: {
    model: 'client-model',
    max_tokens: 1024,
    messages: [{ role: 'user', content: 'Hi' }],
    thinking: { type: 'adaptive', display: 'summarized' },
  },
  cannot: [],

  answer: {
    properties: {
      stop_reason: {
        enum: ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'pause_turn', 'refusal', 'model_context_window_exceeded'],
      },
      content: { items: { properties: { type: { enum: ['text', 'thinking', 'redacted_thinking', 'tool_use'] } } } },
    },
  },
  settle(response) {
    const blocks = list(response.content).map((block, index) => {
      if (block.type === 'tool_use') return { ...block, id: numbered('toolu', index) }
      if (block.type === 'thinking')
        return { ...block, thinking: string(block.thinking) || 'Hm.', signature: string(block.signature) || numbered('sig', index) }
      return block.type === 'redacted_thinking' ? { ...block, data: /^[\w+/=-]+$/.test(string(block.data)) ? block.data : 'hidden' } : block
    })
    const usage = object(response.usage)
    const output_tokens = atLeast(usage.output_tokens, object(usage.output_tokens_details).thinking_tokens)
    return { ...response, content: blocks, usage: { ...usage, output_tokens } }
  },

  unfold(response, cut) {
    const { content, stop_reason: reason, stop_sequence: sequence, stop_details: details, usage } = response
    const events: Values[] = [
      {
        type: 'message_start',
        message: {
          ...response,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          stop_details: null,
          usage: { ...object(usage), output_tokens: 1 },
        },
      },
      { type: 'ping' },
    ]
    list(content).forEach((block, index) => {
      const begin = (content_block: Values): void => void events.push({ type: 'content_block_start', index, content_block })
      const delta = (piece: Values): void => void events.push({ type: 'content_block_delta', index, delta: piece })
      if (block.type === 'text') {
        begin({ ...block, text: '', ...(block.citations !== undefined && { citations: [] }) })
        for (const text of cut(string(block.text))) delta({ type: 'text_delta', text })
        for (const citation of list(block.citations)) delta({ type: 'citations_delta', citation })
      } else if (block.type === 'thinking') {
        begin({ ...block, thinking: '', signature: '' })
        for (const thinking of cut(string(block.thinking))) delta({ type: 'thinking_delta', thinking })
        if (block.signature) delta({ type: 'signature_delta', signature: block.signature })
      } else if (block.type === 'tool_use' || block.type === 'server_tool_use') {
        begin({ ...block, input: {} })
        for (const partial_json of cut(JSON.stringify(block.input ?? {}))) delta({ type: 'input_json_delta', partial_json })
      } else begin(block)
      events.push({ type: 'content_block_stop', index })
    })
    events.push(
      { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: sequence, stop_details: details }, usage: object(usage) },
      { type: 'message_stop' },
    )
    return events
  },
  strand: ({ index }) => (typeof index === 'number' ? `block ${index}` : undefined),
  noise: [{ type: 'ping' }, { type: 'of_tomorrow', x: 1 }],

  fold(events) {
    let message: Values = {}
    const blocks: Values[] = []
    const inputs = new Map<Values, string>()
    for (const event of events) {
      if (event.type === 'message_start') message = { ...object(event.message) }
      else if (event.type === 'content_block_start') blocks[event.index as number] = { ...object(event.content_block) }
      else if (event.type === 'content_block_delta') {
        const block = blocks[event.index as number] as Values
        const delta = object(event.delta)
        if (delta.type === 'text_delta') block.text = string(block.text) + string(delta.text)
        else if (delta.type === 'thinking_delta') block.thinking = string(block.thinking) + string(delta.thinking)
        else if (delta.type === 'signature_delta') block.signature = delta.signature
        else if (delta.type === 'citations_delta') block.citations = [...list(block.citations), delta.citation]
        else if (delta.type === 'input_json_delta') inputs.set(block, (inputs.get(block) ?? '') + string(delta.partial_json))
      } else if (event.type === 'message_delta') {
        const told = Object.fromEntries(Object.entries(object(event.usage)).filter(([, count]) => count !== null))
        message = { ...message, ...object(event.delta), usage: { ...object(message.usage), ...told } }
      }
    }
    for (const [block, text] of inputs) block.input = parsed(text)
    return { ...message, content: blocks }
  },
  essence({ content, stop_reason, stop_sequence, stop_details, usage }) {
    const blocks: Values[] = []
    for (const { id: _id, ...block } of list(content)) {
      const last = blocks.at(-1)
      // Neighbours of text are one text.
      if (block.type === 'text' && last?.type === 'text' && !block.citations) last.text = string(last.text) + string(block.text)
      else blocks.push({ ...block })
    }
    return pruned({ content: blocks, stop_reason, stop_sequence, stop_details, usage })
  },
  said({ content, stop_reason: reason, usage: counts }) {
    const blocks = list(content)
    const usage = object(counts)
    const stop = ['max_tokens', 'model_context_window_exceeded'].includes(string(reason))
      ? 'limit'
      : reason === 'refusal'
        ? 'refused'
        : 'end'
    return {
      text: blocks.map(block => string(block.text)).join(''),
      reasoning: blocks.map(block => string(block.thinking)).join(''),
      signatures: blocks.map(({ signature, data }) => string(signature ?? data)).filter(text => text !== ''),
      // The input of a call that was cut off is an object as well.
      calls: blocks.flatMap(({ type, name, input }, index) =>
        type === 'tool_use' ? [{ name: string(name), arguments: input, mayBeCut: stop !== 'end' && index === blocks.length - 1 }] : [],
      ),
      stop,
      usage: {
        input: number(usage.input_tokens) + number(usage.cache_creation_input_tokens) + number(usage.cache_read_input_tokens),
        output: number(usage.output_tokens),
        cached: number(usage.cache_read_input_tokens),
        reasoning: number(object(usage.output_tokens_details).thinking_tokens),
      },
    }
  },

  faults(events) {
    const found: string[] = []
    const open = new Map<number, Values>()
    const ids = new Set<unknown>()
    /** Calls that had some input. */
    const told = new Set<number>()
    let next = 0
    let stage: 'before' | 'content' | 'reason' | 'end' = 'before'
    events.forEach((event, at) => {
      const { type, index } = event as { type: string; index: number }
      const fault = (text: string): void => void found.push(`${at}: ${type} ${text}`)
      if (type === 'ping') return
      if (type === 'message_start') {
        if (stage !== 'before') fault('comes twice')
        // Clients add up what the beginning and the end count.
        if (number(object(object(event.message).usage).output_tokens) > 1) fault('counts what is not there yet')
        stage = 'content'
        return
      }
      if (stage === 'before') fault('before message_start')
      if (stage === 'end') fault('after message_stop')
      if (type === 'content_block_start') {
        if (stage !== 'content') fault('after message_delta')
        if (open.size > 0) fault('while a block is open')
        if (index !== next++) fault(`has the index ${index}`)
        const block = object(event.content_block)
        if (block.type === 'tool_use') {
          if (!string(block.id) || ids.has(block.id)) fault(`has the id ${block.id}`)
          ids.add(block.id)
        }
        open.set(index, block)
      } else if (type === 'content_block_delta') {
        const block = open.get(index)
        const kind = string(object(event.delta).type)
        if (block === undefined) fault(`for a block that is not open (${index})`)
        else if (!DELTAS[string(block.type)]?.includes(kind)) fault(`${kind} in a block of ${string(block.type)}`)
        else if (block.signed) fault('after the signature')
        else if (kind === 'input_json_delta') told.add(index)
        else if (kind === 'signature_delta') open.set(index, { ...block, signed: true })
      } else if (type === 'content_block_stop') {
        // Clients put the input of a call together from its deltas alone.
        if (open.get(index)?.type === 'tool_use' && !told.has(index)) fault('of a call without a delta')
        if (!open.delete(index)) fault(`for a block that is not open (${index})`)
      } else if (type === 'message_delta') {
        if (open.size > 0) fault('while a block is open')
        if (!string(object(event.delta).stop_reason)) fault('without a reason')
        stage = 'reason'
      } else if (type === 'message_stop') {
        if (stage !== 'reason') fault('without message_delta')
        stage = 'end'
      } else fault('is unknown')
    })
    if ((stage as string) !== 'end') found.push('there is no message_stop')
    return found
  },

  write({ system, turns, tools, temperature, top_p, limit, stops }) {
    return {
      model: 'client-model',
      system,
      messages: turns.flatMap((turn): Values[] =>
        turn.by === 'user'
          ? [{ role: 'user', content: turn.text }]
          : [
              {
                role: 'assistant',
                content: [
                  ...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]),
                  ...turn.calls.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
                ],
              },
              ...(turn.calls.length === 0
                ? []
                : [
                    {
                      role: 'user',
                      content: turn.calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result })),
                    },
                  ]),
            ],
      ),
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, schema }) => ({ name, ...(description && { description }), input_schema: schema })),
      }),
      temperature,
      top_p,
      max_tokens: limit,
      stop_sequences: stops,
    }
  },
  read(request): Conversation {
    const turns: Turn[] = []
    const blocksOf = (content: unknown): Values[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : list(content))
    const text = (content: unknown): string =>
      blocksOf(content)
        .map(block => string(block.text))
        .join('')
    for (const { role, content } of list(request.messages)) {
      const blocks = blocksOf(content)
      if (role === 'assistant') {
        const calls = blocks
          .filter(({ type }) => type === 'tool_use')
          .map(({ id, name, input }) => ({ id: string(id), name: string(name), arguments: object(input), result: '' }))
        turns.push({ by: 'model', text: text(content), calls })
        continue
      }
      const last = turns.at(-1)
      for (const result of blocks.filter(({ type }) => type === 'tool_result'))
        if (last?.by === 'model') for (const call of last.calls) if (call.id === result.tool_use_id) call.result = text(result.content)
      const rest = blocks.filter(({ type }) => type !== 'tool_result')
      if (rest.length > 0) turns.push({ by: 'user', text: text(rest) })
    }
    return {
      ...(request.system !== undefined && { system: text(request.system) }),
      turns,
      tools: list(request.tools).map(({ name, description, input_schema: schema }) => ({
        name: string(name),
        ...(string(description) && { description: string(description) }),
        schema: object(schema),
      })),
      temperature: request.temperature as number,
      top_p: request.top_p as number,
      limit: request.max_tokens as number,
      stops: request.stop_sequences as string[],
    }
  },
}
