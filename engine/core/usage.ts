// What an exchange used, in one form whatever the dialect. Later figures replace earlier ones; what is absent keeps.

import type { Json, RawUsage, Usage } from '../plan.js'
import type { LogEntry, Spent } from './exchange.js'
import { type Count, FACTS, hasRare, METERS, markRare, RARE } from './meters.js'

/** What an answer says of its cost. An answer that says it in an unknown way is an answer all the same. */
export function readUsage(read: ((value: Json) => RawUsage | undefined) | undefined, value: Json): RawUsage | undefined {
  try {
    return read?.(value)
  } catch {
    return undefined
  }
}

/** What an exchange has used: as it was told, and where budgets have to know, as it was seen. */
export function usageOf(log: LogEntry): Usage | undefined {
  return log.held === undefined ? log.usage : log.held.usage(log)
}

/** Costs are counted in so many parts of the currency. */
export const NANO = 1e9

export function spentBy({ log, startedAt }: { log: LogEntry; startedAt: number }): Spent {
  if (log.spent) return log.spent
  const usage = usageOf(log)
  const cost = usage === undefined ? undefined : log.price?.(usage, startedAt)
  const spent = { usage, cost, charge: cost === undefined || log.times === undefined ? cost : Math.round(cost * log.times) }
  if (log.isOver) log.spent = spent
  return spent
}

/** What the caller is charged for an exchange, in nano-units of the currency. */
export function chargeOf(exchange: { log: LogEntry; startedAt: number }): number | undefined {
  return spentBy(exchange).charge
}

/** Adds what one more call cost to what an exchange has cost so far. */
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

/** How much there is of the meters that most exchanges have nothing of, by their names. */
export function rareOf(usage: Usage): Record<string, number> {
  const found: Record<string, number> = {}
  for (const [member, { name, isPart }] of RARE) {
    const count = usage[member as Count]
    if (count !== undefined && (count > 0 || !isPart)) found[name] = count
  }
  return found
}

/** The figures that are known, with those that are told now. Words about an answer count beside figures alone. */
export function mergeUsage(known: Usage | undefined, raw: RawUsage | undefined): Usage | undefined {
  if (raw === undefined || raw === null) return known
  let usage = known as Record<string, number | string> | undefined
  for (const name in raw) {
    const value = raw[name]
    const member = MEMBERS.get(name)
    if (member !== undefined) {
      if (typeof value !== 'number') continue
      ;(usage ??= {})[member] = value
      const rare = RARE.get(member)
      if (rare !== undefined && (value > 0 || !rare.isPart)) markRare(usage as Usage)
    } else if (usage && typeof value === 'string' && value !== '' && FACTS.has(name)) usage[name] = value
  }
  return usage
}

const MEMBERS: ReadonlyMap<string, string> = new Map(Object.entries(METERS).map(([name, { member }]) => [name, member]))
