// Rate limits in gateway.yaml → the engine's form.

import type { Pointer } from '../../codegen/read/yaml.js'
import { RATES, rateLimitsIn, sameWindows } from '../../engine/limits/rate-text.js'
import { mergeRateLimits, type RateLimits } from '../../engine/limits/registry.js'
import type { GatewayRateLimits } from '../../schemas/config/types.js'
import type { Find } from './find.js'

/** Whether a key of `limits` is a rate limit; others are time limits or sizes. */
export function isRate(key: string): boolean {
  return key === 'in_flight' || RATES.some(name => name === key)
}

/** Merges limits: for each kind the first entry that has one counts; `none` means no limit. */
export function rateLimitsOf(...written: readonly (GatewayRateLimits | undefined)[]): RateLimits | undefined {
  return mergeRateLimits(written.map(one => rateLimitsIn(one ?? {})))
}

/** Checks what the grammar cannot: two limits of one kind for the same window. */
export function checkRateLimits(written: GatewayRateLimits | undefined, pointer: Pointer, find: Find): void {
  for (const { name, index, text, other } of sameWindows(written ?? {}))
    find([...pointer, name, index], 'limits/window', `${other} and ${text} limit the same window`, 'keep one of them')
}
