import fc from 'fast-check'
import { keyed, mostly } from '../../../cli/cases/words.js'
import { atLeast, called, list, number, numbered, object, parsed, pruned, string, textIn, uncut } from './help.js'
import type { Conversation, Table, Turn, Values } from './table.js'

const END = ['response.completed', 'response.incomplete', 'response.failed']

const saysSomething = ({ type, content }: Values): boolean =>
  type === 'function_call' || (type === 'message' && list(content).some(part => part.text || part.refusal))

export const responses: Table = {
  traits: keyed([
    ['reasoning', mostly(0.2, fc.constant(false))],
    ['reasoning_effort', mostly(0.4, fc.constantFrom<unknown>(['low', 'high'], ['none', 'medium'], false))],
    ['reasoning_summary', mostly(0.3, fc.constantFrom<unknown>(false, 'detailed'))],
    ['sampling', mostly(0.2, fc.constant(false))],
  ]),
  asking: {
    model: 'client-model',
    input: 'Hi',
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    store: false,
  },
  cannot: ['stops'],

  answer: {
    required: ['usage'],
    properties: {
      status: { enum: ['completed', 'incomplete'] },
      error: { type: 'null' },
      usage: { type: 'object' },
      output: {
        items: {
          properties: {
            type: { enum: ['message', 'function_call', 'reasoning'] },
            status: { const: 'completed' },
            namespace: { type: 'null' },
          },
        },
      },
    },
  },
  settle(response) {
    const isCut = response.status === 'incomplete'
    const lastMessage = list(response.output).findLast(({ type }) => type === 'message')
    const output = list(response.output).map((item, index): Values => {
      if (item.type === 'function_call')
        return { ...item, id: numbered('fc', index), call_id: numbered('call', index), arguments: uncut(item.arguments, isCut) }
      if (item.type === 'reasoning') {
        const summary = list(item.summary).filter(part => part.text !== '')
        const content = list(item.content).filter(part => part.text !== '')
        return { ...item, id: numbered('rs', index), summary, content: content.length > 0 ? content : null }
      }
      // A refusal says something, and is the last thing that is said.
      const parts = list(item.content)
        .filter(({ type }) => type !== 'reasoning_text')
        .map((part): Values => {
          if (part.type !== 'refusal' || (item === lastMessage && part === list(item.content).at(-1) && part.refusal)) return part
          return { type: 'output_text', text: string(part.refusal) }
        })
      return {
        ...item,
        id: numbered('msg', index),
        content: parts.map(part => (part.type === 'output_text' ? { ...part, annotations: [], logprobs: [] } : part)),
      }
    })
    const reason = object(response.incomplete_details).reason === 'content_filter' ? 'content_filter' : 'max_output_tokens'
    const usage = object(response.usage)
    const read = object(usage.input_tokens_details)
    const input_tokens = atLeast(usage.input_tokens, read.cached_tokens, read.cache_write_tokens)
    const output_tokens = atLeast(usage.output_tokens, object(usage.output_tokens_details).reasoning_tokens)
    return {
      ...response,
      // What leads to nothing need not be proven.
      output: output.map((item, index) =>
        item.type === 'reasoning' && !output.slice(index).some(saysSomething) ? { ...item, encrypted_content: null } : item,
      ),
      incomplete_details: isCut ? { reason } : null,
      usage: { ...usage, input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
    }
  },

  unfold(response, cut) {
    const events: Values[] = []
    const send = (type: string, members: Values): void =>
      void events.push({ type: `response.${type}`, sequence_number: events.length, ...members })
    const begun = { ...response, status: 'in_progress', output: [], usage: null, incomplete_details: null }
    send('created', { response: begun })
    send('in_progress', { response: begun })
    list(response.output).forEach((item, output_index) => {
      const at = { item_id: item.id, output_index }
      if (item.type === 'function_call') {
        send('output_item.added', { output_index, item: { ...item, arguments: '', status: 'in_progress' } })
        for (const delta of cut(string(item.arguments))) send('function_call_arguments.delta', { ...at, delta })
        send('function_call_arguments.done', { ...at, arguments: item.arguments })
      } else if (item.type === 'message') {
        send('output_item.added', { output_index, item: { ...item, content: [], status: 'in_progress' } })
        list(item.content).forEach((part, content_index) => {
          const here = { ...at, content_index }
          const kind = part.type === 'refusal' ? 'refusal' : 'text'
          send('content_part.added', { ...here, part: { ...part, [kind]: '' } })
          for (const delta of cut(string(part[kind]))) send(kind === 'text' ? 'output_text.delta' : 'refusal.delta', { ...here, delta })
          send(kind === 'text' ? 'output_text.done' : 'refusal.done', { ...here, [kind]: part[kind] })
          send('content_part.done', { ...here, part })
        })
      } else {
        send('output_item.added', { output_index, item: { ...item, summary: [], content: null, encrypted_content: '' } })
        list(item.summary).forEach((part, summary_index) => {
          const here = { ...at, summary_index }
          send('reasoning_summary_part.added', { ...here, part: { ...part, text: '' } })
          for (const delta of cut(string(part.text))) send('reasoning_summary_text.delta', { ...here, delta })
          send('reasoning_summary_text.done', { ...here, text: part.text })
          send('reasoning_summary_part.done', { ...here, part })
        })
        list(item.content).forEach((part, content_index) => {
          const here = { ...at, content_index }
          send('content_part.added', { ...here, part: { ...part, text: '' } })
          for (const delta of cut(string(part.text))) send('reasoning_text.delta', { ...here, delta })
          send('reasoning_text.done', { ...here, text: part.text })
          send('content_part.done', { ...here, part })
        })
      }
      send('output_item.done', { output_index, item })
    })
    send(string(response.status), { response })
    return events
  },
  sparse(events, levels, most) {
    // What comes whole only with its item comes behind the parts with pieces. The content of a thought is behind its summary.
    const level = ({ type, part, content_index, summary_index }: Values): number => {
      const isThought = string(type).startsWith('response.reasoning_text') || object(part).type === 'reasoning_text'
      const place = isThought ? levels.length : number(content_index ?? summary_index)
      return Math.max(...levels.slice(0, place + 1))
    }
    const isSaid = (event: Values): boolean => {
      const { type, output_index } = event
      if (output_index === undefined) return true
      if (number(output_index) >= most) return false
      if (type === 'response.output_item.done' || level(event) === 0) return true
      return !string(type).endsWith('.delta') && (level(event) === 1 || (level(event) === 2 && type === 'response.output_item.added'))
    }
    return events.filter(isSaid).map((event, sequence_number) => ({ ...event, sequence_number }))
  },
  strand: ({ type, output_index, item }) =>
    string(type).startsWith('response.function_call') || object(item).type === 'function_call' ? `call ${output_index}` : undefined,
  noise: [
    { type: 'keepalive', sequence_number: 3 },
    { type: 'response.of_tomorrow', sequence_number: 4 },
  ],

  fold: events => object(events.findLast(({ type }) => END.includes(string(type)))?.response),
  essence({ output, status, usage, incomplete_details }) {
    return pruned({
      output: list(output).map(({ id: _id, call_id: _call, ...item }) => item),
      status,
      usage,
      incomplete_details,
    })
  },
  said({ output, status, usage: counts, incomplete_details: details }) {
    const items = list(output)
    const usage = object(counts)
    const content = (type: string): Values[] => items.filter(item => item.type === type).flatMap(item => list(item.content))
    const reason = object(details).reason
    return {
      text: content('message')
        .map(part => string(part.text ?? part.refusal))
        .join(''),
      reasoning: items
        .filter(({ type }) => type === 'reasoning')
        .flatMap(item => [...list(item.summary), ...list(item.content)])
        .map(part => string(part.text))
        .join(''),
      signatures: items.map(item => string(item.encrypted_content)).filter(text => text !== ''),
      calls: items.filter(({ type }) => type === 'function_call').map(item => called(item.name, item.arguments)),
      stop:
        content('message').some(({ type }) => type === 'refusal') || reason === 'content_filter'
          ? 'refused'
          : status === 'incomplete'
            ? 'limit'
            : 'end',
      usage: {
        input: number(usage.input_tokens),
        output: number(usage.output_tokens),
        cached: number(object(usage.input_tokens_details).cached_tokens),
        reasoning: number(object(usage.output_tokens_details).reasoning_tokens),
      },
    }
  },

  faults(events) {
    const found: string[] = []
    const done: unknown[] = []
    const ids = new Set<unknown>()
    /** Texts of the items that are open, by where they are. */
    const texts = new Map<string, string>()
    const parts = new Set<string>()
    const open = new Map<unknown, Values>()
    let added = 0
    events.forEach((event, at) => {
      const type = string(event.type).replace(/^response\./, '')
      const fault = (text: string): void => void found.push(`${at}: ${type} ${text}`)
      if (event.sequence_number !== at) fault(`has the sequence number ${event.sequence_number}`)
      if (at < 2 ? type !== ['created', 'in_progress'][at] : type === 'created' || type === 'in_progress') fault('is out of order')
      const { output_index: index } = event
      const part = `${index} ${event.content_index ?? ''} ${event.summary_index ?? ''}`
      if (END.includes(string(event.type))) {
        if (at !== events.length - 1) fault('is not the last')
        if (open.size > 0) fault('while an item is open')
        if (JSON.stringify(object(event.response).output) !== JSON.stringify(done)) fault('has other items than those that were done')
      } else if (type === 'output_item.added') {
        if (open.size > 0) fault('while an item is open')
        if (index !== added++) fault(`has the output_index ${index}`)
        const { id } = object(event.item)
        if (!string(id) || ids.has(id)) fault(`has the id ${id}`)
        ids.add(id)
        open.set(index, object(event.item))
      } else if (type === 'output_item.done') {
        const item = object(event.item)
        const begun = open.get(index)
        if (begun === undefined) fault('without a beginning')
        else for (const name of ['id', 'type', 'call_id', 'name']) if (begun[name] !== item[name]) fault(`changes ${name}`)
        if ([...parts].some(name => name.startsWith(`${index} `))) fault('while a part is open')
        open.delete(index)
        done[index as number] = item
      } else if (event.item_id !== undefined) {
        if (open.get(index)?.id !== event.item_id) fault(`is of an item that is not open (${event.item_id})`)
        if (type.endsWith('part.added')) parts.add(part)
        else if (type.endsWith('part.done')) {
          if (!parts.delete(part)) fault('without a beginning')
        } else {
          const isPart = event.content_index !== undefined || event.summary_index !== undefined
          if (isPart && !parts.has(part)) fault('is of a part that is not open')
          const stem = `${part} ${type.replace(/\.(delta|done)$/, '')}`
          if (type.endsWith('.delta')) texts.set(stem, (texts.get(stem) ?? '') + string(event.delta))
          else if (type.endsWith('.done')) {
            const whole = event.text ?? event.arguments ?? event.refusal ?? event.input
            if (whole !== undefined && whole !== (texts.get(stem) ?? '')) fault('is not what its pieces make')
          }
        }
      }
    })
    if (!END.includes(string(events.at(-1)?.type))) found.push('there is no end')
    return found
  },

  write({ system, turns, tools, temperature, top_p, limit }) {
    return {
      model: 'client-model',
      instructions: system,
      input: turns.flatMap((turn): Values[] =>
        turn.by === 'user'
          ? [{ role: 'user', content: turn.text }]
          : [
              ...(turn.text === '' ? [] : [{ role: 'assistant', content: turn.text }]),
              ...turn.calls.map(({ id, name, arguments: given }) => ({
                type: 'function_call',
                call_id: id,
                name,
                arguments: JSON.stringify(given),
              })),
              ...turn.calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
            ],
      ),
      ...(tools.length > 0 && {
        tools: tools.map(({ name, description, schema }) => ({
          type: 'function',
          name,
          ...(description && { description }),
          parameters: schema,
          strict: false,
        })),
      }),
      temperature,
      top_p,
      max_output_tokens: limit,
    }
  },
  read(request): Conversation {
    const turns: Turn[] = []
    const system: string[] = request.instructions ? [string(request.instructions)] : []
    const model = (): Turn & { by: 'model' } => {
      const last = turns.at(-1)
      if (last?.by === 'model') return last
      const turn: Turn & { by: 'model' } = { by: 'model', text: '', calls: [] }
      turns.push(turn)
      return turn
    }
    let isAnswered = false
    for (const item of list(request.input)) {
      if (item.role === 'user') turns.push({ by: 'user', text: textIn(item.content) })
      else if (item.role === 'assistant') {
        if (isAnswered) turns.push({ by: 'model', text: '', calls: [] })
        model().text += textIn(item.content)
      } else if (item.role !== undefined) system.push(textIn(item.content))
      else if (item.type === 'function_call') {
        if (isAnswered) turns.push({ by: 'model', text: '', calls: [] })
        model().calls.push({
          id: string(item.call_id),
          name: string(item.name),
          arguments: parsed(string(item.arguments)) as Values,
          result: '',
        })
      } else if (item.type === 'function_call_output')
        for (const call of model().calls) if (call.id === item.call_id) call.result = textIn(item.output)
      isAnswered = item.type === 'function_call_output'
    }
    return {
      ...(system.length > 0 && { system: system.join('\n\n') }),
      turns,
      tools: list(request.tools).map(({ name, description, parameters }) => ({
        name: string(name),
        ...(string(description) && { description: string(description) }),
        schema: object(parameters),
      })),
      temperature: request.temperature as number,
      top_p: request.top_p as number,
      limit: request.max_output_tokens as number,
    }
  },
}
