// Prices as they are written → rates in pico-units of the currency for one unit of a meter, which are whole numbers.

import { CONDITIONS } from '../../engine/snapshot/price.js'
import type { Finding } from '../read/findings.js'
import type { Meter } from './meters.js'
import type { CatalogueFile, PriceData, PricesData } from './read.js'

const PER: Readonly<Record<string, number>> = { one: 1, thousand: 1_000, million: 1_000_000 }
const PICO = 1e12

/** Pico-units for one unit; nothing where that is no whole number. */
export function rateOf(price: PriceData, meter: Meter): number | undefined {
  const { price: amount, per } = typeof price === 'number' ? { price, per: undefined } : price
  const exact = (amount * PICO) / (per === undefined ? meter.per : (PER[per] as number))
  const rate = Math.round(exact)
  // A decimal fraction is none in binary: what is as near as that is meant.
  return Math.abs(exact - rate) <= Math.abs(exact) * 1e-9 ? rate : undefined
}

/** Adds a finding for each price that is none. */
export function checkPrices(files: readonly CatalogueFile[], meters: ReadonlyMap<string, Meter>, findings: Finding[]): void {
  for (const { data, document } of files) {
    for (const [name, model] of Object.entries(data.models)) {
      let last = ''
      model?.prices?.forEach((prices, index) => {
        const at = ['models', name, 'prices', index]
        if (prices.from <= last)
          findings.push({
            ...document.at([...at, 'from']),
            rule: 'models/prices',
            detail: 'this price is from a day before the one above it',
            remedy: 'write the oldest first',
          })
        last = prices.from
        checkRow(prices, at)
        prices.when?.forEach((exception, place) => {
          const where = [...at, 'when', place]
          checkRow(exception, where)
          if (!Object.keys(exception).some(name => CONDITIONS.has(name)))
            findings.push({
              ...document.at(where),
              rule: 'models/prices',
              detail: 'the exception has no condition, and would be the rule',
              remedy: `add one of: ${[...CONDITIONS].join(', ')}`,
            })
        })
      })
    }
    function checkRow(row: PricesData | Record<string, unknown>, at: readonly (string | number)[]): void {
      for (const [key, price] of Object.entries(row)) {
        if (key === 'from' || key === 'when' || key === 'times' || CONDITIONS.has(key)) continue
        const meter = meters.get(key)
        if (meter === undefined)
          findings.push({
            ...document.key([...at, key]),
            rule: 'names/meter',
            detail: `there is no meter ${key}`,
            remedy: `use one of: ${[...meters.keys()].join(', ')}`,
          })
        else if (rateOf(price as PriceData, meter) === undefined)
          findings.push({
            ...document.at([...at, key]),
            rule: 'models/prices',
            detail: 'the price is finer than a pico-unit of the currency for one unit of the meter',
            remedy: 'round it',
          })
      }
    }
  }
}
