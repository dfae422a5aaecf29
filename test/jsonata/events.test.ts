// Text that is kept from one event to the next equals the text that would be made again.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { remembered, written } from '../../engine/jsonata/events.js'

const make = (...values: unknown[]): string => values.map(value => written(value) ?? '').join(',')

test('the same values give the same text, other values another', () => {
  const value = fc.oneof(fc.constantFrom<unknown>('a', 'b', 'é"\\', 1, 0, -0, Number.NaN, true, null, undefined), fc.string())
  fc.assert(
    fc.property(fc.array(fc.tuple(value, value, value, value), { maxLength: 20 }), rows => {
      const again = remembered(make)
      for (const row of rows) for (let times = 0; times < 3; times++) expect(again(...row)).toBe(make(...row))
    }),
  )
})

test('it is not made again for values that are the same', () => {
  let made = 0
  const again = remembered((...values) => `${++made} ${make(...values)}`)
  expect([again('a', 1), again('a', 1), again('b', 1), again('b', 1), again('a', 1)]).toEqual([
    '1 "a",1,,',
    '1 "a",1,,',
    '2 "b",1,,',
    '2 "b",1,,',
    '3 "a",1,,',
  ])
})

test('an object may have become another', () => {
  const again = remembered(make)
  const list = ['a']
  expect(again('x', list)).toBe('"x",["a"],,')
  list.push('b')
  expect(again('x', list)).toBe('"x",["a","b"],,')
})
