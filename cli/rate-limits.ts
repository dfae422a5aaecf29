// Limits of rates as they are written in gateway.yaml → what the engine counts.

import type { Finding } from '../codegen/read/findings.js'
import { duration } from '../codegen/read/units.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import type { Rate, RateLimits } from '../engine/limits/registry.js'

/** `60/1m`, several of them, or `none`. */
type Rates = string | readonly string[]

export interface RateLimitsFile {
  requests?: Rates
  tokens?: Rates
  input_tokens?: Rates
  output_tokens?: Rates
  in_flight?: number | 'none'
}

export interface GroupFile {
  limits?: RateLimitsFile
  key_limits?: RateLimitsFile
}

const RATES = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const

/** The parts of an object that are limits of rates, where other things stand beside them; nothing where none is. */
export function rateLimitsIn(written: object | undefined): RateLimitsFile | undefined {
  const names = [...RATES, 'in_flight'] as const
  const found = Object.entries(written ?? {}).filter(([name]) => names.some(one => one === name))
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

/** Of several that say something, the first one counts, kind by kind; `none` there is no limit. */
export function rateLimitsOf(...written: readonly (RateLimitsFile | undefined)[]): RateLimits | undefined {
  const said = <Name extends keyof RateLimitsFile>(name: Name): RateLimitsFile[Name] | undefined =>
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

function ratesOf(written: Rates | undefined): Rate[] | undefined {
  if (written === undefined || written === 'none') return undefined
  return [written].flat().map(rateOf)
}

function rateOf(text: string): Rate {
  const [amount, window] = text.split('/') as [string, string]
  return { amount: Number(amount), window: duration(window) as number }
}

/** What the grammar cannot see: two limits of one kind for the same window. */
export function checkRateLimits(
  written: RateLimitsFile | undefined,
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
