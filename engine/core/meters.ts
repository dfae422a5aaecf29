// The quantities that are counted of an exchange and priced, as schemas/config/meters.yaml describes them.

import type { Usage } from '../plan.js'

/** The members of a usage that are quantities. */
export type Count = Exclude<keyof Usage, Fact>
/** The members of a usage that select the price. */
export type Fact = 'tier' | 'region' | 'quality' | 'size' | 'resolution' | 'search_context'

export interface MeterFacts {
  member: Count
  /** The number of units that a price is for, unless the price says. */
  per: number
  /** The meter that includes these units. */
  parent?: string
  /** If others are priced and this one is not, it only measures the same thing; without it the cost would be unknown. */
  isMeasure?: true
}

const MILLION = 1e6

export const METERS: Readonly<Record<string, MeterFacts>> = {
  input: { member: 'input', per: MILLION },
  cached: { member: 'cached', per: MILLION, parent: 'input' },
  cache_write: { member: 'cacheWrite', per: MILLION, parent: 'input' },
  cache_write_1h: { member: 'cacheWrite1h', per: MILLION, parent: 'cache_write' },
  audio_input: { member: 'audioInput', per: MILLION, parent: 'input' },
  image_input: { member: 'imageInput', per: MILLION, parent: 'input' },
  output: { member: 'output', per: MILLION },
  reasoning: { member: 'reasoning', per: MILLION, parent: 'output' },
  audio_output: { member: 'audioOutput', per: MILLION, parent: 'output' },
  image_output: { member: 'imageOutput', per: MILLION, parent: 'output' },
  image: { member: 'image', per: 1, isMeasure: true },
  second: { member: 'second', per: 1, isMeasure: true },
  character: { member: 'character', per: MILLION, isMeasure: true },
  search: { member: 'search', per: 1 },
  page: { member: 'page', per: 1 },
  tool_call: { member: 'toolCall', per: 1 },
  request: { member: 'request', per: 1, isMeasure: true },
}

/**
 * Meters that most exchanges do not use, by their members. One that no other meter includes is reported even if it is 0,
 * because it may be the only one.
 */
export const RARE: ReadonlyMap<string, { name: string; isPart: boolean }> = new Map(
  Object.entries(METERS).flatMap(([name, { member, parent }]) =>
    ['input', 'output', 'cached', 'cache_write', 'reasoning'].includes(name)
      ? []
      : [[member, { name, isPart: parent !== undefined }] as const],
  ),
)

/** Marks a usage with a rare meter. As a symbol it is invisible to code that lists or copies a usage. */
const MORE = Symbol('more')

export function markRare(usage: Usage): void {
  Object.defineProperty(usage, MORE, { value: true })
}

/** Whether a usage has meters that most exchanges do not use. */
export function hasRare(usage: Usage): boolean {
  return (usage as { [MORE]?: true })[MORE] === true
}

/** The facts by their names in the data, which are those of their members. */
export const FACTS: ReadonlySet<string> = new Set<Fact>(['tier', 'region', 'quality', 'size', 'resolution', 'search_context'])
