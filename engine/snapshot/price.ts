// Computes the cost of an exchange from its model's prices: in whole numbers, pricing each unit once, in the innermost
// meter that has a price. Prices are prepared when a configuration is linked.

import { isWithinHours } from '../core/hours.js'
import { type Count, FACTS, type Fact, METERS } from '../core/meters.js'
import type { Cost, Json, PriceKind, Prices, Usage } from '../plan.js'

/** The conditions that an exception from prices may have. */
export const CONDITIONS: ReadonlySet<string> = new Set(['input_above', 'hours', ...FACTS])

/** Pico-units of the currency for a unit, by meter; absent if there is no price. */
type Rates = Readonly<Record<string, number>>

/** A meter with a price, or with inner meters that have one. */
interface Part {
  meter: string
  member: Count
  rate: number | undefined
  inner: readonly Part[]
}

/** Prepared prices: of tokens, and of other quantities. */
interface Tariff {
  /** Undefined if tokens have no price, because other quantities are paid. */
  tokens: readonly Part[] | undefined
  priced: readonly { meter: string; member: Count; rate: number }[]
  /** Meters without a known price. */
  unpriced: readonly { meter: string; member: Count }[]
  /** Pico-units for a request, and the most for a token of text, which a cache may take; NaN: no known price. */
  highest: { request: number; input: number; output: number }
}

interface Exception {
  above: number
  /** Whether it applies at a moment. */
  holds: ((time: number) => boolean) | undefined
  facts: readonly (readonly [Fact, string])[]
  tariff: Tariff
}

/** The prices from a moment on, and the exceptions: the first that applies to an exchange prices all of it. */
interface Dated {
  since: number
  tariff: Tariff
  exceptions: readonly Exception[]
  /** The factor of a cost in a region. */
  regions: ReadonlyMap<string, number>
  highestRegion: number
  /** Its index in the list of prices. */
  index: number
}

/** Units at one rate: pico-units of the currency for each; undefined if the price is unknown. */
export interface Term {
  meter: string
  units: number
  rate: number | undefined
}

/** How a cost was computed: the price in force, and its exception if one applies, by their indexes in their lists. */
export interface Explained {
  price: number
  exception: number | undefined
  terms: Term[]
  /** The regional factor of the sum of the terms. */
  region: number
  /** Nano-units; undefined if something has no price. */
  cost: number | undefined
}

/** Rates are whole numbers of this fraction of the currency. */
export const PICO = 1e12
/** The operator's own price has no first day. */
const EVER = '1970-01-01'
const PER: Readonly<Record<string, number>> = { one: 1, thousand: 1_000, million: 1_000_000 }

/** Pico-units for a unit of a meter: the exact figure, and the whole number used in computations. */
export function rateOf(price: Json, meter: string): { exact: number; rate: number } {
  const { price: amount, per } = (typeof price === 'number' ? { price } : price) as { price: number; per?: string }
  const exact = (amount * PICO) / (per === undefined ? (METERS[meter]?.per as number) : (PER[per] as number))
  return { exact, rate: Math.round(exact) }
}

/** The operator's own prices of a model. */
export function ownPrices(price: Readonly<Record<string, Json>>, currency: string): readonly Prices[] {
  return [{ from: EVER, currency, ...price }]
}

/** The share of the prices that is paid, and the region of exchanges whose answers do not report it. */
export interface Terms {
  times?: number | undefined
  region?: string | undefined
}

/**
 * A function from a usage to its cost in nano-units of `currency`; it returns undefined, and not 0, if something has no
 * price.
 * @param prices dated prices of one model, oldest first; prices in another currency count as absent
 */
export function costOf(prices: readonly Prices[] | undefined, currency: string, terms: Terms = {}): Cost | undefined {
  const dated = allDated(prices, currency, terms)
  if (dated.length === 0) return undefined
  const kind = kindOf(dated, terms)
  const cost = (usage: Usage, time: number): number | undefined => {
    const found = inForce(dated, time)
    if (found === undefined) return undefined
    const { exceptions, tariff } = found
    const exception = exceptions.length > 0 ? exceptions.find(one => isAbout(one, usage, time, terms.region)) : undefined
    const pico = sumOf(exception?.tariff ?? tariff, usage)
    if (pico === undefined || Number.isNaN(pico)) return undefined
    const nano = Math.round(pico / PICO_PER_NANO)
    const times = regionOf(found, usage, terms)
    return times === 1 ? nano : Math.round(nano * times)
  }
  const most: Cost['most'] = (input, output, time) => {
    const found = inForce(dated, time)
    if (found === undefined) return 0
    const { exceptions, highestRegion, tariff } = found
    let pico = highestOf(tariff, input, output)
    // What an exception depends on beside these numbers is known only from the answer.
    for (const one of exceptions) if (mayBeAbout(one, input, time)) pico = Math.max(pico, highestOf(one.tariff, input, output))
    return Math.round((pico / PICO_PER_NANO) * highestRegion)
  }
  return Object.assign(cost, { ...(kind && { kind }), most })
}

