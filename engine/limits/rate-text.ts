// Rates as people write them: `60/1m`.

import type { Rate } from './registry.js'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** A number, a slash and a duration, of what a grammar has checked. */
export function rateOf(text: string): Rate {
  const [amount, window] = text.split('/') as [string, string]
  const [, count, unit] = /^(\d+)(ms|s|m|h)$/.exec(window) ?? []
  return { amount: Number(amount), window: Number(count) * (UNITS[unit as string] as number) }
}
