// Rates as people write them: `60/1m`, and the limits that are made of them, in gateway.yaml and in the store alike.

import { duration } from '../core/durations.js'
import type { Rate, RateLimits } from './registry.js'

/** `none`: there is no limit, whatever is said elsewhere. */
export interface WrittenLimits {
  requests?: string | readonly string[]
  tokens?: string | readonly string[]
  input_tokens?: string | readonly string[]
  output_tokens?: string | readonly string[]
  in_flight?: number | string
}

export const RATES = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const

/** A number, a slash and a duration, of what a grammar has checked. */
export function rateOf(text: string): Rate {
  const [amount, window] = text.split('/') as [string, string]
  return { amount: Number(amount), window: duration(window) as number }
}

/** What is written as the engine counts it, with null for `none`. */
export function rateLimitsIn({ requests, tokens, input_tokens, output_tokens, in_flight }: WrittenLimits): RateLimits {
  return {
    ...(requests !== undefined && { requests: ratesOf(requests) }),
    ...(tokens !== undefined && { tokens: ratesOf(tokens) }),
    ...(input_tokens !== undefined && { inputTokens: ratesOf(input_tokens) }),
    ...(output_tokens !== undefined && { outputTokens: ratesOf(output_tokens) }),
    ...(in_flight !== undefined && { inFlight: typeof in_flight === 'number' ? in_flight : null }),
  }
}

function ratesOf(written: string | readonly string[]): Rate[] | null {
  return written === 'none' ? null : [written].flat().map(rateOf)
}

/** Those of a list that limit the same window as one before them, which a grammar cannot see. */
export function sameWindows(written: WrittenLimits): { name: (typeof RATES)[number]; index: number; text: string; other: string }[] {
  return RATES.flatMap(name => {
    const rates = written[name]
    if (!Array.isArray(rates)) return []
    const texts: readonly string[] = rates
    const windows = texts.map(text => rateOf(text).window)
    return texts.flatMap((text, index) => {
      const first = windows.indexOf(windows[index] as number)
      return first < index ? [{ name, index, text, other: texts[first] as string }] : []
    })
  })
}
