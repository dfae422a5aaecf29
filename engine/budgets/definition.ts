// The definition of a budget: an amount of money for each window of time, and what happens when it is spent.

import { NANO } from '../core/usage.js'
import type { Every } from './window.js'

export interface BudgetConfig {
  /** Nano-units of the currency: a whole number. */
  limit: number
  every: Every
  /** The time zone of days, weeks and months. */
  zone: string
  /** Refuse, serve and warn, or serve with another model. */
  whenSpent: 'refuse' | 'warn' | { use: string }
  /** Whether metrics report it. */
  isMetered?: true
}

/** The form in the configuration: `5/day`, with at most nine decimals. */
export const WRITTEN = /^([1-8]?[0-9]{1,6})(?:\.([0-9]{1,9}))?\/(hour|day|week|month|ever)$/

/** `1.50/day` as nano-units and a window; undefined if the text has another form. Never rounds. */
export function amountOf(text: string): { limit: number; every: Every } | undefined {
  const found = WRITTEN.exec(text)
  if (found === null) return undefined
  const [, units = '', fraction = '', every = ''] = found
  return { limit: Number(units) * NANO + Number(fraction.padEnd(9, '0')), every: every as Every }
}

/** A budget in gateway.yaml and in the store, after its defaults were filled in. */
export interface WrittenBudget {
  /** `5/day`. */
  limit: string
  zone: string
  when_spent: BudgetConfig['whenSpent']
}

/** The same as it is counted, of what a grammar has checked. */
export function budgetOf({ limit, zone, when_spent: whenSpent }: WrittenBudget): BudgetConfig {
  return { ...(amountOf(limit) ?? { limit: 0, every: 'ever' }), zone, whenSpent }
}

/** What two budgets of one owner must not share: `day Europe/Berlin`. */
export function windowOf({ every, zone }: BudgetConfig): string {
  return `${every} ${zone}`
}

/** `1.5 USD`, of nano-units: without an exponent, however little it is. */
export function moneyOf(nano: number, currency: string): string {
  return `${(nano / NANO).toFixed(9).replace(/\.?0+$/, '')} ${currency}`
}

/** `1.5 USD a day`. */
export function wordsOf({ limit, every }: BudgetConfig, currency: string): string {
  return `${moneyOf(limit, currency)} ${every === 'ever' ? 'for good' : every === 'hour' ? 'an hour' : `a ${every}`}`
}
