// No single request can stop a gateway: the cost of everything that a caller or a provider can repeat, with different ids or
// the same ones, grows linearly.

import { describe, expect, test } from 'vitest'
import { clientOf, providerOf } from './dialects/table.js'
import { conversationsOf, faultOf, faultOfMany, type Subject, subjectsOf } from './growth.js'
import { plan } from './plan.js'

describe('what is measured', () => {
  const items = (count: number): { id: string }[] => Array.from({ length: count }, (_, index) => ({ id: `id_${index}` }))
  const subject = (what: string, work: (list: { id: string }[]) => unknown): Subject => ({
    what,
    run: count => {
      const list = items(count)
      return () => {
        work(list)
      }
    },
  })
  test.each([
    subject('a search for each', list => list.map(({ id }) => list.filter(other => other.id === id))),
    subject('a search in what came before', list => list.map(({ id }, index) => list.slice(0, index).some(other => other.id === id))),
    subject('what came before copied for each', list => list.map((_, index) => Object.assign({}, list.slice(0, index)))),
    subject('all written again for each', list => list.map((_, index) => JSON.stringify(list.slice(index)).length)),
  ])('$what is found', subject => {
    expect(faultOf(subject, 256)).toContain(subject.what)
  })
  test.each([
    subject('nothing', () => undefined),
    subject('a text', list => JSON.stringify(list)),
    subject('an index', list => new Map(list.map(item => [item.id, item]))),
    subject('an object', list => Object.fromEntries(list.map(item => [item.id, { ...item, all: [item] }]))),
    subject('much garbage', list => list.map(({ id }) => Array.from({ length: 200 }, (_, index) => ({ [id]: index })))),
    subject('an order', list => [...list].sort((left, right) => (left.id < right.id ? 1 : -1))),
  ])('$what is not', subject => {
    expect(faultOf(subject, 64)).toBeUndefined()
  })
})

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  // Of these dialects requests, answers and streams are made of lists of any length.
  if (clientOf(mapping.from) === undefined || providerOf(mapping.to) === undefined) continue
  describe(pair, () => {
    const subjects = subjectsOf(pair, mapping)
    test('the cost grows linearly with everything that can be repeated', { timeout: 900_000 }, () => {
      expect(subjects.length).toBeGreaterThan(10)
      const faults = subjects.map(subject => faultOf(subject, 64)).filter(fault => fault !== undefined)
      expect(faults.join('\n')).toBe('')
    })

    test('and with the turns of a very long conversation', () => {
      const faults = conversationsOf(subjects).map(faultOfMany)
      expect(faults.filter(fault => fault !== undefined).join('\n')).toBe('')
    })
  })
}
