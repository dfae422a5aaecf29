import { number, object, pruned, string, unlikeHeads } from './help.js'
import type { Client, Values } from './table.js'

const COUNTS = ['prompt_eval_count', 'eval_count']

export const ollamaGenerate: Client = {
  asking: { model: 'client-model', prompt: 'Hi', think: true },
  cannot: ['history', 'tools', 'signatures', 'calls', 'refused', 'usage.cached', 'usage.reasoning'],
  noise: [],

  fold(events) {
    const all = (member: string): string => events.map(event => string(event[member])).join('')
    return { ...object(events.at(-1)), response: all('response'), thinking: all('thinking') }
  },
  essence: ({ model, response, thinking, done, done_reason, prompt_eval_count, eval_count }) =>
    pruned({ model, response, thinking, done, done_reason, prompt_eval_count, eval_count }),
  said: response => ({
    text: string(response.response),
    reasoning: string(response.thinking),
    signatures: [],
    calls: [],
    stop: response.done_reason === 'length' ? 'limit' : 'end',
    usage: { input: number(response.prompt_eval_count), output: number(response.eval_count), cached: 0, reasoning: 0 },
  }),

  faults(events) {
    const found = unlikeHeads(events)
    events.forEach((event, at) => {
      const isLast = at === events.length - 1
      if ((event.done === true) !== isLast) found.push(`${at}: the last line is done, and it alone`)
      if (typeof event.response !== 'string') found.push(`${at}: there is no response`)
      if (isLast && (!event.done_reason || COUNTS.some(name => typeof event[name] !== 'number')))
        found.push(`${at}: the last line has no reason or no counts`)
    })
    if (events.length === 0) found.push('there is no line')
    return found
  },

  write: ({ system, turns, temperature, top_p, limit, stops }): Values => ({
    model: 'client-model',
    prompt: turns.at(-1)?.text,
    system,
    options: { temperature, top_p, num_predict: limit, stop: stops },
  }),
}
