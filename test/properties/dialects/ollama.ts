import { keyed } from '../../../cli/cases/words.js'
import { functionsIn, list, number, numbered, object, pruned, string, unlikeHeads, wrapped } from './help.js'
import type { Conversation, Table, Turn, Values } from './table.js'

const COUNTS = ['prompt_eval_count', 'eval_count']

export const ollama: Table = {
  traits: keyed([]),
  asking: { model: 'client-model', messages: [{ role: 'user', content: 'Hi' }], think: true },
  cannot: ['signatures', 'calls.cut', 'refused', 'usage.cached', 'usage.reasoning'],

  answer: {
    required: ['done_reason', ...COUNTS],
    properties: {
      done: { const: true },
      done_reason: { enum: ['stop', 'length'] },
      logprobs: { type: 'null' },
      message: {
        properties: {
          images: { type: 'null' },
          tool_calls: { items: { properties: { function: { properties: { name: { minLength: 1 } } } } } },
        },
      },
    },
  },
  settle(response) {
    const { tool_calls, ...message } = object(response.message)
    // A server names all calls of an answer, or none.
    const isNamed = list(tool_calls).every(call => typeof call.id === 'string')
    const calls = list(tool_calls).map(({ id: _id, ...call }, index) => (isNamed ? { ...call, id: numbered('call', index) } : call))
    return { ...response, message: { ...message, ...(calls.length > 0 && { tool_calls: calls }) } }
  },

  unfold(response, cut) {
    const { model, created_at } = response
    const { thinking, content, tool_calls } = object(response.message)
    const line = (message: Values): Values => ({ model, created_at, message: { role: 'assistant', content: '', ...message }, done: false })
    return [
      ...cut(string(thinking)).map(piece => line({ thinking: piece })),
      ...cut(string(content)).map(piece => line({ content: piece })),
      ...list(tool_calls).map(call => line({ tool_calls: [call] })),
      { ...response, message: { role: 'assistant', content: '' } },
    ]
  },
  strand({ message, done }) {
    const { thinking, content, tool_calls } = object(message)
    const [call] = list(tool_calls)
    if (done === true) return undefined
    return call ? `call ${JSON.stringify(call)}` : content ? 'text' : thinking ? 'thought' : undefined
  },
  noise: [{ model: 'm', created_at: '2025-01-01T00:00:00Z', message: { role: 'assistant', content: '' }, done: false }],

  fold(events) {
    const message = { role: 'assistant', content: '', thinking: '', tool_calls: [] as Values[] }
    for (const event of events) {
      const { content, thinking, tool_calls } = object(event.message)
      message.content += string(content)
      message.thinking += string(thinking)
      message.tool_calls.push(...list(tool_calls))
    }
    return { ...object(events.at(-1)), message }
  },
  essence({ model, message, done, done_reason, prompt_eval_count, eval_count }) {
    const { tool_calls, ...said } = object(message)
    const calls = list(tool_calls).map(({ id: _id, ...call }) => call)
    return pruned({ model, ...said, calls, done, done_reason, prompt_eval_count, eval_count })
  },
  said(response) {
    const { content, thinking, tool_calls } = object(response.message)
    return {
      text: string(content),
      reasoning: string(thinking),
      signatures: [],
      calls: list(tool_calls).map(call => {
        const { name, arguments: given } = object(call.function)
        return { name: string(name), arguments: given }
      }),
      stop: response.done_reason === 'length' ? 'limit' : 'end',
      usage: { input: number(response.prompt_eval_count), output: number(response.eval_count), cached: 0, reasoning: 0 },
    }
  },

  faults(events) {
    const found = unlikeHeads(events)
    let calls = 0
    const ids = new Set<unknown>()
    events.forEach((event, at) => {
      const isLast = at === events.length - 1
      const message = object(event.message)
      if ((event.done === true) !== isLast) found.push(`${at}: the last line is done, and it alone`)
      if (message.role !== 'assistant' || typeof message.content !== 'string') found.push(`${at}: there is no message`)
      for (const call of list(message.tool_calls)) {
        if (object(call.function).index !== calls++) found.push(`${at}: calls are not numbered one by one`)
        if (call.id !== undefined && ids.has(call.id)) found.push(`${at}: two calls have the id ${call.id}`)
        ids.add(call.id)
      }
      if (isLast && (!event.done_reason || COUNTS.some(name => typeof event[name] !== 'number')))
        found.push(`${at}: the last line has no reason or no counts`)
    })
    if (events.length === 0) found.push('there is no line')
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
                  content: turn.text,
                  ...(turn.calls.length > 0 && {
                    tool_calls: turn.calls.map(({ id, name, arguments: given }) => ({ id, function: { name, arguments: given } })),
                  }),
                },
                ...turn.calls.map(({ id, name, result }) => ({ role: 'tool', content: result, tool_name: name, tool_call_id: id })),
              ],
        ),
      ],
      ...(tools.length > 0 && { tools: wrapped(tools) }),
      options: { temperature, top_p, num_predict: limit, stop: stops },
    }
  },
  read(request): Conversation {
    const turns: Turn[] = []
    const system: string[] = []
    for (const { role, content, tool_calls, tool_call_id } of list(request.messages)) {
      const last = turns.at(-1)
      if (role === 'system') system.push(string(content))
      else if (role === 'user') turns.push({ by: 'user', text: string(content) })
      else if (role === 'assistant') {
        const calls = list(tool_calls).map(call => {
          const { name, arguments: given } = object(call.function)
          return { id: string(call.id), name: string(name), arguments: object(given), result: '' }
        })
        turns.push({ by: 'model', text: string(content), calls })
      } else if (last?.by === 'model') {
        // A server does not need ids: results come in the order of their calls.
        const call = last.calls.find(one => one.id === string(tool_call_id) && one.result === '')
        if (call) call.result = string(content)
      }
    }
    const options = object(request.options)
    return {
      ...(system.length > 0 && { system: system.join('\n\n') }),
      turns,
      tools: functionsIn(request.tools),
      temperature: options.temperature as number,
      top_p: options.top_p as number,
      limit: options.num_predict as number,
      stops: options.stop as string[],
    }
  },
}
