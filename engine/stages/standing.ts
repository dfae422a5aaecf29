// The limits and budgets of a key, for its holder: the amounts, what is used, and when they reset.

import type { Budget } from '../budgets/budgets.js'
import { now } from '../core/deadlines.js'
import { NANO } from '../core/usage.js'
import { IN_FLIGHT, INPUT, type Kind, type Meter, OUTPUT, REQUESTS, TOKENS } from '../limits/meter.js'
import type { Json } from '../plan.js'
import type { Key, Snapshot } from '../snapshot/model.js'

/** Limits and budgets as routes report them. Money is in the configured currency. */
export interface StandingView {
  limits: Json
  budgets: Json
}

const COUNTS: Readonly<Record<Kind, string>> = {
  [REQUESTS]: 'requests',
  [INPUT]: 'input_tokens',
  [OUTPUT]: 'output_tokens',
  [TOKENS]: 'tokens',
  [IN_FLIGHT]: 'in_flight',
}

/** The limits and budgets of a key; rejects with `unavailable` if it has budgets whose balance is unknown. */
export async function standingView(key: Key, snapshot: Snapshot): Promise<StandingView> {
  const { meters, budgets } = snapshot.standingOf(key)
  const hidden = key.groups.filter(group => snapshot.isHidden(group)).map(group => `group:${group}:`)
  const limits = meters.filter(({ id }) => !hidden.some(prefix => id.startsWith(prefix))).map(limitView)
  return { limits, budgets: await budgetViews(budgets, snapshot) }
}

function limitView(meter: Meter): Json {
  const time = now()
  const isRate = meter.window > 0
  return {
    of: meter.owner,
    counts: COUNTS[meter.kind],
    limit: meter.limit,
    window: isRate ? meter.window / 1_000 : null,
    remaining: Math.floor(meter.left(time)),
    resets_at: isRate ? new Date(Date.now() + meter.reset(time)).toISOString() : null,
  }
}

async function budgetViews(budgets: readonly Budget[], { store, currency }: Snapshot): Promise<Json[]> {
  const told = budgets.filter(({ owner }) => owner.isTold)
  if (told.length === 0 || store === undefined) return []
  const time = Date.now()
  const accounts = told.map(budget => budget.at(time).id)
  const spent = new Map((await store.ask('spent', { accounts })).map(one => [one.id, one.spent]))
  return told.map(({ id, owner, config, until }, index) => {
    const used = spent.get(accounts[index] as string) ?? 0
    return {
      budget: id,
      of: owner.words,
      limit: config.limit / NANO,
      every: config.every,
      zone: config.zone,
      when_spent: config.whenSpent as Json,
      spent: used / NANO,
      remaining: Math.max(0, config.limit - used) / NANO,
      currency,
      resets_at: Number.isFinite(until) ? new Date(until).toISOString() : null,
    }
  })
}
