// Conversations that every dialect can express completely, so all of them has to arrive.

import fc from 'fast-check'
import { jsonObject, keyed, mostly, text } from '../../cli/cases/words.js'
import type { Conversation, Turn } from './dialects/table.js'

/** Texts of blanks alone are refused by some providers, so they need not arrive. */
const words = text.map(value => (/\S/.test(value) ? value : 'Hello'))
const name = fc.constantFrom('get_weather', 'search', 'a', 'x-y', '_z')

const schema = fc
  .dictionary(
    fc.constantFrom('city', 'days', 'unit'),
    keyed([
      ['type', fc.constantFrom('string', 'integer', 'boolean')],
      ['description', mostly(0.5, words)],
    ]),
    { minKeys: 1, maxKeys: 3 },
  )
  .map(properties => ({ type: 'object', properties }))

const call = fc.record({ name, arguments: jsonObject, result: words })

export const conversation: fc.Arbitrary<Conversation> = fc
  .record(
    {
      system: words,
      rounds: fc.array(
        fc.record({
          asked: words,
          steps: fc.array(fc.record({ text: fc.oneof(fc.constant(''), words), calls: fc.array(call, { minLength: 1, maxLength: 3 }) }), {
            maxLength: 2,
          }),
          answer: words,
        }),
        { maxLength: 3 },
      ),
      last: words,
      tools: fc.uniqueArray(
        keyed([
          ['name', name],
          ['description', mostly(0.7, words)],
          ['schema', schema],
        ]),
        { selector: tool => tool.name, maxLength: 3 },
      ),
      // 1 is what it is without a word.
      temperature: fc.integer({ min: 0, max: 99 }).map(value => value / 100),
      top_p: fc.integer({ min: 1, max: 100 }).map(value => value / 100),
      limit: fc.integer({ min: 1024, max: 8192 }),
      stops: fc.uniqueArray(fc.constantFrom('END', '\n\nHuman:', '}', 'ü 😀'), { minLength: 1, maxLength: 4 }),
    },
    { requiredKeys: ['rounds', 'last', 'tools', 'limit'] },
  )
  .map(({ rounds, last, ...rest }) => {
    const turns: Turn[] = []
    let calls = 0
    const declared = rest.tools.map(tool => tool.name as string)
    for (const { asked, steps, answer } of rounds) {
      turns.push({ by: 'user', text: asked })
      // Only what is declared is called.
      if (declared.length > 0)
        for (const step of steps)
          turns.push({
            by: 'model',
            text: step.text,
            calls: step.calls.map(one => ({
              id: `call_${++calls}`,
              ...one,
              name: declared.includes(one.name) ? one.name : (declared[0] as string),
            })),
          })
      turns.push({ by: 'model', text: answer, calls: [] })
    }
    turns.push({ by: 'user', text: last })
    return { ...rest, turns } as Conversation
  })

/** How the ledger may call what a conversation has, whatever the spelling: `generationConfig.topP`. */
const NAMES: Readonly<Record<string, keyof Conversation>> = {
  temperature: 'temperature',
  top_p: 'top_p',
  stop: 'stops',
  stop_sequences: 'stops',
  max_tokens: 'limit',
  max_completion_tokens: 'limit',
  max_output_tokens: 'limit',
}

/** A conversation without what the ledger says is not sent, and without what a dialect has no words for. */
export function lossless(given: Conversation, dropped: readonly string[], cannot: readonly string[]): unknown {
  const result = JSON.parse(JSON.stringify(given)) as Conversation
  for (const path of dropped) {
    const last = (path.split('.').at(-1) ?? '').replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
    const known = NAMES[last]
    if (known !== undefined) delete result[known]
  }
  for (const known of cannot) if (known !== 'ids') delete result[known as keyof Conversation]
  let calls = 0
  if (cannot.includes('ids'))
    for (const turn of result.turns) if (turn.by === 'model') for (const one of turn.calls) one.id = `call_${++calls}`
  return result
}
