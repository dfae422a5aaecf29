// Deadlines and sizes in gateway.yaml.

import { size } from '../../codegen/read/units.js'
import { duration } from '../../engine/core/durations.js'
import type { Limits } from '../../engine/plan.js'
import type { GatewayData, GatewayUpstream } from '../../schemas/config/types.js'
import { isRate } from './rate-limits.js'

/** Deadlines and sizes, `none` for no limit; other members of `limits` are read elsewhere. */
export function limitsOf(written: GatewayData['limits'] | GatewayUpstream['limits']): Partial<Limits> {
  const limits: Record<string, number | null | undefined> = {}
  for (const [key, value] of Object.entries(written)) {
    if (isRate(key)) continue
    const text = String(value)
    limits[key] = text === 'none' ? null : key === 'body' ? size(text) : duration(text)
  }
  return limits as Partial<Limits>
}
