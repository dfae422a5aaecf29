// Limits of rates as they are written in gateway.yaml → what the engine counts.

import type { Finding } from '../codegen/read/findings.js'
import { duration } from '../codegen/read/units.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import type { Rate, RateLimits } from '../engine/limits/registry.js'
import type { GatewayRateLimits } from '../schemas/config/types.js'

const RATES = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const

/** Whether a key of `limits` is one of a rate; a time limit or a size stands beside it. */
export function isRate(key: string): boolean {
  return key === 'in_flight' || RATES.some(name => name === key)
}

/** Of several that say something, the first one counts, kind by kind; `none` there is no limit. */
export function rateLimitsOf(...written: readonly (GatewayRateLimits | undefined)[]): RateLimits | undefined {
  const said = <Name extends keyof GatewayRateLimits>(name: Name): GatewayRateLimits[Name] | undefined =>
    written.find(one => one?.[name] !== undefined)?.[name]
  const requests = ratesOf(said('requests'))
  const tokens = ratesOf(said('tokens'))
  const inputTokens = ratesOf(said('input_tokens'))
  const outputTokens = ratesOf(said('output_tokens'))
  const inFlight = said('in_flight')
  const limits: RateLimits = {
    ...(requests && { requests }),
    ...(tokens && { tokens }),
    ...(inputTokens && { inputTokens }),
    ...(outputTokens && { outputTokens }),
    ...(typeof inFlight === 'number' && { inFlight }),
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

function ratesOf(written: GatewayRateLimits['requests']): Rate[] | undefined {
  if (written === undefined || written === 'none') return undefined
  return [written].flat().map(rateOf)
}

function rateOf(text: string): Rate {
  const [amount, window] = text.split('/') as [string, string]
  return { amount: Number(amount), window: duration(window) as number }
}

/** What the grammar cannot see: two limits of one kind for the same window. */
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
          remedy: 'keep the one that is meant',
        })
      seen.set(window, text)
    }
  }
}
