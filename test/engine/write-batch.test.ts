// Writes that are postponed to the end of a turn of the event loop.

import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { atEndOfTurn } from '../../engine/core/write-batch.js'

test('functions run at the end of the turn, in order, and later ones after it', async () => {
  const ran: number[] = []
  atEndOfTurn(() => {
    ran.push(1)
    atEndOfTurn(() => ran.push(3))
  })
  atEndOfTurn(() => ran.push(2))
  await Promise.resolve()
  expect(ran).toEqual([])
  await turn()
  expect(ran).toEqual([1, 2])
  await turn()
  expect(ran).toEqual([1, 2, 3])
})

test('many functions do not wait for a long turn', async () => {
  let ran = 0
  for (let index = 0; index < 100; index++) atEndOfTurn(() => ran++)
  expect(ran).toBe(64)
  await turn()
  expect(ran).toBe(100)
})
