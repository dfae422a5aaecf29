// What is read from somebody else's table, in our words, and what could not be.

import type { ModelData, PricesData } from '../../codegen/catalogue/read.js'

/** A provider's names in tables, by the name that it has here. */
export type KnownAs = ReadonlyMap<string, readonly string[]>

export interface ImportedModel {
  /** The provider's name here. */
  provider: string
  name: string
  data: ModelData
}

/** `lost`: nothing here says it. `odd`: the table contradicts itself; what was taken is told. */
export interface Note {
  kind: 'lost' | 'odd'
  /** What it is about: a field of the table, or a model. */
  what: string
  detail: string
}

export interface Imported {
  models: ImportedModel[]
  notes: Note[]
}

/** A price for a million of what one costs so much, in whole pico-units for one; nothing where there is none. */
export function perMillion(price: unknown): number | undefined {
  const amount = typeof price === 'string' && price !== '' ? Number(price) : price
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? Number((amount * 1e6).toFixed(6)) : undefined
}

/** A whole number of tokens, where it is one. */
export function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}

/** A day, where it is one. */
export function day(value: unknown): string | undefined {
  return typeof value === 'string' && /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/.test(value) ? value : undefined
}

/** The day before which nothing is asked: from when prices hold whose day is not known. */
export const ALWAYS = '1970-01-01'

/** The members of an object that are there, in their order. */
export function present<Value extends object>(value: Value): { [Key in keyof Value]?: Exclude<Value[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never
}

/** One row of prices, where there is a price in it. */
export function pricesOf(row: Record<string, number | undefined>, when: Record<string, unknown>[] = []): PricesData[] | undefined {
  const meters = present(row)
  if (Object.keys(meters).length === 0 && when.length === 0) return undefined
  return [{ from: ALWAYS, ...meters, ...(when.length > 0 && { when }) }]
}
