// Models by other names than their own: aliases, and patterns, whose `*` stands for the name that the upstream knows.

import type { ModelConfig } from './config.js'
import { type Linking, linkModel } from './link.js'
import type { Model } from './model.js'

/** How many models that patterns stand for are kept ready, those that were asked for last. */
const MOST = 1_000

export interface Names {
  /** All that lists name, and the hidden ones, by their own names. */
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
  // The one that says most of a name goes first.
  patterns.sort((left, right) => right.name.length - left.name.length)
  for (const pattern of patterns) {
    // What it counts as is there from the beginning, whichever names come.
    linkOf(pattern, pattern.name, '*', linking)
    for (const one of listOf(pattern, linking)) {
      const name = pattern.before + one + pattern.after
      if (!models.has(name)) models.set(name, linkOf(pattern, name, one, linking))
    }
  }
  const others = new Map<string, Model>()
  return {
    models,
    find(name) {
      const alias = aliases.get(name)
      if (alias !== undefined) return alias
      const known = others.get(name)
      if (known !== undefined) {
        // A map keeps its order: the first one is the one that was asked for longest ago.
        others.delete(name)
        others.set(name, known)
        return known
      }
      for (const pattern of patterns) {
        const one = standsFor(pattern, name)
        if (one === undefined) continue
        const labels = pattern.config.targets.map(({ model = '*' }) => model)
        const model = { ...linkOf(pattern, name, one, linking, labels), pattern: pattern.name }
        others.set(name, model)
        if (others.size > MOST) others.delete(others.keys().next().value as string)
        return model
      }
      return undefined
    },
  }
}

/** What is listed: what the operator says, or what the file of the first target's provider names, as long as its account has not said it. */
function listOf({ config }: Pattern, { gateway, plan }: Linking): readonly string[] {
  const upstream = gateway.upstreams[config.targets[0]?.upstream ?? '']
  return Array.isArray(config.list) ? (config.list as readonly string[]) : (plan.providers[upstream?.provider ?? '']?.models ?? [])
}

/** What the `*` of a pattern stands for in a name; nothing where the name does not fit. */
function standsFor({ before, after }: Pattern, name: string): string | undefined {
  if (name.length <= before.length + after.length || !name.startsWith(before) || !name.endsWith(after)) return undefined
  return name.slice(before.length, name.length - after.length)
}

function linkOf({ name: pattern, config }: Pattern, name: string, one: string, linking: Linking, labels?: readonly string[]): Model {
  const targets = config.targets.map(target => ({ ...target, model: (target.model ?? '*').replaceAll('*', one) }))
  return linkModel(name, { ...config, targets }, linking, pattern, labels)
}
