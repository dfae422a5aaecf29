// The known facts about models, by name. Read when a configuration is linked, never for a request.

import { wildcard } from '../core/text.js'
import type { Catalogue, CatalogueEntry, Json, ModelFacts, Prices } from '../plan.js'
import { CONDITIONS } from './price.js'

/** An entry that matches a name; `isAway` if it is for other providers. */
export interface Found {
  entry: CatalogueEntry
  isAway: boolean
}

/** The facts that hold only at the model's own providers. */
const AT_HOME: readonly (keyof ModelFacts)[] = ['prices', 'prefer', 'created', 'deprecated', 'retired']

/** The letters of a pattern beside its `*`; a name without a `*` outweighs every pattern. */
export function weightOf(pattern: string): number {
  return pattern.includes('*') ? pattern.replaceAll('*', '').length : Number.POSITIVE_INFINITY
}

const tests = new Map<string, (name: string) => boolean>()

/** Whether a pattern matches a name. */
export function fits(pattern: string, name: string): boolean {
  if (!pattern.includes('*')) return pattern === name
  let test = tests.get(pattern)
  if (test === undefined) tests.set(pattern, (test = wildcard(pattern)))
  return test(name)
}

/** The weight of the heaviest pattern of an entry that matches one of some names; undefined if none does. */
function heaviest(entry: CatalogueEntry, names: readonly string[]): number | undefined {
  let most: number | undefined
  for (const pattern of entry.match) {
    if (!names.some(name => fits(pattern, name))) continue
    const weight = weightOf(pattern)
    if (most === undefined || weight > most) most = weight
  }
  return most
}

/** The entries of a catalogue by the names that they match, and those with a pattern; by position, in its order. */
interface Index {
  named: ReadonlyMap<string, readonly number[]>
  patterned: readonly number[]
}

const indexes = new WeakMap<Catalogue, Index>()

/** Configurations have thousands of models, and the catalogue thousands of entries, of which few match a name. */
function indexOf(catalogue: Catalogue): Index {
  const known = indexes.get(catalogue)
  if (known !== undefined) return known
  const named = new Map<string, number[]>()
  const patterned: number[] = []
  for (const [position, { match }] of catalogue.entries()) {
    if (match.some(pattern => pattern.includes('*'))) patterned.push(position)
    for (const name of match) {
      if (name.includes('*')) continue
      const positions = named.get(name)
      if (positions) positions.push(position)
      else named.set(name, [position])
    }
  }
  const index = { named, patterned }
  indexes.set(catalogue, index)
  return index
}

/** The entries that may match one of some names, in the order of the catalogue. */
function candidates(catalogue: Catalogue, names: readonly string[]): CatalogueEntry[] {
  const { named, patterned } = indexOf(catalogue)
  const positions = new Set([...patterned, ...names.flatMap(name => named.get(name) ?? [])])
  return [...positions].sort((left, right) => left - right).map(position => catalogue[position] as CatalogueEntry)
}

/**
 * The entries about a model of a provider, in rising precedence. A provider of many makers prefixes names with the maker
 * and a slash: the part behind the last slash matches, too.
 */
export function entriesFor(catalogue: Catalogue, provider: string, name: string): Found[] {
  const away = [...new Set([name, name.slice(name.lastIndexOf('/') + 1)])]
  const found: (Found & { weight: number })[] = []
  for (const entry of candidates(catalogue, away)) {
    const isHome = entry.providers === undefined || entry.providers.includes(provider)
    const home = isHome ? heaviest(entry, [name]) : undefined
    const weight = home ?? heaviest(entry, away)
    if (weight !== undefined) found.push({ entry, weight, isAway: home === undefined })
  }
  const rank = ({ isAway }: Found): number => (isAway ? 0 : 1)
  return found.sort((left, right) => rank(left) - rank(right) || left.entry.layer - right.entry.layer || compare(left.weight, right.weight))
}

/** Compares numbers that may both be infinite. */
function compare(left: number, right: number): number {
  return left === right ? 0 : left - right
}

/** Combines the facts of some entries: a later entry wins over an earlier one. */
export function combined(found: readonly Found[]): ModelFacts {
  let facts: ModelFacts = {}
  for (const { entry, isAway } of found) {
    const said: Record<string, Json> = { ...entry.facts }
    if (isAway) for (const name of AT_HOME) delete said[name]
    const traits = { ...facts.traits, ...entry.facts.traits }
    facts = { ...facts, ...said, ...(Object.keys(traits).length > 0 && { traits }) }
  }
  return facts
}

/** The facts of a model by the provider's name for it. */
export function factsFor(catalogue: Catalogue | undefined, provider: string, name: string): ModelFacts {
  return catalogue === undefined ? {} : combined(entriesFor(catalogue, provider, name))
}

/** The prices at a day, or a time, by meter, without their exceptions; undefined if none is known. */
export function priceAt(prices: readonly Prices[] | undefined, day: string): Record<string, Json> | undefined {
  const found = prices?.findLast(({ from }) => from <= day)
  if (found === undefined) return undefined
  const { from: _, currency, when: __, regions: ___, ...meters } = found
  return { ...meters, ...(currency !== USUAL && { currency }) }
}

/** The conditions of an exception, and its prices. */
export interface Tier {
  when: Record<string, Json>
  price: Record<string, Json>
}

/** The exceptions from the prices of a day, each with all of its prices. */
export function tiersAt(prices: readonly Prices[] | undefined, day: string): Tier[] {
  const { when = [] } = prices?.findLast(({ from }) => from <= day) ?? {}
  const usual = priceAt(prices, day)
  return when.map(({ times, ...said }) => {
    const tier: Tier = { when: {}, price: { ...usual } }
    for (const [name, value] of Object.entries(said)) (CONDITIONS.has(name) ? tier.when : tier.price)[name] = value
    if (typeof times === 'number') for (const [name, value] of Object.entries(tier.price)) tier.price[name] = multiplied(value, times)
    return tier
  })
}

/** The regional factors of the prices of a day; undefined if prices are the same everywhere. */
export function regionsAt(prices: readonly Prices[] | undefined, day: string): Prices['regions'] {
  return prices?.findLast(({ from }) => from <= day)?.regions
}

/** Significant digits of a price. */
const DIGITS = 12

/** Prices for a buyer who pays a multiple of the list price. */
export function pricesTimes<Listed extends Readonly<Record<string, Json>> | undefined>(prices: Listed, times: number): Listed {
  if (prices === undefined || times === 1) return prices
  return Object.fromEntries(Object.entries(prices).map(([meter, price]) => [meter, multiplied(price, times)])) as Listed
}

function multiplied(price: Json, times: number): Json {
  if (typeof price === 'number') return Number((price * times).toPrecision(DIGITS))
  return typeof price === 'object' ? { ...price, price: multiplied((price as { price: number }).price, times) } : price
}

/** The currency that is not written out. */
const USUAL = 'USD'
