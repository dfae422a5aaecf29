// The end of a JSON value that arrives in pieces is found, wherever it is cut.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonScan } from '../../engine/jsonata/json.js'

const WHOLE = 1
const scanned = (pieces: readonly string[]): number => pieces.reduce((scan, piece) => jsonScan(scan, piece), 0)

test('an object, a list or a text is whole at its end and not before, however it is cut', () => {
  const closed = fc.oneof(fc.object(), fc.array(fc.jsonValue()), fc.string())
  fc.assert(
    fc.property(closed, fc.boolean(), fc.nat(), fc.nat(), (value, isWide, one, other) => {
      const text = JSON.stringify(value, null, isWide ? 2 : undefined)
      const [first, second] = [one % text.length, other % text.length].sort((a, b) => a - b) as [number, number]
      const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)]
      expect(scanned(pieces)).toBe(WHOLE)
      expect(scanned([...pieces, ' \n'])).toBe(WHOLE)
      expect(scanned([...pieces, 'x'])).not.toBe(WHOLE)
      expect(scanned([text.slice(0, first)])).not.toBe(WHOLE)
      expect(scanned([text.slice(0, -1)])).not.toBe(WHOLE)
    }),
    { seed: 20260101 },
  )
})

test('a number or a word may continue, and nothing is nothing', () => {
  for (const text of ['1', '12', 'true', 'null', 'x']) expect(scanned([text])).toBeGreaterThan(WHOLE)
  for (const pieces of [[], [''], [' ', '\n']]) expect(scanned(pieces)).toBe(0)
  for (const text of ['}', '{}}', '{}{', ']', '""a']) expect(scanned([text])).not.toBe(WHOLE)
  expect(scanned(['{"a":"\\', '"}', '"}'])).toBe(WHOLE)
})
