// The cost of an exchange, computed by the worker that served it from its prices.

import { DAY } from '../store/columns.js'
import type { ExchangeRecord } from './record.js'

export interface Price {
  /** The operator's cost, and the caller's charge: nano-units of the currency. */
  cost: number
  charge: number
  /** The prices by their first day. */
  set: string
}

/** Undefined if there is no price, which never equals 0. It has no side effects: metrics and rows both call it. */
export type Pricing = (record: ExchangeRecord) => Price | undefined

/** The day that was asked for last, and its text. */
let last = { day: Number.NaN, text: '' }

function dayOf(at: number): string {
  const day = Math.floor(at / DAY)
  if (day !== last.day) last = { day, text: new Date(at).toISOString().slice(0, 10) }
  return last.text
}

export const recordedPrice: Pricing = ({ cost, charge = cost, at }) =>
  cost === undefined || charge === undefined ? undefined : { cost, charge, set: dayOf(at) }
