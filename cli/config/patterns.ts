// Reads `patterns` of gateway.yaml, the texts that must not pass, and checks what the grammar cannot.

import type { Pointer } from '../../codegen/read/yaml.js'
import { matcher } from '../../engine/core/text.js'
import type { GatewayConfig, PatternConfig } from '../../engine/snapshot/config.js'
import type { Snapshot } from '../../engine/snapshot/model.js'
import { finderOf } from '../../engine/wire/patterns.js'
import type { GatewayData } from '../../schemas/config/types.js'
import { checkRoutes } from './calls.js'
import type { Find } from './find.js'

/** The patterns of a configuration. `routes` are the names of all routes. */
export function patternsOf(file: GatewayData, routes: readonly string[], find: Find): Record<string, PatternConfig> {
  const patterns: Record<string, PatternConfig> = Object.create(null)
  for (const [name, pattern] of Object.entries(file.patterns)) {
    const here: Pointer = ['patterns', name]
    const match = pattern.match === undefined ? undefined : [pattern.match].flat()
    const good = match?.filter((source, index) => {
      const fault = faultOf(source)
      if (fault === undefined) return true
      const pointer: Pointer = Array.isArray(pattern.match) ? [...here, 'match', index] : [...here, 'match']
      find(pointer, 'pattern/syntax', fault, 'correct the expression; RE2 has no back references and no lookaround')
      return false
    })
    checkRoutes(pattern.routes, routes, here, find)
    patterns[name] = {
      ...(good && { match: good }),
      ...(pattern.words && { words: pattern.words }),
      ...(pattern.do === 'mask' && { mask: pattern.mask }),
      inRequest: pattern.in.includes('request'),
      inAnswer: pattern.in.includes('answer'),
      window: pattern.window,
      ...(pattern.keys && { keys: pattern.keys }),
      ...(pattern.models && { models: pattern.models }),
      ...(pattern.routes && { routes: pattern.routes }),
    }
  }
  return patterns
}

/**
 * The routes that a pattern is for and cannot look at: relays, whose bodies may be anything, and dialects that somebody may be
 * asked in and that do not say where their texts stand.
 */
export function unseenBy({ routes, models }: PatternConfig, snapshot: Snapshot, gateway: GatewayConfig): string[] {
  const isFor = matcher(routes)
  const isForModel = matcher(models)
  const asked = [...snapshot.models.values()].filter(({ name }) => isForModel(name))
  const named = snapshot.plan.routes.filter(
    ({ dialect }) => snapshot.plan.dialects[dialect]?.texts === undefined && asked.some(({ methods }) => methods.has(dialect)),
  )
  return [...Object.keys(gateway.proxies ?? {}), ...new Set(named.map(({ name }) => name))].filter(isFor)
}

/** What is wrong with an expression; nothing where it is good. */
function faultOf(source: string): string | undefined {
  try {
    return finderOf(source).find('', 0) === undefined ? undefined : 'it matches only empty texts'
  } catch (error) {
    return (error as Error).message.replace(/^error parsing regexp: /, '')
  }
}
