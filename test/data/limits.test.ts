// The time limits of the routes.

import { expect, test } from 'vitest'
import { plan } from '../engine/plan.js'

// A client that no longer reads pauses the upstream, whose silence then has no limit.
test('only sockets have no limit of the whole time', () => {
  const endless = plan.routes.filter(({ limits, relay }) => limits.total === null && relay === undefined)
  expect(plan.routes.length).toBeGreaterThan(50)
  expect(endless.map(({ name }) => name)).toEqual([])
})
