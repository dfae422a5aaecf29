// `sluice cost EXCHANGE`: explains the cost of an exchange, and the charge to its caller, term by term, with the file and
// line of each price.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { HOME } from '../codegen/home.js'
import { parseYaml, type YamlDocument } from '../codegen/read/yaml.js'
import type { Ended } from '../control/store/columns.js'
import { memberAt } from '../engine/core/members.js'
import { type Fact, METERS } from '../engine/core/meters.js'
import { NANO } from '../engine/core/usage.js'
import type { CatalogueEntry, PlanFacts, Prices, Usage } from '../engine/plan.js'
import { entriesFor } from '../engine/snapshot/catalogue.js'
import type { GatewayConfig } from '../engine/snapshot/config.js'
import { groupOf } from '../engine/snapshot/link.js'
import { type Explained, explainCost, ownPrices, PICO } from '../engine/snapshot/price.js'
import { ask, type Where } from './admin/client.js'
import { configOf, loadConfig } from './config/config.js'
import { defaultContent } from './defaults.js'
import { CommandError, documentOf } from './output.js'
import { rootsOf } from './overlay.js'
import { loadFacts } from './plan.js'
import { fillSecrets } from './secrets.js'
import { configOrUsual } from './usual-config.js'

/** An exchange in the admin API's form. */
export interface Row extends Partial<Record<string, unknown>> {
  id: string
  at: string
  /** The name of the route. */
  route: string | null
  key: string | null
  group: string | null
  model: string | null
  target: string | null
  status: number
  ended: Ended | null
  /** The number of calls to providers. */
  attempts: number
  input: number | null
  output: number | null
  cached: number | null
  cache_write: number | null
  reasoning: number | null
  cost: number | null
  charge: number | null
  region: string | null
  facts: Partial<Record<Fact, string>> | null
  estimated: boolean
  /** A copy of a client's request, for which nobody is charged. */
  mirror: boolean
  budgets: string[] | null
}

/** Prices, with their positions and factors. */
interface Source {
  prices: readonly Prices[]
  times: number
  /** The position of one of them, or of a meter in it: `file:line`. */
  placeOf(explained: Explained, meter: string): string
}

interface TermView {
  meter: string
  units: number
  /** For the number of units that it is usually listed for. */
  price: number
  per: number
  at: string
  amount: number
}

export function addCost(program: Command): void {
  program
    .command('cost <exchange>')
    .description('explain the cost of an exchange, by the request id')
    .option('--config <file>', 'the configuration with the store and the prices (default: gateway.yaml if it exists)')
    .option('--url <address>', 'the address of a remote admin API, with a token in SLUICE_ADMIN_TOKEN; prices are those of the files here')
    .option('--json', 'as JSON')
    .action(async (id: string, options: Where & { json?: boolean }) => {
      const row = await ask<Row>(options, 'GET', `/exchanges/${encodeURIComponent(id)}`)
      const config = configOrUsual(options.config)
      const free = whyFree(row) ?? (await whyUncounted(row, config))
      if (free !== undefined) {
        console.log(options.json ? documentOf(true, [], { terms: [], cost: 0, charge: 0 }) : free)
        return
      }
      const explained = await explain(row, config)
      console.log(options.json ? documentOf(true, [], { ...explained }) : textOf(row, explained))
    })
}

/** Why an exchange cost nothing, whatever its usage and the prices are; undefined if they say what it cost. */
function whyFree(row: Row): string | undefined {
  const { id, status, attempts, ended, cost } = row
  if (ended === 'failed' && cost === null) return `The exchange ${id} failed with the status ${status}: nobody is charged for it.`
  if (attempts > 0 || usageOf(row) !== undefined) return undefined
  const refused = ended === 'aborted' ? 'was given up by its client' : `was refused with the status ${status}`
  const what = status < 400 ? 'was answered without any provider' : `${refused} before any provider was called`
  return `The exchange ${id} ${what}: it cost nothing.`
}

/** Why an exchange without a usage cost nothing: it counted tokens, or was about what an earlier one had made. */
async function whyUncounted(row: Row, config: string | undefined): Promise<string | undefined> {
  if (usageOf(row) !== undefined) return undefined
  const plan = await loadFacts(config)
  const route = plan.routes.find(({ name }) => name === row.route)
  if (route === undefined) return undefined
  const isAboutEarlier = (route.follow !== undefined || route.isShared) && plan.dialects[route.dialect]?.meters === undefined
  return route.estimate || isAboutEarlier
    ? `The exchange ${row.id} was of the route ${route.name}, which is free: it cost nothing.`
    : undefined
}