/** The highest cost of so many tokens of text: pico-units; 0 if it is not known. */
function highestOf({ highest }: Tariff, input: number, output: number): number {
  const pico = highest.request + (input > 0 ? input * highest.input : 0) + (output > 0 ? output * highest.output : 0)
  return Number.isNaN(pico) ? 0 : pico
}

/** The cost of exchanges that cost the same, whatever they use: nano-units. */
export function costOfEach(price: number): Cost {
  return Object.assign(() => price, { most: () => price })
}

/** The last price that has begun. */
function inForce(dated: readonly Dated[], time: number): Dated | undefined {
  for (let index = dated.length - 1; index >= 0; index--) {
    const one = dated[index] as Dated
    if (one.since <= time) return one
  }
  return undefined
}

/** The facts that the prices depend on, which the ledger keeps to explain a cost; undefined if there are none. */
function kindOf(dated: readonly Dated[], terms: Terms): PriceKind | undefined {
  const known = new Map<Fact, Set<string>>()
  const note = (name: Fact, value: string): void => void known.set(name, (known.get(name) ?? new Set()).add(value))
  for (const { exceptions, regions } of dated) {
    for (const { facts } of exceptions) for (const [name, value] of facts) note(name, value)
    for (const name of regions.keys()) note('region', name)
  }
  if (terms.region !== undefined) note('region', terms.region)
  if (known.size === 0) return undefined
  const regions = known.get('region')
  const others = [...known].filter(([name]) => name !== 'region')
  return {
    region(usage) {
      const region = usage.region ?? terms.region
      return region !== undefined && regions?.has(region) ? region : undefined
    },
    facts(usage) {
      let told: Record<string, string> | undefined
      for (const [name, values] of others) {
        const value = usage[name]
        if (value !== undefined && values.has(value)) (told ??= {})[name] = value
      }
      return told && JSON.stringify(told)
    },
  }
}

/** The same, term by term; undefined if no price was in force. */
export function explainCost(
  prices: readonly Prices[] | undefined,
  currency: string,
  terms: Terms,
  usage: Usage,
  time: number,
): Explained | undefined {
  const found = inForce(allDated(prices, currency, terms), time)
  if (found === undefined) return undefined
  const exception = found.exceptions.findIndex(one => isAbout(one, usage, time, terms.region))
  const charged: Term[] = []
  sumOf(found.exceptions[exception]?.tariff ?? found.tariff, usage, charged)
  return {
    price: found.index,
    exception: exception < 0 ? undefined : exception,
    terms: charged,
    region: regionOf(found, usage, terms),
    cost: costOf(prices, currency, terms)?.(usage, time),
  }
}

function allDated(prices: readonly Prices[] | undefined, currency: string, { times = 1 }: Terms): Dated[] {
  return (prices ?? []).flatMap((one, index) => (one.currency === currency ? [datedOf(one, times, index)] : []))
}

function regionOf({ regions }: Dated, usage: Usage, { region }: Terms): number {
  return regions.size > 0 ? (regions.get(usage.region ?? region ?? '') ?? 1) : 1
}

function mayBeAbout({ above, holds }: Exception, input: number, time: number): boolean {
  return input > above && holds?.(time) !== false
}

function isAbout(one: Exception, usage: Usage, time: number, region: string | undefined): boolean {
  if (!mayBeAbout(one, usage.input ?? 0, time)) return false
  return one.facts.every(([name, value]) => (usage[name] ?? (name === 'region' ? region : undefined)) === value)
}

const PICO_PER_NANO = 1_000

/**
 * The sum of a usage's terms, in pico-units: each unit once, in the innermost meter that has a price. NaN if a term has no
 * price, undefined if the usage has no counted quantity.
 * @param terms receives the terms
 */
function sumOf({ tokens, priced, unpriced }: Tariff, usage: Usage, terms?: Term[]): number | undefined {
  let sum: number | undefined
  if (tokens !== undefined)
    for (const part of tokens) {
      const count = usage[part.member]
      if (count !== undefined) sum = (sum ?? 0) + sumOfPart(part, usage, count, terms)
    }
  for (const { meter, member, rate } of priced) {
    const count = usage[member] ?? (member === 'request' ? 1 : undefined)
    if (count !== undefined) sum = (sum ?? 0) + (count > 0 ? termOf(meter, count, rate, terms) : 0)
  }
  for (const { meter, member } of unpriced) {
    const count = usage[member] ?? 0
    if (count > 0) sum = (sum ?? 0) + termOf(meter, count, undefined, terms)
  }
  return sum
}

