// Budgets of keys in the store, in their written form.

import { type BudgetConfig, budgetOf, type WrittenBudget, windowOf } from '../../engine/budgets/definition.js'
import { isZone } from '../../engine/budgets/window.js'
import { Problem } from '../problem.js'

/** A budget of the admin API and in a column. */
export type StoredBudget = Pick<WrittenBudget, 'limit'> & Partial<WrittenBudget>

/** The budgets in a column; null if there are none. */
export function writtenBudgets(text: string | null): StoredBudget[] | null {
  return text === null ? null : (JSON.parse(text) as StoredBudget[])
}

/** The same in the engine's form. */
export function configOf(written: StoredBudget): BudgetConfig {
  return budgetOf({ zone: 'UTC', when_spent: 'refuse', ...written })
}

/** Throws if two have the same window, or if a time zone is unknown. */
export function checkBudgets(budgets: readonly StoredBudget[] | null | undefined): void {
  const windows = new Set<string>()
  for (const budget of budgets ?? []) {
    const config = configOf(budget)
    const { every, zone } = config
    if (!isZone(zone)) throw new Problem(422, 'zone', `There is no time zone ${zone}.`, 'budgets')
    if (windows.has(windowOf(config))) throw new Problem(422, 'window', `Two budgets are for the same ${every}.`, 'budgets')
    windows.add(windowOf(config))
  }
}
