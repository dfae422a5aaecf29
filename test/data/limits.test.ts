// The time limits of the routes.

import { expect, test } from 'vitest'
import { plan } from '../engine/plan.js'

// A client that no longer reads pauses the upstream, whose silence then has no limit.
test('only sockets have no limit of the whole time', () => {
  const endless = plan.routes.filter(({ limits, relay }) => limits.total === null && relay === undefined)
  expect(plan.routes.length).toBeGreaterThan(50)
  expect(endless.map(({ name }) => name)).toEqual([])
})

// A model thinks, or writes a call that its provider sends whole, also after the first words of an answer.
test('an answer of text may be silent in the middle for as long as before its beginning', () => {
  const called = plan.routes.filter(route => (route.answer ?? route.document ?? route.fail ?? route.relay) === undefined)
  const texts = called.filter(({ dialect }) => plan.dialects[dialect]?.gives === 'text' && plan.dialects[dialect]?.stream !== undefined)
  expect(texts.map(({ name }) => name)).toEqual(expect.arrayContaining(['chat', 'messages', 'responses', 'generate.stream', 'ollama.chat']))
  for (const { name, limits } of texts) {
    expect({ name, idle: limits.idle }).toEqual({ name, idle: limits.first_event })
    expect({ name, idle: limits.idle >= 5 * 60_000 }).toEqual({ name, idle: true })
  }
})
