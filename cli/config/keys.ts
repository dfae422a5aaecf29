// Keys in gateway.yaml.

import { createHash } from 'node:crypto'
import { rateLimitsIn } from '../../engine/limits/rate-text.js'
import type { KeyConfig } from '../../engine/snapshot/config.js'
import { isAddressRange } from '../../engine/snapshot/key.js'
import type { GatewayData, GatewayKey } from '../../schemas/config/types.js'
import { instant } from '../times.js'
import type { BudgetReader } from './budgets.js'
import type { Find } from './find.js'
import { checkGroups } from './groups.js'
import { checkRateLimits } from './rate-limits.js'
import type { ReadSecret } from './secret.js'

/** The keys of a configuration, which are known by their hashes. */
export function keysOf(file: GatewayData, secret: ReadSecret, budgets: BudgetReader, find: Find): KeyConfig[] {
  const names = new Set<string>()
  const owners = new Map<string, string>()
  return file.keys.map((key, index): KeyConfig => {
    if (names.has(key.name)) find(['keys', index, 'name'], 'key/name', `two keys are named ${key.name}`, 'give each its own name')
    names.add(key.name)
    const value = key.value === undefined ? undefined : secret(key.value, ['keys', index, 'value'])
    const sha256 = key.sha256 ?? hashOf(value ?? '')
    const other = owners.get(sha256)
    // An unreadable secret was reported already.
    if (other !== undefined && (key.sha256 ?? value) !== undefined)
      find(['keys', index], 'key/value', `${other} and ${key.name} have the same value`, 'give each its own')
    owners.set(sha256, key.name)
    checkKey(key, index, file, find)
    return keyOf(key, sha256, budgets, index)
  })
}

function checkKey(key: GatewayKey, index: number, file: GatewayData, find: Find): void {
  key.ips?.forEach((range, number) => {
    if (!isAddressRange(range))
      find(['keys', index, 'ips', number], 'key/ips', `${range} is not an address or a range`, 'write one such as 10.0.0.0/8')
  })
  if (key.expires !== undefined && instant(key.expires) === undefined)
    find(
      ['keys', index, 'expires'],
      'key/expires',
      `there is no day such as ${key.expires.slice(0, 10)}`,
      'write one that the calendar has',
    )
  checkRateLimits(key.limits, ['keys', index, 'limits'], find)
  checkGroups(file, key.groups, ['keys', index, 'groups'], find)
}

function keyOf(key: GatewayKey, sha256: string, budgets: BudgetReader, index: number): KeyConfig {
  const expires = key.expires === undefined ? undefined : instant(key.expires)
  return {
    name: key.name,
    sha256,
    groups: key.groups,
    ...(key.limits && { rateLimits: rateLimitsIn(key.limits) }),
    ...(key.models && { models: key.models }),
    ...(expires !== undefined && { expires }),
    ...(key.team !== undefined && { team: key.team }),
    ...(key.routes && { routes: key.routes }),
    ...(key.ips && { ips: key.ips }),
    ...(key.tags && { tags: key.tags }),
    ...(key.budget !== undefined && { budgets: budgets.read(key.budget, ['keys', index, 'budget']) ?? [] }),
    enabled: key.enabled,
  }
}

function hashOf(value: string): string {
  return createHash('sha256').update(value).digest('hex')
}
