// A process remembers so many budgets of end users; those of the configuration are not forgotten for them.

import { expect, test } from 'vitest'
import type { MoneyAsked, MoneyGranted } from '../../engine/budgets/account.js'
import { type Budget, Budgets } from '../../engine/budgets/budgets.js'

const config = { limit: 1_000, every: 'day', zone: 'UTC', whenSpent: 'refuse' } as const

test('a budget of the configuration that was idle still returns its unused money after many end users', async () => {
  let time = 0
  const held = new Map<string, number>()
  const budgets = new Budgets(() => time)
  budgets.treasury = {
    grant: async ({ account, wanted, limit }: MoneyAsked): Promise<MoneyGranted> => {
      held.set(account, wanted)
      return { granted: wanted, before: 0, left: limit - wanted, held: 0 }
    },
  }
  const of = (scope: string, more = {}): Budget =>
    budgets.of({ scope, words: scope, isTold: true }, [{ ...config, ...more }], 'USD')[0] as Budget
  const budget = budgets.link(() => {
    of('key:metered', { isMetered: true })
    return of('key:ci')
  })
  const first = budget.at(Date.now())
  await first.more(10)
  time += 120_000
  for (let index = 0; index < 100_000; index++) of(`end_user:${index}`)
  const account = budget.at(Date.now())
  await account.more(100)
  expect(held.get(account.id)).toBeGreaterThanOrEqual(100)
  // Another process wants it.
  budgets.recall(account.id)
  await new Promise(setImmediate)
  expect(held.get(account.id)).toBe(0)
  expect(budgets.gauges(Date.now()).map(one => one.budget)).toEqual(['key:metered/day'])
  budgets.close()
})
