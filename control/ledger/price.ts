// What an exchange costs. Prices are not there yet: the catalogue of models plugs in here, in place of `noPrices`.

import type { ExchangeRecord } from './record.js'

export interface Price {
  /** What the operator pays, and what the caller is charged: nano-units of the currency. */
  cost: number
  charge: number
  /** Which table of prices it was. */
  set: string
}

/** Gives nothing where there is no price: that is never the same as 0. It has no effects: who counts asks it, and who writes the row. */
export type Pricing = (record: ExchangeRecord) => Price | undefined

export const noPrices: Pricing = () => undefined
