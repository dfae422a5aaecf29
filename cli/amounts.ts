// Times, sizes and rates as people write them in gateway.yaml, for the output of commands.

import type { Rate, RateLimits } from '../engine/limits/registry.js'

const TIMES = [
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
  [1, 'ms'],
] as const

const SIZES = [
  [1 << 30, 'GiB'],
  [1 << 20, 'MiB'],
  [1 << 10, 'KiB'],
  [1, ' bytes'],
] as const

/** The largest unit that gives a whole number. */
function inUnits(amount: number, units: readonly (readonly [size: number, unit: string])[]): string {
  const [size, unit] = units.find(([size]) => amount % size === 0) ?? [1, '']
  return `${amount / size}${unit}`
}

/** Milliseconds, such as `5s`. */
function timeText(milliseconds: number): string {
  return milliseconds === 0 ? '0s' : inUnits(milliseconds, TIMES)
}

/** Deadlines and the largest body. */
export function deadlinesText(limits: object): string {
  return Object.entries(limits)
    .map(([name, value]) => `${name} ${value === null ? 'none' : name === 'body' ? inUnits(value, SIZES) : timeText(value)}`)
    .join(', ')
}

const NAMES: Readonly<Record<keyof RateLimits, string>> = {
  requests: 'requests',
  tokens: 'tokens',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  inFlight: 'in_flight',
}

/** The limits of a key, a model or an upstream, such as `requests 60/1m, in_flight 4`. */
export function ratesText(limits: RateLimits): string {
  const rate = ({ amount, window }: Rate): string => `${amount}/${timeText(window)}`
  return Object.entries(limits)
    .map(([name, value]) => {
      const amount =
        value === null ? 'none' : typeof value === 'number' ? String(value) : (value as readonly Rate[]).map(rate).join(' and ')
      return `${NAMES[name as keyof RateLimits]} ${amount}`
    })
    .join(', ')
}
