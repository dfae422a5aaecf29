import { list, number, object, pruned, string } from './help.js'
import type { Client, Values } from './table.js'

/** A client asks for one answer to one prompt. */
export const completions: Client = {
  asking: { model: 'client-model', prompt: 'Hi', stream_options: { include_usage: true } },
  cannot: ['system', 'history', 'tools', 'reasoning', 'signatures', 'calls'],
  noise: [],

  fold(events) {
    const choices = events.flatMap(event => list(event.choices))
    const finish_reason = choices.map(choice => choice.finish_reason).findLast(Boolean)
    return {
      ...object(events.at(-1)),
      choices: [{ text: choices.map(({ text }) => string(text)).join(''), index: 0, finish_reason, logprobs: null }],
    }
  },
  essence: ({ model, choices, usage }) => pruned({ model, choices, usage }),
  said(response) {
    const [choice] = list(response.choices)
    const usage = object(response.usage)
    const reason = choice?.finish_reason
    return {
      text: string(choice?.text),
      reasoning: '',
      signatures: [],
      calls: [],
      stop: reason === 'content_filter' ? 'refused' : reason === 'length' ? 'limit' : 'end',
      usage: {
        input: number(usage.prompt_tokens),
        output: number(usage.completion_tokens),
        cached: number(object(usage.prompt_tokens_details).cached_tokens),
        reasoning: number(object(usage.completion_tokens_details).reasoning_tokens),
      },
    }
  },

  faults(events) {
    const found: string[] = []
    const heads = new Set(events.map(({ id, model, created, object: kind }) => JSON.stringify([id, model, created, kind])))
    if (heads.size > 1) found.push(`events differ in id, model, created or object: ${[...heads].join(' ')}`)
    let finished = false
    events.forEach((event, at) => {
      const isLast = at === events.length - 1
      const [choice, ...others] = list(event.choices)
      if (isLast) {
        if (choice !== undefined || !event.usage) found.push(`${at}: the last event has the usage, and no choice`)
        return
      }
      if (event.usage) found.push(`${at}: usage before the end`)
      if (choice === undefined || others.length > 0 || choice.index !== 0) found.push(`${at}: there is one choice, and it is the first`)
      if (finished) found.push(`${at}: a piece after the reason`)
      finished ||= Boolean(choice?.finish_reason)
    })
    if (!finished) found.push('there is no reason at the end')
    return found
  },

  write: ({ turns, temperature, top_p, limit, stops }): Values => ({
    model: 'client-model',
    prompt: turns.at(-1)?.text,
    temperature,
    top_p,
    max_tokens: limit,
    stop: stops,
  }),
}