/** Assigns units to inner parts first, and the rest to this part. */
function sumOfPart({ meter, rate, inner }: Part, usage: Usage, count: number, terms: Term[] | undefined): number {
  let left = count
  let sum = 0
  for (const part of inner) {
    const units = Math.min(usage[part.member] ?? 0, left)
    if (units === 0) continue
    left -= units
    sum += sumOfPart(part, usage, units, terms)
  }
  return left > 0 ? sum + termOf(meter, left, rate, terms) : sum
}

function termOf(meter: string, units: number, rate: number | undefined, terms: Term[] | undefined): number {
  terms?.push({ meter, units, rate })
  return units * (rate ?? Number.NaN)
}

function datedOf({ from, when = [], regions = {}, ...meters }: Prices, times: number, index: number): Dated {
  const rates = ratesOf(meters)
  return {
    since: Date.parse(from),
    tariff: tariffOf(rates, times),
    exceptions: when.map(one => exceptionOf(one, rates, times)),
    regions: new Map(Object.entries(regions)),
    highestRegion: Math.max(1, ...Object.values(regions)),
    index,
  }
}

function exceptionOf(one: Readonly<Record<string, Json>>, usual: Rates, paid: number): Exception {
  const { input_above: above, hours, times } = one
  return {
    above: typeof above === 'number' ? above : Number.NEGATIVE_INFINITY,
    holds: Array.isArray(hours) ? isWithinHours(hours.map(String)) : undefined,
    facts: [...FACTS].filter(name => Object.hasOwn(one, name)).map(name => [name as Fact, String(one[name])]),
    tariff: tariffOf({ ...usual, ...ratesOf(one) }, (typeof times === 'number' ? times : 1) * paid),
  }
}

function ratesOf(prices: Readonly<Record<string, Json>>): Rates {
  const rates: Record<string, number> = {}
  for (const meter of Object.keys(METERS)) if (prices[meter] !== undefined) rates[meter] = rateOf(prices[meter], meter).rate
  return rates
}

function tariffOf(listed: Rates, times: number): Tariff {
  const rates: Rates = Object.fromEntries(Object.entries(listed).map(([meter, rate]) => [meter, Math.round(rate * times)]))
  const all = Object.entries(METERS)
  const outer = (name: string): string | undefined => METERS[name]?.parent
  const isOfTokens = (name: string): boolean => outer(name) !== undefined || all.some(([other]) => outer(other) === name)
  /** The nearest meter that is a part: one with a price, or one without a parent. */
  const holder = (name: string): string | undefined => {
    const parent = outer(name)
    return parent === undefined || rates[parent] !== undefined || outer(parent) === undefined ? parent : holder(parent)
  }
  const partOf = (name: string): Part => ({
    meter: name,
    member: METERS[name]?.member as Count,
    rate: rates[name],
    inner: all.flatMap(([other]) => (rates[other] !== undefined && holder(other) === name ? [partOf(other)] : [])),
  })
  const apart = all.filter(([name]) => !isOfTokens(name))
  const hasTokens = all.some(([name]) => isOfTokens(name) && rates[name] !== undefined)
  /** The rate of a meter; if it has none, the highest of those that it includes, since all of its units may be in that one. */
  const highest = (name: string): number =>
    rates[name] ?? (Math.max(...all.flatMap(([other]) => (outer(other) === name ? [rates[other] ?? 0] : []))) || Number.NaN)
  const { request = 0, input = highest('input'), cache_write: written = input, cache_write_1h: kept = written } = rates
  const { output = highest('output'), reasoning = output } = rates
  return {
    tokens: hasTokens
      ? all.filter(([name, { parent }]) => parent === undefined && isOfTokens(name)).map(([name]) => partOf(name))
      : undefined,
    highest: hasTokens
      ? { request, input: Math.max(input, written, kept), output: Math.max(output, reasoning) }
      : { request, input: 0, output: 0 },
    priced: apart.flatMap(([name, { member }]) => (rates[name] === undefined ? [] : [{ meter: name, member, rate: rates[name] }])),
    unpriced: apart.flatMap(([name, { member, isMeasure }]) => (rates[name] === undefined && !isMeasure ? [{ meter: name, member }] : [])),
  }
}
