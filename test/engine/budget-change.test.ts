// A budget whose limit is changed while it is refused: the next request is judged by the new limit.

import { expect, test } from 'vitest'
import type { Account, MoneyAsked, MoneyGranted } from '../../engine/budgets/account.js'
import { type Budget, Budgets } from '../../engine/budgets/budgets.js'

/** Grants what is asked, up to the limit. */
const grant = async ({ limit, wanted }: MoneyAsked): Promise<MoneyGranted> => {
  const granted = Math.min(limit, wanted)
  return { granted, before: 0, left: limit - granted, held: 0 }
}

function budgetOf(budgets: Budgets, limit: number): Budget {
  const owner = { scope: 'team:red', words: "the team 'red'", isTold: true }
  return budgets.of(owner, [{ limit, every: 'day', zone: 'UTC', whenSpent: 'refuse' }], 'USD')[0] as Budget
}

/** One whose denial does not pass with time. */
async function refused(budgets: Budgets): Promise<Account> {
  const account = budgetOf(budgets, 10).at(0)
  await account.more(100)
  expect([account.denied(), account.free]).toEqual(['spent', 10])
  return account
}

test('a raised limit ends the refusal at once', async () => {
  const budgets = new Budgets(() => 0)
  budgets.treasury = { grant }
  const account = await refused(budgets)
  budgetOf(budgets, 10)
  expect(account.denied()).toBe('spent')
  expect(budgetOf(budgets, 1_000).at(0)).toBe(account)
  expect(account.denied()).toBeUndefined()
  await account.more(100)
  expect([account.denied(), account.free >= 100]).toEqual([undefined, true])
})

test('an answer about the limit before denies nothing', async () => {
  const budgets = new Budgets(() => 0)
  let answer = (): void => undefined
  const sent = new Promise<void>(isSent => {
    budgets.treasury = {
      grant: question => {
        isSent()
        return new Promise<void>(resolve => (answer = resolve)).then(() => grant(question))
      },
    }
  })
  const account = budgetOf(budgets, 10).at(0)
  const more = account.more(100)
  await sent
  budgetOf(budgets, 1_000)
  answer()
  await more
  expect(account.denied()).toBeUndefined()
})
