// Limits of rates as they are written in gateway.yaml → what the engine counts.

import type { Finding } from '../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import { firstSaid, type RateLimits } from '../engine/limits/registry.js'
import { RATES, rateLimitsIn, sameWindows } from '../engine/limits/written.js'
import type { GatewayRateLimits } from '../schemas/config/types.js'

/** Whether a key of `limits` is one of a rate; a time limit or a size stands beside it. */
export function isRate(key: string): boolean {
  return key === 'in_flight' || RATES.some(name => name === key)
}

/** Of several that say something, the first one counts, kind by kind; `none` there is no limit. */
export function rateLimitsOf(...written: readonly (GatewayRateLimits | undefined)[]): RateLimits | undefined {
  return firstSaid(written.map(one => rateLimitsIn(one ?? {})))
}

/** What the grammar cannot see: two limits of one kind for the same window. */
export function checkRateLimits(
  written: GatewayRateLimits | undefined,
  pointer: readonly (string | number)[],
  document: YamlDocument,
  findings: Finding[],
): void {
  for (const { name, index, text, other } of sameWindows(written ?? {}))
    findings.push({
      ...document.at([...pointer, name, index] as Pointer),
      rule: 'limits/window',
      detail: `${other} and ${text} limit the same window`,
      remedy: 'keep the one that is meant',
    })
}
