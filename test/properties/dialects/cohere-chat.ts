import { keyed } from '../../../cli/cases/words.js'
import { called, functionsIn, list, number, numbered, object, parsed, string, textIn, uncut } from './help.js'
import type { Conversation, Provider, Turn, Values } from './table.js'

const tokens = { properties: Object.fromEntries(['input_tokens', 'output_tokens'].map(name => [name, { type: 'integer' }])) }

export const cohereChat: Provider = {
  traits: keyed([]),
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
