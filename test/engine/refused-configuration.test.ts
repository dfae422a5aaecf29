// State that outlives a configuration: a configuration that cannot be linked changes none of it.

import { expect, test } from 'vitest'
import { Balance } from '../../engine/balance/registry.js'
import { Budgets } from '../../engine/budgets/budgets.js'
import type { BudgetConfig } from '../../engine/budgets/definition.js'
import { Meters } from '../../engine/limits/registry.js'

/** Links what `build` makes, and then a configuration that fails after the same with another amount. */
function refused<Made>(linker: { link<Result>(build: () => Result): Result }, build: (amount: number) => Made): Made {
  const made = linker.link(() => build(10))
  const fails = (): never => {
    build(1)
    throw new Error('it cannot be linked')
  }
  expect(() => linker.link(fails)).toThrow('it cannot be linked')
  return made
}

test('limits stay', () => {
  const meters = new Meters(() => 0)
  const limits = (amount: number) => meters.of('key:a', 'this API key', { requests: [{ amount, window: 1_000 }], inFlight: amount })
  const made = refused(meters, limits)
  expect(made.map(({ limit }) => limit)).toEqual([10, 10])
  expect(meters.link(() => limits(5))).toEqual(made)
  expect(made.map(({ limit }) => limit)).toEqual([5, 5])
})

test('bounds of upstreams, health, retries and sticky targets stay', () => {
  const balance = new Balance()
  const one = (amount: number) => ({
    bound: balance.concurrency('u', { maxRequests: amount, maxPending: 1, pendingTimeout: 1 }),
    sticky: balance.sticky('m', amount),
    retries: balance.retryBudget('m', { percent: amount, minPerSecond: 1 }),
  })
  const { bound, sticky, retries } = refused(balance, one)
  expect([bound.config?.maxRequests, sticky.lasts, retries.config.percent]).toEqual([10, 10, 10])
})

test('budgets stay', () => {
  const budgets = new Budgets(() => 0)
  const config = (limit: number): BudgetConfig => ({ limit, every: 'day', zone: 'UTC', whenSpent: 'refuse' })
  const [budget] = refused(budgets, limit => budgets.of({ scope: 'key:a', words: '', isTold: true }, [config(limit)], 'USD'))
  expect(budget?.config.limit).toBe(10)
})
