// No single request can stop a gateway: the cost of everything that a caller or a provider can repeat, with different ids or
// the same ones, grows linearly.

import { describe, expect, test } from 'vitest'
import { clientOf, providerOf } from './dialects/table.js'
import { faultOf, subjectsOf } from './growth.js'
import { plan } from './plan.js'

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  // Of these dialects requests, answers and streams are made of lists of any length.
  if (clientOf(mapping.from) === undefined || providerOf(mapping.to) === undefined) continue
  describe(pair, () => {
    test('the cost grows linearly with everything that can be repeated', { timeout: 900_000 }, () => {
      const subjects = subjectsOf(pair, mapping)
      expect(subjects.length).toBeGreaterThan(10)
      const faults = subjects.map(subject => faultOf(subject, 64)).filter(fault => fault !== undefined)
      expect(faults.join('\n')).toBe('')
    })
  })
}
