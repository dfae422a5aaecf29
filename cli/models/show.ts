// `sluice models`: what is known of models, and where it stands; `sluice models check`: what of it is old, or will not hold for long.

import { existsSync } from 'node:fs'
import type { Catalogue, ModelFacts, Plan } from '../../engine/plan.js'
import { combined, entriesFor, type Found, factsFor, priceAt } from '../../engine/snapshot/catalogue.js'
import { prepare } from '../gateway.js'
import { loadPlan } from '../plan.js'
import { type Used, warningsOf } from './warnings.js'
import { inline } from './write.js'

export interface ShowOptions {
  config?: string
  provider?: string
}

const CONFIG = 'gateway.yaml'

function configOf(options: ShowOptions): string | undefined {
  return options.config ?? (existsSync(CONFIG) ? CONFIG : undefined)
}

/** A model by its name at each provider that has it, or all of them in a line each. */
export async function showModels(name: string | undefined, options: ShowOptions): Promise<void> {
  const plan = await loadPlan(configOf(options))
  const { catalogue = [] } = plan
  if (name === undefined) {
    list(catalogue, options.provider)
    return
  }
  const providers = options.provider === undefined ? homesOf(catalogue, plan, name) : [options.provider]
  if (providers.length === 0) {
    console.error(`Nothing is known of ${name}. Mappings take the safe meaning of each fact.`)
    process.exitCode = 1
  }
  providers.forEach((provider, index) => {
    if (index > 0) console.log('')
    console.log(`${name} at ${provider}`)
    for (const [fact, value, at] of factsOf(entriesFor(catalogue, provider, name))) console.log(`  ${fact.padEnd(26)} ${value}  (${at})`)
  })
}

/** The providers that have an entry of their own for a name; where none has, one stands for all that know its pattern. */
function homesOf(catalogue: Catalogue, plan: Plan, name: string): string[] {
  const exact = catalogue.filter(entry => entry.match.includes(name))
  const homes = exact.flatMap(entry => entry.providers ?? [])
  if (homes.length > 0) return [...new Set(homes)].filter(provider => entriesFor(exact, provider, name).some(({ isAway }) => !isAway))
  const known = Object.keys(plan.providers).filter(provider => entriesFor(catalogue, provider, name).some(({ isAway }) => !isAway))
  return known.length > 0
    ? known
    : Object.keys(plan.providers)
        .filter(provider => entriesFor(catalogue, provider, name).length > 0)
        .slice(0, 1)
}

/** Each fact in force, with the place of the entry that says it. */
function factsOf(found: readonly Found[]): [fact: string, value: string, at: string][] {
  const facts = combined(found)
  const last = (says: (facts: ModelFacts) => unknown): string => found.findLast(one => says(combined([one])) !== undefined)?.entry.at ?? ''
  const rows: [string, string, string][] = []
  for (const [fact, value] of Object.entries(facts)) {
    if (fact === 'traits')
      for (const [trait, said] of Object.entries(facts.traits ?? {}))
        rows.push([`traits.${trait}`, inline(said), last(one => one.traits?.[trait])])
    else if (fact === 'prices')
      for (const price of facts.prices ?? []) rows.push([`prices from ${price.from}`, inline(price), last(one => one.prices)])
    else
      rows.push([fact.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`), inline(value), last(one => one[fact as keyof ModelFacts])])
  }
  return rows.sort(([left], [right]) => (left < right ? -1 : 1))
}

function list(catalogue: Catalogue, only: string | undefined): void {
  const today = new Date().toISOString()
  const seen = new Set<string>()
  const rows: string[][] = []
  for (const { providers = [], match } of catalogue) {
    for (const provider of providers) {
      for (const name of match) {
        if (name.includes('*') || (only !== undefined && provider !== only) || seen.has(`${provider} ${name}`)) continue
        seen.add(`${provider} ${name}`)
        const facts = combined(entriesFor(catalogue, provider, name))
        const price = priceAt(facts.prices, today)
        // An entry that only corrects what another table says of a model elsewhere is none of this provider's.
        if (facts.prices === undefined && facts.context === undefined && facts.outputs === undefined) continue
        const cell = (value: unknown): string => (value === undefined ? '-' : String(value))
        rows.push([
          name,
          provider,
          cell(facts.context),
          cell(facts.maxOutput),
          cell(price?.input),
          cell(price?.output),
          cell(facts.retired),
        ])
      }
    }
  }
  rows.sort((left, right) => ((left[1] as string) + left[0] < (right[1] as string) + right[0] ? -1 : 1))
  const table = [['model', 'provider', 'context', 'max_output', 'input', 'output', 'retired'], ...rows]
  const widths = (table[0] as string[]).map((_, column) => Math.max(...table.map(row => (row[column] as string).length)))
  for (const row of table)
    console.log(
      row
        .map((text, column) => text.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    )
}

/** Tells what of the models in use is old or ends soon; without a file, of those that each provider offers. */
export async function checkModels(options: ShowOptions): Promise<void> {
  const config = configOf(options)
  const snapshot = config === undefined ? undefined : (await prepare(config)).snapshot
  const models: Used[] = snapshot ? [...snapshot.models.values()] : offered(await loadPlan(undefined))
  await snapshot?.close()
  const warnings = warningsOf(models)
  for (const { model, target, warning } of warnings) console.log(`${model} (${target}): ${warning}`)
  console.log(`${models.length} models, ${warnings.length} warnings`)
}

/** Every model that a provider offers by itself. */
function offered({ providers, catalogue }: Plan): Used[] {
  return Object.values(providers).flatMap(provider =>
    provider.models.map(name => ({ name, targets: [{ name: provider.name, facts: factsFor(catalogue, provider.name, name) }] })),
  )
}
