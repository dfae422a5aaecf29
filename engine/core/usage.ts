// The usage of an exchange in one form for all dialects. Later figures replace earlier ones; an absent figure keeps the
// earlier.

import type { Body, Dialect, Json, RawUsage, Usage } from '../plan.js'
import type { LogEntry, Spent } from './exchange.js'
import { type Count, FACTS, hasRare, METERS, markRare, RARE } from './meters.js'

/** The usage that an answer reports. An answer whose usage cannot be read is still a valid answer. */
export function readUsage(read: ((value: Json) => RawUsage | undefined) | undefined, value: Json): RawUsage | undefined {
  try {
    return read?.(value)
  } catch {
    return undefined
  }
}

/** What is counted in a request itself, such as the characters of speech. A form has no body to count in. */
export function askedUsage({ asked }: Dialect, { body, form }: { body: Body; form?: unknown }): RawUsage | undefined {
  return asked === undefined || form !== undefined ? undefined : readUsage(asked as (value: Json) => RawUsage | undefined, body)
}

/** The usage of an exchange: as reported, or estimated where a budget has to know. */
export function usageOf(log: LogEntry): Usage | undefined {
  return log.held === undefined ? log.usage : log.held.usage(log)
}

/** Costs are whole numbers of this fraction of the currency. */
export const NANO = 1e9

/** The usage, cost and charge of an exchange so far. */
export function spentBy({ log, startedAt }: { log: LogEntry; startedAt: number }): Spent {
  if (log.spent) return log.spent
  const usage = usageOf(log)
  const cost = usage === undefined ? undefined : log.price?.(usage, startedAt)
  const charge = cost === undefined || log.times === undefined ? cost : Math.round(cost * log.times)
  const spent = { usage, cost: bounded(cost), charge: bounded(charge) }
  if (log.isOver) log.spent = spent
  return spent
}

/** The highest cost, and the highest budget, in the currency: in nano-units, a store's numbers are exact up to it. */
export const HIGHEST = 8_999_999

const bounded = (amount: number | undefined): number | undefined => (amount === undefined ? undefined : Math.min(amount, HIGHEST * NANO))

/** The charge of an exchange to the caller, in nano-units of the currency. */
export function chargeOf(exchange: { log: LogEntry; startedAt: number }): number | undefined {
  return spentBy(exchange).charge
}

/** Adds the usage of one more call to that of the exchange. */
export function addUsage(log: { usage?: Usage }, raw: RawUsage | undefined): void {
  const more = mergeUsage(undefined, raw)
  if (more === undefined) return
  const usage: Usage = log.usage ?? {}
  for (const [name, value] of Object.entries(more)) {
    const before = usage[name as keyof Usage]
    Object.assign(usage, { [name]: typeof value === 'number' && typeof before === 'number' ? before + value : value })
  }
  if (hasRare(more)) markRare(usage)
  log.usage = usage
}

/** The quantities of the rare meters, by name. */
export function rareOf(usage: Usage): Record<string, number> {
  const found: Record<string, number> = {}
  for (const [member, { name, isPart }] of RARE) {
    const count = usage[member as Count]
    if (count !== undefined && (count > 0 || !isPart)) found[name] = count
  }
  return found
}

/**
 * The known figures, updated with new ones. A fact about the answer counts only together with figures. What no exchange can
 * use is no figure: it would be charged to a budget.
 */
export function mergeUsage(known: Usage | undefined, raw: RawUsage | undefined): Usage | undefined {
  if (raw === undefined || raw === null) return known
  let usage = known as Record<string, number | string> | undefined
  for (const name in raw) {
    const value = raw[name]
    const member = MEMBERS.get(name)
    if (member !== undefined) {
      if (typeof value !== 'number' || !(value >= 0 && value <= MOST)) continue
      ;(usage ??= {})[member] = value
      const rare = RARE.get(member)
      if (rare !== undefined && (value > 0 || !rare.isPart)) markRare(usage as Usage)
    } else if (usage && typeof value === 'string' && value !== '' && FACTS.has(name)) usage[name] = value
  }
  return usage
}

/** The largest figure: a hundred times the longest context. */
const MOST = 1e9

const MEMBERS: ReadonlyMap<string, string> = new Map(Object.entries(METERS).map(([name, { member }]) => [name, member]))
