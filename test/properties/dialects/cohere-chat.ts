import { keyed } from '../../../cli/cases/words.js'
import { called, callsInText, functionsIn, list, number, numbered, object, parsed, pruned, string, textIn, uncut, wrapped } from './help.js'
import type { Conversation, Table, Turn, Values } from './table.js'

const tokens = { properties: Object.fromEntries(['input_tokens', 'output_tokens'].map(name => [name, { type: 'integer' }])) }

export const cohereChat: Table = {
  traits: keyed([]),
  asking: { model: 'client-model', messages: [{ role: 'user', content: 'Hi' }], thinking: { type: 'enabled' } },
  cannot: ['signatures', 'refused', 'usage.reasoning'],

  answer: {
    required: ['usage'],
    properties: {
      finish_reason: { enum: ['COMPLETE', 'STOP_SEQUENCE', 'MAX_TOKENS', 'TOOL_CALL'] },
      message: {
        properties: {
          citations: { type: 'null' },
          content: { items: { properties: { type: { enum: ['text', 'thinking'] } } } },
          tool_calls: { items: { properties: { function: { properties: { name: { minLength: 1 } } } } } },
        },
      },
      usage: { type: 'object', required: ['tokens'], properties: { tokens, billed_units: tokens, cached_tokens: { type: 'integer' } } },
    },
  },
  settle(response) {
    const isCut = response.finish_reason === 'MAX_TOKENS'
    const { tool_calls, tool_plan, ...message } = object(response.message)
    const calls = list(tool_calls).map((call, index) => {
      const { name, arguments: given } = object(call.function)
      return { ...call, id: numbered('call', index), function: { name, arguments: uncut(given, isCut) } }
    })
    const usage = object(response.usage)
    const read = object(usage.tokens)
    // A plan is one of calls, and what came from a cache is part of the input.
    return {
      ...response,
      usage: { ...usage, tokens: { ...read, input_tokens: Math.max(number(read.input_tokens), number(usage.cached_tokens)) } },
      message: { ...message, ...(calls.length > 0 && { tool_calls: calls, ...(tool_plan !== undefined && { tool_plan }) }) },
    }
  },

  unfold({ id, finish_reason, message, usage }, cut) {
    const { content, tool_plan, tool_calls } = object(message)
    const event = (type: string, said: Values, index?: number): Values => ({
      ...(index !== undefined && { index }),
      type,
      delta: { message: said },
    })
    const blocks = list(content).flatMap((block, index) => {
      const kind = string(block.type) === 'text' ? 'text' : 'thinking'
      return [
        event('content-start', { content: { type: kind, [kind]: '' } }, index),
        ...cut(string(block[kind])).map(piece => event('content-delta', { content: { [kind]: piece } }, index)),
        { type: 'content-end', index },
      ]
    })
    const plan = cut(string(tool_plan)).map(piece => event('tool-plan-delta', { tool_plan: piece }))
    const calls = list(tool_calls).flatMap((call, index) => {
      const { name, arguments: given } = object(call.function)
      return [
        event('tool-call-start', { tool_calls: { ...call, function: { name, arguments: '' } } }, index),
        ...cut(string(given)).map(piece => event('tool-call-delta', { tool_calls: { function: { arguments: piece } } }, index)),
        { type: 'tool-call-end', index },
      ]
    })
    return [
      { id, ...event('message-start', { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }) },
      ...blocks,
      ...plan,
      ...calls,
      { type: 'message-end', id, delta: { finish_reason, usage } },
    ]
  },
  strand: () => undefined, // one thing comes after the other
  noise: [
    { type: 'citation-start', index: 0, delta: { message: { citations: { start: 0, end: 1, text: 'a', sources: [] } } } },
    { type: 'citation-end', index: 0 },
  ],

  fold(events) {
    const content: Values[] = []
    const calls: Values[] = []
    let whole: Values = {}
    for (const event of events) {
      const delta = object(event.delta)
      const message = object(delta.message)
      const said = object(message.content)
      const call = object(message.tool_calls)
      const open = content.at(-1) ?? {}
      const last = object(calls.at(-1)?.function)
      if (event.type === 'message-start') whole = { id: event.id }
      if (event.type === 'content-start') content.push({ ...said })
      if (event.type === 'content-delta')
        for (const kind of ['text', 'thinking']) if (kind in said) open[kind] = string(open[kind]) + string(said[kind])
      if (event.type === 'tool-call-start') calls.push({ ...call, function: { ...object(call.function) } })
      if (event.type === 'tool-call-delta') last.arguments = string(last.arguments) + string(object(call.function).arguments)
      if (event.type === 'message-end') whole = { ...whole, finish_reason: delta.finish_reason, usage: delta.usage }
    }
    return { ...whole, message: { role: 'assistant', content, tool_calls: calls } }
  },
  essence({ message, finish_reason, usage }) {
    const { content, tool_calls } = object(message)
    const calls = list(tool_calls).map(call => called(object(call.function).name, object(call.function).arguments))
    return pruned({ content, calls, finish_reason, usage })
  },
  faults(events) {
    const found: string[] = []
    let open: string | undefined
    const next: Record<string, number> = { content: 0, 'tool-call': 0 }
    events.forEach(({ type, index }, at) => {
      const [, kind, step] = /^(content|tool-call)-(start|delta|end)$/.exec(string(type)) ?? []
      if ((type === 'message-start') !== (at === 0)) found.push(`${at}: the first event begins the message, and it alone`)
      if ((type === 'message-end') !== (at === events.length - 1)) found.push(`${at}: the last event ends the message, and it alone`)
      if (kind === undefined) return
      if (step === 'start') {
        if (open !== undefined) found.push(`${at}: ${kind} begins before ${open} has ended`)
        if (index !== next[kind]) found.push(`${at}: ${kind}s are not numbered one by one`)
        next[kind] = number(next[kind]) + 1
        open = kind
      } else if (open !== kind || index !== number(next[kind]) - 1) found.push(`${at}: ${kind} is not open`)
      if (step === 'end') open = undefined
    })
    if (events.length === 0) found.push('there is no event')
    return found
  },

  said({ message, finish_reason, usage: counts }) {
    const { content, tool_plan, tool_calls } = object(message)
    const usage = object(counts)
    const all = (kind: string): string =>
      list(content)
        .map(block => string(block[kind]))
        .join('')
    const counted = (name: string): number => number(object(usage.tokens)[name] ?? object(usage.billed_units)[name])
    return {
      text: all('text'),
      reasoning: all('thinking') + string(tool_plan),
      signatures: [],
      calls: list(tool_calls).map(call => called(object(call.function).name, object(call.function).arguments)),
      stop: finish_reason === 'MAX_TOKENS' ? 'limit' : 'end',
      usage: {
        input: counted('input_tokens'),
        output: counted('output_tokens'),
        cached: number(usage.cached_tokens),
        reasoning: 0,
      },
    }
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
                  content: turn.text,
                  ...(turn.calls.length > 0 && { tool_calls: callsInText(turn.calls) }),
                },
                ...turn.calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
              ],
        ),
      ],
      ...(tools.length > 0 && { tools: wrapped(tools) }),
      temperature,
      p: top_p,
      max_tokens: limit,
      stop_sequences: stops,
    }
  },
  read(request): Conversation {
    const turns: Turn[] = []
    const system: string[] = []
    for (const { role, content, tool_calls, tool_call_id } of list(request.messages)) {
      const last = turns.at(-1)
      if (role === 'system') system.push(textIn(content))
      else if (role === 'user') turns.push({ by: 'user', text: textIn(content) })
      else if (role === 'assistant') {
        const calls = list(tool_calls).map(call => {
          const { name, arguments: given } = object(call.function)
          return { id: string(call.id), name: string(name), arguments: parsed(string(given)) as Values, result: '' }
        })
        turns.push({ by: 'model', text: textIn(content), calls })
      } else if (last?.by === 'model') for (const call of last.calls) if (call.id === tool_call_id) call.result = textIn(content)
    }
    return {
      ...(system.length > 0 && { system: system.join('\n\n') }),
      turns,
      tools: functionsIn(request.tools),
      temperature: request.temperature as number,
      top_p: request.p as number,
      limit: request.max_tokens as number,
      stops: request.stop_sequences as string[],
    }
  },
}
