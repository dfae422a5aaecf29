// What an exchange costs, of the prices of its model: whole numbers, and each token priced once, in the innermost meter that
// has a price. Prices are made ready when a configuration is linked.

import type { Cost, Json, Prices, Usage } from '../plan.js'

/** Pico-units of the currency for a token; absent where there is no price. */
interface Rates {
  input?: number
  output?: number
  cached?: number
  cacheWrite?: number
  reasoning?: number
}

/** The rates from a moment on, and those of requests with more than so many tokens, the most tokens first. */
interface Dated {
  since: number
  rates: Rates
  above: readonly { tokens: number; rates: Rates; place: number }[]
  /** Which of the prices it is. */
  place: number
}

/** Tokens that are charged at a rate: pico-units of the currency for each. */
export interface Term {
  meter: string
  units: number
  rate: number | undefined
}

/** How a cost comes about: the price in force, and the exception from it where one holds, by their places in their lists. */
export interface Explained {
  price: number
  exception: number | undefined
  terms: Term[]
  /** Nano-units; nothing where a token has no price. */
  cost: number | undefined
}

const METERS: readonly (readonly [string, keyof Rates])[] = [
  ['input', 'input'],
  ['output', 'output'],
  ['cached', 'cached'],
  ['cache_write', 'cacheWrite'],
  ['reasoning', 'reasoning'],
]

const PICO = 1e12
const MILLION = 1e6
const PER: Readonly<Record<string, number>> = { one: 1, thousand: 1_000, million: MILLION }
/** What an exception from prices may say beside what this prices: it is about requests that are not told apart here. */
const IS_LENGTH_ALONE = new Set(['input_above', 'times', ...METERS.map(([name]) => name)])

/**
 * The cost of a usage in nano-units of `currency`. It gives nothing where a token has no price, which is not the same as 0.
 * @param prices dated prices of one model, the oldest first; those in another currency count as absent
 * @param times what is paid of them
 */
export function costOf(prices: readonly Prices[] | undefined, currency: string, times = 1): Cost | undefined {
  const dated = allDated(prices, currency, times)
  if (dated.length === 0) return undefined
  return (usage, time) => {
    const found = dated.findLast(({ since }) => since <= time)
    if (found === undefined) return undefined
    const { input = 0 } = usage
    return costAt(found.above.find(({ tokens }) => input > tokens)?.rates ?? found.rates, usage)
  }
}

function allDated(prices: readonly Prices[] | undefined, currency: string, times: number): Dated[] {
  return (prices ?? []).flatMap((one, place) => (one.currency === currency ? [datedOf(one, times, place)] : []))
}

/** The same, term by term; nothing where no price was in force. */
export function explainCost(
  prices: readonly Prices[] | undefined,
  currency: string,
  times: number,
  usage: Usage,
  time: number,
): Explained | undefined {
  const found = allDated(prices, currency, times).findLast(({ since }) => since <= time)
  if (found === undefined) return undefined
  const { input = 0 } = usage
  const above = found.above.find(({ tokens }) => input > tokens)
  const rates = above?.rates ?? found.rates
  const units = unitsOf(rates, usage)
  const terms = METERS.map(([meter, name]): Term => ({ meter, units: units[name], rate: rates[name] })).filter(one => one.units > 0)
  return { price: found.place, exception: above?.place, terms, cost: costAt(rates, usage) }
}

/** Each token once, in the innermost meter that has a price. */
function unitsOf(rates: Rates, { input = 0, output = 0, cached = 0, cacheWrite = 0, reasoning = 0 }: Usage): Required<Rates> {
  const read = rates.cached === undefined ? 0 : Math.min(cached, input)
  const written = rates.cacheWrite === undefined ? 0 : Math.min(cacheWrite, input - read)
  const thought = rates.reasoning === undefined ? 0 : Math.min(reasoning, output)
  return { input: input - read - written, output: output - thought, cached: read, cacheWrite: written, reasoning: thought }
}

function costAt(rates: Rates, { input = 0, output = 0, cached = 0, cacheWrite = 0, reasoning = 0 }: Usage): number | undefined {
  const read = rates.cached === undefined ? 0 : Math.min(cached, input)
  const written = rates.cacheWrite === undefined ? 0 : Math.min(cacheWrite, input - read)
  const thought = rates.reasoning === undefined ? 0 : Math.min(reasoning, output)
  const [plainInput, plainOutput] = [input - read - written, output - thought]
  if ((plainInput > 0 && rates.input === undefined) || (plainOutput > 0 && rates.output === undefined)) return undefined
  const pico =
    plainInput * (rates.input ?? 0) +
    read * (rates.cached ?? 0) +
    written * (rates.cacheWrite ?? 0) +
    plainOutput * (rates.output ?? 0) +
    thought * (rates.reasoning ?? 0)
  return Math.round(pico / 1_000)
}

function datedOf({ from, when, ...meters }: Prices, times: number, place: number): Dated {
  const rates = ratesOf(meters)
  const above = (when ?? [])
    .map((one, at) => ({ one, at }))
    .filter(({ one }) => typeof one.input_above === 'number' && Object.keys(one).every(name => IS_LENGTH_ALONE.has(name)))
    .map(({ one, at }) => ({
      tokens: one.input_above as number,
      rates: timesOf(timesOf({ ...rates, ...ratesOf(one) }, one.times), times),
      place: at,
    }))
    .sort((left, right) => right.tokens - left.tokens)
  return { since: Date.parse(from), rates: timesOf(rates, times), above, place }
}

function ratesOf(prices: Readonly<Record<string, Json>>): Rates {
  const rates: Rates = {}
  for (const [name, meter] of METERS) {
    const price = prices[name] as number | { price: number; per?: string } | undefined
    if (price === undefined) continue
    const { price: amount, per } = typeof price === 'number' ? { price, per: undefined } : price
    rates[meter] = Math.round((amount * PICO) / (per === undefined ? MILLION : (PER[per] as number)))
  }
  return rates
}

function timesOf(rates: Rates, times: Json): Rates {
  if (typeof times !== 'number' || times === 1) return rates
  return Object.fromEntries(Object.entries(rates).map(([meter, rate]) => [meter, Math.round((rate as number) * times)]))
}
