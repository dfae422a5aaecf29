// What an exchange costs: as the worker that served it has worked it out, from the prices that were in force there.

import type { ExchangeRecord } from './record.js'

export interface Price {
  /** What the operator pays, and what the caller is charged: nano-units of the currency. */
  cost: number
  charge: number
  /** Which prices these were: those of this day. */
  set: string
}

/** Gives nothing where there is no price: that is never the same as 0. It has no effects: who counts asks it, and who writes the row. */
export type Pricing = (record: ExchangeRecord) => Price | undefined

export const recordedPrice: Pricing = ({ cost, charge = cost, at }) =>
  cost === undefined || charge === undefined ? undefined : { cost, charge, set: new Date(at).toISOString().slice(0, 10) }
