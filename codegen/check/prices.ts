// Checks that the engine can compute with the prices.

import { METERS } from '../../engine/core/meters.js'
import { CONDITIONS, rateOf } from '../../engine/snapshot/price.js'
import type { CatalogueFile } from '../read/catalogue.js'
import { NO_PRICES, type PricesData } from '../read/catalogue-data.js'
import type { Finding } from '../read/findings.js'
import { useOneOf } from '../read/suggest.js'

/** Decimal fractions are not exact in binary: a number this close to a whole one counts as whole. */
const NEAR = 1e-9

/** Adds a finding for each invalid price. */
export function checkPrices(files: readonly CatalogueFile[], findings: Finding[]): void {
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
        prices.when?.forEach((exception, number) => {
          const where = [...at, 'when', number]
          checkRow(exception, where)
          if (!Object.keys(exception).some(name => CONDITIONS.has(name)))
            findings.push({
              ...document.at(where),
              rule: 'models/prices',
              detail: 'the exception has no condition',
              remedy: `add one of: ${[...CONDITIONS].join(', ')}`,
            })
        })
      })
    }
    function checkRow(row: PricesData | Record<string, unknown>, at: readonly (string | number)[]): void {
      for (const [key, price] of Object.entries(row)) {
        if (NO_PRICES.has(key) || CONDITIONS.has(key)) continue
        if (!Object.hasOwn(METERS, key))
          findings.push({
            ...document.key([...at, key]),
            rule: 'names/meter',
            detail: `there is no meter ${key}`,
            remedy: useOneOf(Object.keys(METERS), key),
          })
        else if (isTooFine(rateOf(price, key)))
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

function isTooFine({ exact, rate }: { exact: number; rate: number }): boolean {
  return Math.abs(exact - rate) > Math.abs(exact) * NEAR
}
