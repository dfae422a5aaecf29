// `sluice models`: shows the known models with their sources; `sluice models check`: reports old facts and coming
// retirements.

import { useOneOf } from '../../codegen/read/suggest.js'
import type { Catalogue, ModelFacts, PlanFacts } from '../../engine/plan.js'
import { combined, entriesFor, type Found, factsFor, priceAt } from '../../engine/snapshot/catalogue.js'
import { askAccount, upstreamsWithLists } from '../account-lists.js'
import { EXIT } from '../exit-codes.js'
import { UsageError } from '../output.js'
import { loadFacts } from '../plan.js'
import { prepare, read } from '../prepare.js'
import { columns } from '../table.js'
import { configOrUsual } from '../usual-config.js'
import { releaseLines } from './release.js'
import { rowsOf } from './rows.js'
import { type Used, warningsOf } from './warnings.js'
import { inline } from './write.js'

export interface ShowOptions {
  config?: string
  provider?: string
  json?: boolean
}

/** Throws a UsageError for a provider that there is not. */
export function checkProvider({ providers }: PlanFacts, name: string | undefined): void {
  if (name !== undefined && providers[name] === undefined)
    throw new UsageError(`There is no provider ${name}: ${useOneOf(Object.keys(providers), name)}.`)
}

/** Shows a model at each of its providers, or all models in a line each. */
export async function showModels(name: string | undefined, options: ShowOptions): Promise<void> {
  const plan = await loadFacts(configOrUsual(options.config))
  const { catalogue = [] } = plan
  checkProvider(plan, options.provider)
  if (name === undefined) {
    const rows = listed(catalogue, options.provider)
    const accounts = await accountsOf(configOrUsual(options.config), plan)
    if (options.json)
      console.log(
        JSON.stringify(
          { ok: true, findings: [], models: rows.map(asObject), ...(accounts.length > 0 && { accounts }), releases: plan.releases ?? [] },
          null,
          2,
        ),
      )
    else {
      console.log(columns([COLUMNS, ...rows.map(row => row.map(cell => (cell === undefined ? '-' : String(cell))))]))
      for (const { upstream, models, cause } of accounts)
        console.log(`\nThe account of ${upstream} lists ${models ? `${models.length} models\n${models.join('\n')}` : `nothing: ${cause}`}`)
      for (const line of releaseLines(plan)) console.log(line)
    }
    return
  }
  const providers = options.provider === undefined ? homesOf(catalogue, plan, name) : [options.provider]
  const error = providers.length > 0 ? undefined : `The model ${name} is unknown. Mappings use the safe value of each fact.`
  if (error !== undefined) {
    console.error(error)
    process.exitCode = EXIT.usage
  }
  if (options.json) {
    const models = providers.map(provider => ({
      model: name,
      provider,
      facts: factsOf(entriesFor(catalogue, provider, name)).map(([fact, value, at]) => ({ fact, value, at })),
    }))
    console.log(JSON.stringify({ ok: error === undefined, findings: [], ...(error !== undefined && { error }), models }, null, 2))
    return
  }
  providers.forEach((provider, index) => {
    if (index > 0) console.log('')
    console.log(`${name} at ${provider}`)
    for (const [fact, value, at] of factsOf(entriesFor(catalogue, provider, name))) console.log(`  ${fact.padEnd(26)} ${value}  (${at})`)
  })
}

/** The models of the accounts whose lists the configuration uses, asked for now. */
async function accountsOf(
  config: string | undefined,
  plan: PlanFacts,
): Promise<{ upstream: string; models?: readonly string[]; cause?: string }[]> {
  if (config === undefined) return []
  const { gateway } = await read(config)
  const upstreams = upstreamsWithLists(gateway)
  if (upstreams.length === 0) return []
  const { snapshot, state } = await prepare(config)
  const asked = { gateway, providers: plan.providers, accounts: () => snapshot.accounts }
  const accounts = await Promise.all(
    upstreams.map(async upstream => {
      const answer = await askAccount(upstream, asked)
      return 'names' in answer ? { upstream, models: answer.names } : { upstream, cause: answer.detail }
    }),
  )
  await snapshot.close()
  await state.close()
  return accounts
}

/** The providers with an entry for exactly this name; if there is none, one for all that match it by a pattern. */
function homesOf(catalogue: Catalogue, plan: PlanFacts, name: string): string[] {
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

/** Each fact in force, with the position of its entry. */
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

const COLUMNS = ['model', 'provider', 'context', 'max_output', 'input', 'output', 'retired'] as const

type Row = readonly unknown[]

const asObject = (row: Row): object => Object.fromEntries(COLUMNS.map((name, index) => [name, row[index]]))

function listed(catalogue: Catalogue, only: string | undefined): Row[] {
  const today = new Date().toISOString()
  return rowsOf(catalogue, only).map(({ provider, name, facts }) => {
    const price = priceAt(facts.prices, today)
    return [name, provider, facts.context, facts.maxOutput, price?.input, price?.output, facts.retired]
  })
}

/** Reports old facts and coming retirements of the models in use; without a configuration, of those that each provider offers. */
export async function checkModels(options: ShowOptions): Promise<void> {
  const config = configOrUsual(options.config)
  const snapshot = config === undefined ? undefined : (await prepare(config)).snapshot
  const plan = await loadFacts(config)
  const all: Used[] = snapshot ? [...snapshot.models.values()] : offered(plan)
  await snapshot?.close()
  checkProvider(plan, options.provider)
  const models = options.provider === undefined ? all : all.flatMap(model => atProvider(model, options.provider as string))
  const warnings = warningsOf(models)
  if (options.json) {
    console.log(JSON.stringify({ ok: true, findings: [], models: models.length, warnings, releases: plan.releases ?? [] }, null, 2))
    return
  }
  for (const { model, target, warning } of warnings) console.log(`${model} (${target}): ${warning}`)
  for (const line of releaseLines(plan)) console.log(line)
  console.log(`${models.length} models, ${warnings.length} warnings`)
}

/** A model with its targets at one provider; nothing if it has none there. */
function atProvider({ name, targets }: Used, provider: string): Used[] {
  const there = targets.filter(target => target.provider.name === provider)
  return there.length > 0 ? [{ name, targets: there }] : []
}

/** Every model that a provider offers itself. */
function offered({ providers, catalogue }: PlanFacts): Used[] {
  return Object.values(providers).flatMap(provider =>
    provider.models.map(name => ({ name, targets: [{ name: provider.name, provider, facts: factsFor(catalogue, provider.name, name) }] })),
  )
}
