// What an exchange costs, of the prices of its model: whole numbers, and each unit priced once, in the innermost meter that
// has a price. Prices are made ready when a configuration is linked.

import { type Count, FACTS, type Fact, METERS } from '../core/meters.js'
import type { Cost, Json, Prices, Usage } from '../plan.js'

/** What an exception from prices may ask of an exchange. */
export const CONDITIONS: ReadonlySet<string> = new Set(['input_above', ...FACTS])

/** Pico-units of the currency for a unit, by meter; absent where there is no price. */
type Rates = Readonly<Record<string, number>>

/** A meter that has a price, or counts units of those that have. */
interface Part {
  member: Count
  rate: number | undefined
  inner: readonly Part[]
}

/** Prices as they are counted with: tokens, and what is counted apart from them. */
interface Tariff {
  /** Absent where no token has a price: then something else is what is paid for. */
  tokens: readonly Part[] | undefined
  priced: readonly { member: Count; rate: number }[]
  /** What nobody knows the price of. */
  unpriced: readonly Count[]
}

interface Exception {
  above: number
  facts: readonly (readonly [Fact, string])[]
  tariff: Tariff
}

/** The tariff from a moment on, and those of some exchanges: the first that is about one holds for the whole of it. */
interface Dated {
  since: number
  tariff: Tariff
  exceptions: readonly Exception[]
  /** What a cost is multiplied by in a region. */
  regions: ReadonlyMap<string, number>
}

const PICO = 1e12
const PER: Readonly<Record<string, number>> = { one: 1, thousand: 1_000, million: 1_000_000 }

/** Pico-units for a unit of a meter, as they are and as the whole number that is counted with. */
export function rateOf(price: Json, meter: string): { exact: number; rate: number } {
  const { price: amount, per } = (typeof price === 'number' ? { price } : price) as { price: number; per?: string }
  const exact = (amount * PICO) / (per === undefined ? (METERS[meter]?.per as number) : (PER[per] as number))
  return { exact, rate: Math.round(exact) }
}

/**
 * The cost of a usage in nano-units of `currency`. It gives nothing where something has no price, which is not the same as 0.
 * @param prices dated prices of one model, the oldest first; those in another currency count as absent
 * @param region where exchanges are processed, as far as their answers do not tell it
 */
export function costOf(prices: readonly Prices[] | undefined, currency: string, region?: string): Cost | undefined {
  const dated = (prices ?? []).filter(one => one.currency === currency).map(datedOf)
  if (dated.length === 0) return undefined
  return (usage, time) => {
    const found = dated.findLast(({ since }) => since <= time)
    if (found === undefined) return undefined
    const cost = costAt(found.exceptions.find(one => isAbout(one, usage, region))?.tariff ?? found.tariff, usage)
    const times = found.regions.size > 0 ? found.regions.get(usage.region ?? region ?? '') : undefined
    return cost === undefined || times === undefined ? cost : Math.round(cost * times)
  }
}

function isAbout({ above, facts }: Exception, usage: Usage, region: string | undefined): boolean {
  if (!((usage.input ?? 0) > above)) return false
  return facts.every(([name, value]) => (usage[name] ?? (name === 'region' ? region : undefined)) === value)
}

function costAt({ tokens, priced, unpriced }: Tariff, usage: Usage): number | undefined {
  if (unpriced.some(member => (usage[member] ?? 0) > 0)) return undefined
  let pico = 0
  let isKnown = false
  for (const part of tokens ?? []) {
    const count = usage[part.member]
    if (count === undefined) continue
    isKnown = true
    pico += picoOf(part, usage, count)
  }
  for (const { member, rate } of priced) {
    const count = usage[member] ?? (member === 'request' ? 1 : undefined)
    if (count === undefined) continue
    isKnown = true
    pico += count * rate
  }
  return isKnown && !Number.isNaN(pico) ? Math.round(pico / 1_000) : undefined
}

/** What so many units of a part cost: those of inner parts there, the rest here. NaN where the rest has no price. */
function picoOf({ rate, inner }: Part, usage: Usage, count: number): number {
  let left = count
  let pico = 0
  for (const part of inner) {
    const units = Math.min(usage[part.member] ?? 0, left)
    left -= units
    pico += picoOf(part, usage, units)
  }
  return left > 0 ? pico + left * (rate ?? Number.NaN) : pico
}

function datedOf({ from, when = [], regions = {}, ...meters }: Prices): Dated {
  const rates = ratesOf(meters)
  return {
    since: Date.parse(from),
    tariff: tariffOf(rates),
    exceptions: when.map(one => exceptionOf(one, rates)),
    regions: new Map(Object.entries(regions)),
  }
}

function exceptionOf(one: Readonly<Record<string, Json>>, usual: Rates): Exception {
  const { input_above: above, times } = one
  const rates = { ...usual, ...ratesOf(one) }
  const factor = typeof times === 'number' ? times : 1
  return {
    above: typeof above === 'number' ? above : Number.NEGATIVE_INFINITY,
    facts: [...FACTS].filter(name => Object.hasOwn(one, name)).map(name => [name as Fact, String(one[name])]),
    tariff: tariffOf(Object.fromEntries(Object.entries(rates).map(([meter, rate]) => [meter, Math.round(rate * factor)]))),
  }
}

function ratesOf(prices: Readonly<Record<string, Json>>): Rates {
  const rates: Record<string, number> = {}
  for (const meter of Object.keys(METERS)) if (prices[meter] !== undefined) rates[meter] = rateOf(prices[meter], meter).rate
  return rates
}

function tariffOf(rates: Rates): Tariff {
  const all = Object.entries(METERS)
  const outer = (name: string): string | undefined => METERS[name]?.parent
  const isOfTokens = (name: string): boolean => outer(name) !== undefined || all.some(([other]) => outer(other) === name)
  /** The nearest meter that has a part: one with a price, or one that is part of none. */
  const holder = (name: string): string | undefined => {
    const parent = outer(name)
    return parent === undefined || rates[parent] !== undefined || outer(parent) === undefined ? parent : holder(parent)
  }
  const partOf = (name: string): Part => ({
    member: METERS[name]?.member as Count,
    rate: rates[name],
    inner: all.flatMap(([other]) => (rates[other] !== undefined && holder(other) === name ? [partOf(other)] : [])),
  })
  const apart = all.filter(([name]) => !isOfTokens(name))
  return {
    tokens: all.some(([name]) => isOfTokens(name) && rates[name] !== undefined)
      ? all.filter(([name, { parent }]) => parent === undefined && isOfTokens(name)).map(([name]) => partOf(name))
      : undefined,
    priced: apart.flatMap(([name, { member }]) => (rates[name] === undefined ? [] : [{ member, rate: rates[name] }])),
    unpriced: apart.flatMap(([name, { member, isMeasure }]) => (rates[name] === undefined && !isMeasure ? [member] : [])),
  }
}
