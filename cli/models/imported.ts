// The models of an imported table in our form, and what could not be converted.

import type { PricesData, WrittenModel } from '../../codegen/read/catalogue-data.js'
import { beginningOf } from '../../engine/core/durations.js'

/** A provider's names in tables, by our name. */
export type TableNames = ReadonlyMap<string, readonly string[]>

export interface ImportedModel {
  /** Our name of the provider. */
  provider: string
  name: string
  data: WrittenModel
}

/** `lost`: there is no equivalent. `odd`: the table contradicts itself; the note says what was used. */
export interface Note {
  kind: 'lost' | 'odd'
  /** The subject: a field of the table, or a model. */
  what: string
  detail: string
}

export interface Imported {
  models: ImportedModel[]
  notes: Note[]
}

/** The price for a million from the price for one, rounded to whole pico-units for one; undefined if there is none. */
export function perMillion(price: unknown): number | undefined {
  const amount = typeof price === 'string' && price !== '' ? Number(price) : price
  return typeof amount === 'number' && Number.isFinite(amount) && amount >= 0 ? Number((amount * 1e6).toFixed(6)) : undefined
}

/** A whole number of tokens; undefined for anything else. */
export function tokens(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined
}

/** A day; undefined for anything else. */
export function day(value: unknown): string | undefined {
  return typeof value === 'string' && beginningOf(value) !== undefined ? value : undefined
}

/** The first day of prices whose real first day is unknown. */
export const ALWAYS = '1970-01-01'

/** The defined members of an object, in order. */
export function present<Value extends object>(value: Value): { [Key in keyof Value]?: Exclude<Value[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as never
}

/** An entry made of the row of a table, without undefined members. Its words are those of the table: the grammar checks them when the file is read. */
export function unchecked(data: { [Key in keyof WrittenModel]: unknown }): WrittenModel {
  return present(data) as WrittenModel
}

/** The kinds in a list, by the names that a table has for them; undefined for none. */
export function kindsOf(list: readonly string[] | undefined, names: Readonly<Record<string, string>>): string[] | undefined {
  const known = Object.entries(names).flatMap(([theirs, ours]) => (list?.includes(theirs) ? [ours] : []))
  return known.length > 0 ? known : undefined
}

/** The traits of a model that takes nothing but some kinds in conversations, by a list of all of them; none without a list. */
export function refusedMedia(kinds: readonly string[] | undefined): Partial<Record<'images' | 'audio' | 'video', false>> {
  const traits = { images: 'image', audio: 'audio', video: 'video' } as const
  return Object.fromEntries(
    Object.entries(traits).flatMap(([trait, kind]) => (kinds === undefined || kinds.includes(kind) ? [] : [[trait, false]])),
  )
}

/** One row of prices, if it has any price. */
export function pricesOf(row: Record<string, number | undefined>, when: PricesData['when'] = []): PricesData[] | undefined {
  const meters = present(row)
  if (Object.keys(meters).length === 0 && when.length === 0) return undefined
  return [{ from: ALWAYS, ...meters, ...(when.length > 0 && { when }) }]
}
