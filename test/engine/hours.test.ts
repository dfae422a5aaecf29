// Hours of the week, by UTC.

import { expect, test } from 'vitest'
import { isWithinHours } from '../../engine/core/hours.js'

// 2026-11-23 is a Monday.
test.each([
  ['mon-fri 01:00-04:00', '2026-11-23T00:59:59.999Z', false],
  ['mon-fri 01:00-04:00', '2026-11-23T01:00:00Z', true],
  ['mon-fri 01:00-04:00', '2026-11-27T03:59:59.999Z', true],
  ['mon-fri 01:00-04:00', '2026-11-23T04:00:00Z', false],
  ['mon-fri 01:00-04:00', '2026-11-28T02:00:00Z', false],
  ['sat-mon 00:00-24:00', '2026-11-22T23:59:59Z', true],
  ['sat-mon 00:00-24:00', '2026-11-24T00:00:00Z', false],
  ['thu 10:00-11:00', '1970-01-01T10:00:00Z', true],
  ['10:00-11:00', '2026-11-25T10:30:00Z', true],
  ['fri 22:00-02:00', '2026-11-27T23:00:00Z', true],
  ['fri 22:00-02:00', '2026-11-28T01:59:00Z', true],
  ['fri 22:00-02:00', '2026-11-27T01:00:00Z', false],
  ['sat 22:00-02:00', '2026-11-22T01:00:00Z', true],
])('%s at %s: %s', (hours, moment, expected) => {
  expect(isWithinHours([hours])(Date.parse(moment))).toBe(expected)
})