interface Factor {
  times: number
  at?: string
}

interface Explanation {
  currency: string
  terms: TermView[]
  /** The factors of prices and of the cost; each with its position. */
  times: { upstream: Factor; region: Factor; group: Factor }
  cost: number | null
  charge: number | null
  recorded: { cost: number | null; charge: number | null }
}

async function explain(row: Row, config: string | undefined): Promise<Explanation> {
  const usage = usageOf(row)
  if (usage === undefined) throw new CommandError(`The usage of the exchange ${row.id} was not reported, so its cost is unknown.`)
  if (row.target === null || row.model === null) throw new CommandError(`No upstream answered the exchange ${row.id}.`)
  const plan = await loadFacts(config)
  if (config !== undefined) fillSecrets(config)
  const { gateway } =
    config === undefined ? await configOf(defaultContent(plan, 'http://127.0.0.1').content, plan) : await loadConfig(config, plan, config)
  const source = sourceOf(row, plan, gateway, config)
  const explained = source && explainCost(source.prices, gateway.currency, source, usage, Date.parse(row.at))
  const group = row.group === null ? 1 : (groupOf(row.group, gateway)?.times ?? 1)
  const cost = explained?.cost ?? null
  const charge = cost === null ? null : row.mirror ? 0 : Math.round(cost * group)
  return {
    currency: gateway.currency,
    terms: (explained?.terms ?? []).map(({ meter, units, rate }) => ({
      meter,
      units,
      price: ((rate ?? Number.NaN) * perOf(meter)) / PICO / ((source as Source).times || 1),
      per: perOf(meter),
      at: (source as Source).placeOf(explained as Explained, meter),
      amount: (units * (rate ?? Number.NaN)) / PICO,
    })),
    times: {
      upstream: factor(source?.times ?? 1, config, ['upstreams', (row.target as string).split('/')[0] as string, 'times']),
      region: { times: explained?.region ?? 1, ...(explained && { at: (source as Source).placeOf(explained, 'regions') }) },
      group: factor(group, config, ['groups', row.group ?? '', 'times']),
    },
    cost: cost === null ? null : cost / NANO,
    charge: charge === null ? null : charge / NANO,
    recorded: { cost: row.cost === null ? null : row.cost / NANO, charge: row.charge === null ? null : row.charge / NANO },
  }
}

/** A factor, and its position. */
function factor(times: number, config: string | undefined, path: readonly string[]): Factor {
  const document = times === 1 || config === undefined ? undefined : yamlOf(config, config)
  return { times, ...(document && { at: lineOf(document, path) }) }
}

/** The usage in a row, with the facts that its price depended on; undefined if it was not reported. */
export function usageOf(row: Row): Usage | undefined {
  const usage: Usage = {}
  for (const [name, { member }] of Object.entries(METERS)) {
    const count = row[name]
    if (typeof count === 'number') usage[member] = count
  }
  if (Object.keys(usage).length === 0) return undefined
  return { ...usage, ...(row.region !== null && { region: row.region }), ...row.facts }
}

const perOf = (meter: string): number => METERS[meter]?.per ?? 1

/** The operator's own price of the model, or else the catalogue's. */
function sourceOf(row: Row, plan: PlanFacts, gateway: GatewayConfig, config: string | undefined): Source | undefined {
  const name = row.model as string
  const target = row.target as string
  const at = target.indexOf('/')
  const upstream = Object.hasOwn(gateway.upstreams, target.slice(0, at)) ? gateway.upstreams[target.slice(0, at)] : undefined
  const own = Object.hasOwn(gateway.models, name) ? gateway.models[name]?.price : undefined
  if (own !== undefined) {
    const document = config === undefined ? undefined : yamlOf(config, config)
    return {
      prices: ownPrices(own, gateway.currency),
      times: 1,
      placeOf: (_, meter) => (document ? lineOf(document, ['models', name, 'price', meter]) : 'the defaults without a file'),
    }
  }
  const provider = upstream && plan.providers[upstream.provider]
  if (upstream === undefined || provider === undefined) return undefined
  const found = entriesFor(plan.catalogue ?? [], provider.name, catalogueName(row, target, gateway)).findLast(
    ({ entry, isAway }) => !isAway && entry.facts.prices !== undefined,
  )
  if (found === undefined) return undefined
  return { prices: found.entry.facts.prices ?? [], times: upstream.times ?? 1, placeOf: placeIn(found.entry, plan, config) }
}

