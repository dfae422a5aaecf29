// Tokens of an exchange, in one form whatever the dialect. Later figures replace earlier ones; what is absent keeps.

import type { Json, RawUsage, Usage } from '../plan.js'
import type { LogEntry } from './exchange.js'

/** What an answer says of its cost. An answer that says it in an unknown way is an answer all the same. */
export function readUsage(read: ((value: Json) => RawUsage | undefined) | undefined, value: Json): RawUsage | undefined {
  try {
    return read?.(value)
  } catch {
    return undefined
  }
}

/** Costs are counted in so many parts of the currency. */
export const NANO = 1e9

/** What an exchange cost, in nano-units of the currency; nothing where nobody told its usage, or a token has no price. */
export function costOf({ log, startedAt }: { log: LogEntry; startedAt: number }): number | undefined {
  return log.usage && log.price?.(log.usage, startedAt)
}

/** Adds what one more call cost to what an exchange has cost so far. */
export function addUsage(log: { usage?: Usage }, raw: RawUsage | undefined): void {
  const more = mergeUsage(undefined, raw)
  if (more === undefined) return
  const usage: Usage = log.usage ?? {}
  for (const name of Object.keys(more) as (keyof Usage)[]) usage[name] = (usage[name] ?? 0) + (more[name] as number)
  log.usage = usage
}

export function mergeUsage(known: Usage | undefined, raw: RawUsage | undefined): Usage | undefined {
  if (raw === undefined || raw === null) return known
  const usage: Usage = known ?? {}
  if (typeof raw.input === 'number') usage.input = raw.input
  if (typeof raw.output === 'number') usage.output = raw.output
  if (typeof raw.cached === 'number') usage.cached = raw.cached
  if (typeof raw.cache_write === 'number') usage.cacheWrite = raw.cache_write
  if (typeof raw.reasoning === 'number') usage.reasoning = raw.reasoning
  return usage
}
