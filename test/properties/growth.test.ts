// No single request can stop a gateway: the cost of everything that a caller or a provider can repeat, with different ids or
// the same ones, grows linearly.

import { describe, expect, test } from 'vitest'
import { faultOf, subjectsOf } from './growth.js'
import { plan } from './plan.js'

/** Dialects whose requests, answers and streams are made of lists of any length. */
const TEXT = ['chat', 'completions', 'generate', 'messages', 'responses']

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  if (![mapping.from, mapping.to].every(dialect => TEXT.includes(dialect))) continue
  describe(pair, () => {
    test('whatever is repeated costs as much more as there is more of it', { timeout: 900_000 }, () => {
      const subjects = subjectsOf(pair, mapping)
      expect(subjects.length).toBeGreaterThan(10)
      const faults = subjects.map(subject => faultOf(subject, 64)).filter(fault => fault !== undefined)
      expect(faults.join('\n')).toBe('')
    })
  })
}
