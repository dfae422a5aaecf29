// What a budget is: so much money in each window of time, and what is done when it is spent.

import { NANO } from '../core/usage.js'
import type { Every } from './window.js'

export interface BudgetConfig {
  /** Nano-units of the currency: a whole number. */
  limit: number
  every: Every
  /** The time zone that days, weeks and months are those of. */
  zone: string
  /** Refuse, go on and tell of it, or go on with another model. */
  whenSpent: 'refuse' | 'warn' | { use: string }
  /** Whether metrics tell how it fares. */
  isMetered?: true
}

/** As it is written: `5/day`, of at most nine digits behind the point. */
export const WRITTEN = /^([1-8]?[0-9]{1,6})(?:\.([0-9]{1,9}))?\/(hour|day|week|month|ever)$/

/** `1.50/day` as nano-units and a window; nothing for what is not written so. No fraction is rounded. */
export function amountOf(text: string): { limit: number; every: Every } | undefined {
  const found = WRITTEN.exec(text)
  if (found === null) return undefined
  const [, units = '', fraction = '', every = ''] = found
  return { limit: Number(units) * NANO + Number(fraction.padEnd(9, '0')), every: every as Every }
}

/** A budget as it is written, in gateway.yaml and in the store alike. */
export interface WrittenBudget {
  /** `5/day`. */
  limit: string
  zone?: string
  when_spent?: BudgetConfig['whenSpent']
}

/** The same as it is counted, of what a grammar has checked; in `zone` where it names none. */
export function budgetOf(written: WrittenBudget, zone: string): BudgetConfig {
  const amount = amountOf(written.limit) ?? { limit: 0, every: 'ever' }
  return { ...amount, zone: written.zone ?? zone, whenSpent: written.when_spent ?? 'refuse' }
}

/** What two budgets of one owner must not share: `day Europe/Berlin`. */
export function windowOf({ every, zone }: BudgetConfig): string {
  return `${every} ${zone}`
}

/** `1.5 USD a day`. */
export function wordsOf({ limit, every }: BudgetConfig, currency: string): string {
  return `${limit / NANO} ${currency} ${every === 'ever' ? 'for good' : every === 'hour' ? 'an hour' : `a ${every}`}`
}
