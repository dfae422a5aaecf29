// Nobody can make a gateway stand still with one request: whatever a caller or a provider can repeat, with ids of its own
// or the same ones, costs as much more as there is more of it.

import { describe, expect, test } from 'vitest'
import { faultOf, subjectsOf } from './growth.js'
import { plan } from './plan.js'

/** Dialects whose requests, answers and streams are made of lists of any length. */
const TEXT = ['chat', 'completions', 'generate', 'messages', 'responses']

/** What still grows with the square of what a provider sends: to be cured, and then to be taken from here. No caller can make it so. */
const KNOWN: Readonly<Record<string, readonly RegExp[]>> = {
  // Calls that wait for their name or id are a list of which one is replaced.
  'messages-to-chat': [/tool_calls/],
  // The same, and what a function of the mapping sets the state to is copied.
  'responses-to-chat': [/tool_calls/, /thinking_blocks/],
  // The last item is replaced in a copy of the list.
  'responses-to-messages': [/^response: content of /],
}

const isKnown = (pair: string, what: string): boolean =>
  KNOWN[pair]?.some(pattern => pattern.test(what)) === true && !what.startsWith('request')

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  if (![mapping.from, mapping.to].every(dialect => TEXT.includes(dialect))) continue
  describe(pair, () => {
    test('whatever is repeated costs as much more as there is more of it', { timeout: 120_000 }, () => {
      const subjects = subjectsOf(pair, mapping)
      expect(subjects.length).toBeGreaterThan(10)
      const faults = subjects
        .map(subject => (isKnown(pair, subject.what) ? undefined : faultOf(subject, 100)))
        .filter(fault => fault !== undefined)
      expect(faults.join('\n')).toBe('')
    })
  })
}
