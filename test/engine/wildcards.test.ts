// Patterns of names. Whoever manages keys writes them, so none may be slow, however many stars it has.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { asPattern, wildcard } from '../../engine/core/text.js'

const pieces = fc.array(fc.constantFrom('a', 'b', 'ab', '.', '*', '\n'), { maxLength: 12 }).map(list => list.join(''))

test('a pattern matches what its letters say, and `*` stands for anything', () => {
  fc.assert(
    fc.property(pieces, pieces, (pattern, text) => {
      const expected = new RegExp(`^${pattern.split('*').map(asPattern).join('[^]*')}$`).test(text)
      expect({ pattern, text, fits: wildcard(pattern)(text) }).toEqual({ pattern, text, fits: expected })
    }),
    { numRuns: 2_000 },
  )
})

test('the ends of a pattern do not overlap', () => {
  expect(wildcard('aba*ba')('aba')).toBe(false)
  expect(wildcard('aba*ba')('ababa')).toBe(true)
  expect(wildcard('a*a*a')('aa')).toBe(false)
})

test('many stars take no longer than a few', () => {
  // As a RegExp, it would not end in this century.
  expect(wildcard(`${'*a'.repeat(250)}*b`)('a'.repeat(512))).toBe(false)
})