/** The name by which the catalogue knows the model of a row's target. Throws a CommandError if the row names a pattern in its place. */
function catalogueName({ id, model }: Row, target: string, { models }: GatewayConfig): string {
  const targets = Object.hasOwn(models, model as string) ? models[model as string]?.targets : undefined
  const served = targets?.find(one => `${one.upstream}/${one.model ?? model}` === target)
  const known = served?.known_as ?? target.slice(target.indexOf('/') + 1)
  if (known.includes('*'))
    throw new CommandError(
      `The exchange ${id} is of the pattern ${model}, and its row does not have the model's name: its price is unknown here.`,
    )
  return known
}

/** The position of an entry's prices: in it, or in the entry that it is like. */
function placeIn(entry: CatalogueEntry, plan: PlanFacts, config: string | undefined): Source['placeOf'] {
  let said: CatalogueEntry = entry
  for (let count = 0; count < MOST_LIKE; count++) {
    const document = fileOf(said, config)
    const model = (document?.value as { models?: Record<string, { prices?: unknown; like?: string } | null> } | undefined)?.models?.[
      said.name
    ]
    if (document === undefined || model?.prices !== undefined || model?.like === undefined) break
    const { like } = model
    const named = (plan.catalogue ?? []).filter(other => other !== said && other.name === like && other.facts.prices !== undefined)
    const next = named.findLast(other => other.providers?.some(one => said.providers?.includes(one))) ?? named.at(-1)
    if (next === undefined) break
    said = next
  }
  const document = fileOf(said, config)
  if (document === undefined) return () => said.at
  return ({ price, exception }, meter) => {
    const row = ['models', said.name, 'prices', price]
    const [plain, other] = [
      [...row, meter],
      [...row, 'when', exception ?? 0, meter],
    ]
    return lineOf(document, exception !== undefined && memberAt(document.value, other.map(String)) !== undefined ? other : plain)
  }
}

const MOST_LIKE = 8

/** The file of an entry, as the reader of its folder would type it. */
function fileOf({ at }: CatalogueEntry, config: string | undefined): YamlDocument | undefined {
  const file = at.slice(0, at.lastIndexOf(':'))
  const { roots } = config === undefined ? { roots: [HOME] } : rootsOf(dirname(resolve(config)))
  const path =
    [...roots]
      .reverse()
      .map(root => join(root, file))
      .find(existsSync) ?? (existsSync(file) ? file : undefined)
  return path === undefined ? undefined : yamlOf(path, file)
}

function yamlOf(path: string, displayed: string): YamlDocument | undefined {
  return parseYaml(displayed, readFileSync(path, 'utf8'), [])[0]
}

function lineOf(document: YamlDocument, path: readonly (string | number)[]): string {
  const { file, line } = document.at([...path])
  return `${file}:${line}`
}

function textOf(row: Row, { currency, terms, times, cost, charge, recorded }: Explanation): string {
  const amount = (value: number): string => `${Number(value.toPrecision(12))} ${currency}`
  const lines = [`${row.id}  ${row.at}  ${row.model} → ${row.target}${row.estimated ? '  (usage is estimated)' : ''}`]
  const { upstream, region, group } = times
  const discount = upstream.times === 1 ? '' : ` × ${upstream.times}`
  for (const { meter, units, price, per, at, amount: part } of terms)
    lines.push(
      `  ${meter.padEnd(14)} ${String(units).padStart(9)} × ${Number(price.toPrecision(12))} ${currency} ${per === 1 ? 'each' : 'a million'}${discount} = ${amount(part)}  (${at})`,
    )
  if (discount !== '') lines.push(`              ${discount} of the upstream ${(row.target as string).split('/')[0]}  (${upstream.at})`)
  if (region.times !== 1) lines.push(`               × ${region.times} of the region ${row.region}  (${region.at})`)
  lines.push(cost === null ? '  cost         no price' : `  cost         ${amount(cost)}`)
  if (group.times !== 1) lines.push(`               × ${group.times} of the group ${row.group}  (${group.at})`)
  if (charge !== null) lines.push(`  charge       ${amount(charge)}${row.mirror ? '  (nobody is charged for a mirror)' : ''}`)
  if (row.budgets !== null) lines.push(`  counts in    ${row.budgets.join(', ')}`)
  if (cost !== recorded.cost || charge !== recorded.charge)
    lines.push(
      `The ledger has ${recorded.cost === null ? 'no cost' : `a cost of ${amount(recorded.cost)}`} and ${recorded.charge === null ? 'no charge' : `a charge of ${amount(recorded.charge)}`}: prices or factors have changed since.`,
    )
  return lines.join('\n')
}
