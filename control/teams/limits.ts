// Limits in the store, in their written form: `{ requests: ['60/1m'], in_flight: 4 }`.

import { rateOf } from '../../engine/limits/rate-text.js'
import type { RateLimits } from '../../engine/limits/registry.js'
import { Problem } from '../problem.js'

export interface WrittenLimits {
  requests?: string[]
  tokens?: string[]
  input_tokens?: string[]
  output_tokens?: string[]
  in_flight?: number
}

const RATES = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const

/** The limits in a column; null if there are none. */
export function writtenLimits(text: string | null): WrittenLimits | null {
  return text === null ? null : (JSON.parse(text) as WrittenLimits)
}

/** The same in the engine's form. */
export function limitsOf({ requests, tokens, input_tokens, output_tokens, in_flight }: WrittenLimits): RateLimits {
  return {
    ...(requests && { requests: requests.map(rateOf) }),
    ...(tokens && { tokens: tokens.map(rateOf) }),
    ...(input_tokens && { inputTokens: input_tokens.map(rateOf) }),
    ...(output_tokens && { outputTokens: output_tokens.map(rateOf) }),
    ...(in_flight !== undefined && { inFlight: in_flight }),
  }
}

/** Throws if two of one kind have the same window. */
export function checkLimits(limits: WrittenLimits | null | undefined): void {
  for (const name of RATES) {
    const windows = (limits?.[name] ?? []).map(text => rateOf(text).window)
    if (new Set(windows).size < windows.length) throw new Problem(422, 'window', `Two limits of ${name} are for the same window.`, 'limits')
  }
}
