// Conversations, and what has to arrive of them: all that the dialects have words for.

import fc from 'fast-check'
import { expect } from 'vitest'
import { jsonObject, keyed, mostly, text } from '../../cli/cases/words.js'
import type { Body, Mapping } from '../../engine/plan.js'
import { frozen, wire } from '../fixtures.js'
import { object } from './dialects/help.js'
import { type Conversation, clientOf, type Missing, providerOf, type Turn } from './dialects/table.js'
import { CONTEXT, same, wrong } from './plan.js'

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
      top_p: fc.integer({ min: 1, max: 99 }).map(value => value / 100),
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
  p: 'top_p',
  stop: 'stops',
  stop_sequences: 'stops',
  max_tokens: 'limit',
  max_completion_tokens: 'limit',
  max_output_tokens: 'limit',
  num_predict: 'limit',
}

/** A conversation without what the ledger says is not sent, and without what a dialect has no words for. */
function lossless(given: Conversation, dropped: readonly string[], cannot: ReadonlySet<Missing>): Conversation {
  const result = JSON.parse(JSON.stringify(given)) as Conversation
  for (const path of dropped) {
    const last = (path.split('.').at(-1) ?? '').replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
    const known = NAMES[last]
    if (known !== undefined) delete result[known]
  }
  if (cannot.has('system')) delete result.system
  if (cannot.has('stops')) delete result.stops
  if (cannot.has('tools')) result.tools = []
  if (cannot.has('history')) result.turns = result.turns.slice(-1)
  let calls = 0
  if (cannot.has('ids')) for (const turn of result.turns) if (turn.by === 'model') for (const one of turn.calls) one.id = `call_${++calls}`
  return result
}

/** What a mapping makes of a request, and what it says that it leaves out: with an object all that it holds. */
function sentBy(mapping: Mapping, asked: Body): { sent: Body; dropped: readonly string[] } {
  expect(mapping.refused?.(asked, CONTEXT)).toBeUndefined()
  const sent = frozen(wire(mapping.request?.(asked, CONTEXT, mapping.carry?.(asked, CONTEXT)))) as Body
  return { sent, dropped: (mapping.dropped?.(asked, CONTEXT, sent) ?? []).flatMap(path => [path, ...Object.keys(object(asked[path]))]) }
}

/** Fails where a conversation all of whose calls have one id does not arrive with ids of their own in each turn. */
export function repeats(given: Conversation, id: string, mapping: Mapping): void {
  const { from, to } = mapping
  const [client, provider] = [clientOf(from), providerOf(to)]
  if (client === undefined || provider === undefined) throw new Error(`no conversation is held between ${from} and ${to}`)
  const turns = given.turns.map(turn => (turn.by === 'model' ? { ...turn, calls: turn.calls.map(call => ({ ...call, id })) } : turn))
  const asked = frozen(wire(client.write({ ...given, turns }))) as Body
  // A dialect may require ids that are not empty.
  if (id === '' && wrong(from, 'request', asked) !== undefined) return
  const { sent, dropped } = sentBy(mapping, asked)
  const arrived = provider.read(sent)
  const cannot = new Set<Missing>([...client.cannot, ...provider.cannot, 'ids'])
  same(lossless(arrived, dropped, cannot), lossless(given, dropped, cannot), `what arrives: ${JSON.stringify(sent)}`)
  for (const turn of arrived.turns) {
    const ids = turn.by === 'model' && !provider.cannot.includes('ids') ? turn.calls.map(call => call.id).filter(one => one !== '') : []
    same([...new Set(ids)], ids, `the ids of a turn: ${JSON.stringify(sent)}`)
  }
}

/** Fails where a conversation does not arrive, or does not come back if there is a mapping the other way. */
export function travels(given: Conversation, there: Mapping, back: Mapping | undefined): void {
  const { from, to } = there
  const [client, provider, origin] = [clientOf(from), providerOf(to), providerOf(from)]
  if (client === undefined || provider === undefined) throw new Error(`no conversation is held between ${from} and ${to}`)
  const cannot = new Set([...client.cannot, ...provider.cannot])
  const asked = frozen(wire(client.write(given))) as Body
  expect(wrong(from, 'request', asked), `the table of ${from} writes what is valid`).toBeUndefined()
  const { sent, dropped } = sentBy(there, asked)
  same(lossless(provider.read(sent), dropped, cannot), lossless(given, dropped, cannot), `what arrives: ${JSON.stringify(sent)}`)
  if (back === undefined || origin === undefined) return
  const { sent: returned, dropped: more } = sentBy(back, sent)
  const lost = [...dropped, ...more]
  same(lossless(origin.read(returned), lost, cannot), lossless(given, lost, cannot), `what comes back: ${JSON.stringify(returned)}`)
}
