// Budgets of keys in the store, in their written form.

import { amountOf, type BudgetConfig } from '../../engine/budgets/definition.js'
import { isZone } from '../../engine/budgets/window.js'
import { Problem } from '../problem.js'

export interface WrittenBudget {
  /** `5/day`. */
  limit: string
  zone?: string
  when_spent?: 'refuse' | 'warn' | { use: string }
}

/** The budgets in a column; null if there are none. */
export function writtenBudgets(text: string | null): WrittenBudget[] | null {
  return text === null ? null : (JSON.parse(text) as WrittenBudget[])
}

/** The same in the engine's form. */
export function configOf({ limit, zone = 'UTC', when_spent: whenSpent = 'refuse' }: WrittenBudget): BudgetConfig {
  return { ...(amountOf(limit) ?? { limit: 0, every: 'ever' }), zone, whenSpent }
}

/** Throws if two have the same window, or if a time zone is unknown. */
export function checkBudgets(budgets: readonly WrittenBudget[] | null | undefined): void {
  const windows = new Set<string>()
  for (const budget of budgets ?? []) {
    const { every, zone } = configOf(budget)
    if (!isZone(zone)) throw new Problem(422, 'zone', `There is no time zone ${zone}.`, 'budgets')
    if (windows.has(`${every} ${zone}`)) throw new Problem(422, 'window', `Two budgets are for the same ${every}.`, 'budgets')
    windows.add(`${every} ${zone}`)
  }
}
