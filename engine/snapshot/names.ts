// Models by other names: aliases, and patterns, whose `*` stands for the upstream's name.

import { setLatest } from '../core/latest.js'
import type { ModelConfig } from './config.js'
import { type Linking, linkModel } from './link.js'
import type { Model } from './model.js'

/** Linked models of patterns in the cache; the least recently used are removed. */
const MOST = 1_000

export interface Names {
  /** The models with a name of their own and the names that patterns list, hidden ones included, in the order of their names. */
  models: Map<string, Model>
  find(name: string): Model | undefined
}

interface Pattern {
  name: string
  config: ModelConfig
  before: string
  after: string
}

export const isPattern = (name: string): boolean => name.includes('*')

export function linkNames(configs: Readonly<Record<string, ModelConfig>>, linking: Linking): Names {
  const models = new Map<string, Model>()
  const aliases = new Map<string, Model>()
  const patterns: Pattern[] = []
  for (const name of Object.keys(configs).sort()) {
    const config = configs[name] as ModelConfig
    if (isPattern(name)) {
      const [before, after] = name.split('*') as [string, string]
      patterns.push({ name, config, before, after })
      continue
    }
    const model = linkModel(name, config, linking)
    models.set(name, model)
    for (const alias of config.aliases ?? []) aliases.set(alias, model)
  }
  // The longest pattern wins.
  patterns.sort((left, right) => right.name.length - left.name.length)
  for (const pattern of patterns) {
    // The model that all names of the pattern count as must exist, even before a name was used.
    linkOf(pattern, pattern.name, '*', linking)
    for (const one of listOf(pattern, linking)) {
      const name = pattern.before + one + pattern.after
      if (!models.has(name)) models.set(name, linkOf(pattern, name, one, linking))
    }
  }
  const others = new Map<string, Model>()
  return {
    models: inOrder(models),
    find(name) {
      const alias = aliases.get(name)
      if (alias !== undefined) return alias
      const known = others.get(name)
      if (known !== undefined) {
        setLatest(others, name, known, MOST)
        return known
      }
      for (const pattern of patterns) {
        const one = standsFor(pattern, name)
        if (one === undefined) continue
        const model = { ...linkOf(pattern, name, one, linking, true), pattern: pattern.name }
        setLatest(others, name, model, MOST)
        return model
      }
      return undefined
    },
  }
}

/** A page of a list begins after a name, so a name out of order would be on two pages or on none. */
const inOrder = (models: ReadonlyMap<string, Model>): Map<string, Model> =>
  new Map([...models].sort(([left], [right]) => (left < right ? -1 : 1)))

/** The names that lists show: the operator's, or those of the first target's provider file until its account has answered. */
function listOf({ config }: Pattern, { gateway, plan }: Linking): readonly string[] {
  const upstream = gateway.upstreams[config.targets[0]?.upstream ?? '']
  return Array.isArray(config.list) ? (config.list as readonly string[]) : (plan.providers[upstream?.provider ?? '']?.models ?? [])
}

/** The part of a name that the `*` of a pattern stands for; undefined if the name does not match. */
function standsFor({ before, after }: Pattern, name: string): string | undefined {
  if (name.length <= before.length + after.length || !name.startsWith(before) || !name.endsWith(after)) return undefined
  return name.slice(before.length, name.length - after.length)
}

/** @param isClients a client chose the name, so the log names the pattern's targets and not these */
function linkOf({ name: pattern, config }: Pattern, name: string, one: string, linking: Linking, isClients = false): Model {
  const filled = <Target extends { model?: string }>(target: Target): Target => {
    const { model = '*' } = target
    return { ...target, model: model.replaceAll('*', one), ...(isClients && { label: model }) }
  }
  const { routing } = config
  const mirror = routing?.mirror && filled(routing.mirror)
  const own = { ...config, targets: config.targets.map(filled), ...(mirror && { routing: { ...routing, mirror } }) }
  return linkModel(name, own, linking, pattern)
}
