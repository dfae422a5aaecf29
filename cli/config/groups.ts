// Groups of keys in gateway.yaml.

import { useOneOf } from '../../codegen/read/suggest.js'
import type { Pointer } from '../../codegen/read/yaml.js'
import { rateLimitsIn } from '../../engine/limits/rate-text.js'
import type { GroupConfig } from '../../engine/snapshot/config.js'
import type { GatewayData } from '../../schemas/config/types.js'
import type { BudgetReader } from './budgets.js'
import type { Find } from './find.js'
import { checkRateLimits, rateLimitsOf } from './rate-limits.js'

/** The groups of a configuration, by name. */
export function groupsOf(file: GatewayData, budgets: BudgetReader, find: Find): Record<string, GroupConfig> {
  const groups: Record<string, GroupConfig> = Object.create(null)
  for (const [name, group] of Object.entries(file.groups ?? {})) {
    checkRateLimits(group.limits, ['groups', name, 'limits'], find)
    checkRateLimits(group.key_limits, ['groups', name, 'key_limits'], find)
    const rateLimits = rateLimitsOf(group.limits)
    groups[name] = {
      ...(rateLimits && { rateLimits }),
      ...(group.key_limits && { keyLimits: rateLimitsIn(group.key_limits) }),
      ...(group.models && { models: group.models }),
      ...(group.times !== 1 && { times: group.times }),
      ...(group.hidden && { isHidden: true }),
      ...(group.budget !== undefined && { budgets: budgets.read(group.budget, ['groups', name, 'budget']) ?? [] }),
    }
  }
  return groups
}

/** Reports names of groups that do not exist. A configuration without groups may name any. */
export function checkGroups({ groups }: Pick<GatewayData, 'groups'>, named: readonly string[], pointer: Pointer, find: Find): void {
  if (groups === undefined) return
  const known = [...new Set(['default', ...Object.keys(groups)])]
  named.forEach((group, index) => {
    if (!known.includes(group)) find([...pointer, index], 'names/group', `there is no group ${group}`, useOneOf(known, group))
  })
}
