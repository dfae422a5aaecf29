// Rate limits in gateway.yaml → the engine's form.

import type { Finding } from '../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import { rateOf } from '../engine/limits/rate-text.js'
import { mergeRateLimits, type Rate, type RateLimits } from '../engine/limits/registry.js'
import type { GatewayRateLimits } from '../schemas/config/types.js'

const RATES = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const

/** Whether a key of `limits` is a rate limit; others are time limits or sizes. */
export function isRate(key: string): boolean {
  return key === 'in_flight' || RATES.some(name => name === key)
}

/** Merges limits: for each kind the first entry that has one counts; `none` means no limit. */
export function rateLimitsOf(...written: readonly (GatewayRateLimits | undefined)[]): RateLimits | undefined {
  return mergeRateLimits(written.map(readRateLimits))
}

/** One entry, with null for `none`. */
export function readRateLimits(written: GatewayRateLimits | undefined): RateLimits {
  const { requests, tokens, input_tokens, output_tokens, in_flight } = written ?? {}
  return {
    ...(requests !== undefined && { requests: ratesOf(requests) }),
    ...(tokens !== undefined && { tokens: ratesOf(tokens) }),
    ...(input_tokens !== undefined && { inputTokens: ratesOf(input_tokens) }),
    ...(output_tokens !== undefined && { outputTokens: ratesOf(output_tokens) }),
    ...(in_flight !== undefined && { inFlight: typeof in_flight === 'number' ? in_flight : null }),
  }
}

function ratesOf(written: NonNullable<GatewayRateLimits['requests']>): Rate[] | null {
  return written === 'none' ? null : [written].flat().map(rateOf)
}

/** Checks what the grammar cannot: two limits of one kind for the same window. */
export function checkRateLimits(
  written: GatewayRateLimits | undefined,
  pointer: readonly (string | number)[],
  document: YamlDocument,
  findings: Finding[],
): void {
  for (const name of RATES) {
    const rates = written?.[name]
    if (!Array.isArray(rates)) continue
    const seen = new Map<number, string>()
    for (const [index, text] of rates.entries()) {
      const { window } = rateOf(text)
      const other = seen.get(window)
      if (other !== undefined)
        findings.push({
          ...document.at([...pointer, name, index] as Pointer),
          rule: 'limits/window',
          detail: `${other} and ${text} limit the same window`,
          remedy: 'keep one of them',
        })
      seen.set(window, text)
    }
  }
}
