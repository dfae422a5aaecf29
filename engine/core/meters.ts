// What is counted of an exchange, and priced: as schemas/config/meters.yaml describes it.

import type { Usage } from '../plan.js'

/** The members of a usage that are counts. */
export type Count = Exclude<keyof Usage, Fact>
/** The members of a usage that say what kind of exchange it was: which price is in force. */
export type Fact = 'tier' | 'region' | 'quality' | 'size' | 'resolution'

export interface MeterFacts {
  member: Count
  /** How many units a price is for where it does not say so itself. */
  per: number
  /** The meter that counts these units, too. */
  parent?: string
  /** Where others are priced, and this is not, it is one of their measures; else nobody knows what it costs. */
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

/** Meters that most exchanges have nothing of, by their members. What is no part of another is told though it is 0: it may be all there is. */
export const RARE: ReadonlyMap<string, { name: string; isPart: boolean }> = new Map(
  Object.entries(METERS).flatMap(([name, { member, parent }]) =>
    ['input', 'output', 'cached', 'cache_write', 'reasoning'].includes(name)
      ? []
      : [[member, { name, isPart: parent !== undefined }] as const],
  ),
)

/** Marks a usage that tells of a rare meter. It is no figure: a log does not show it, and copies keep it. */
const MORE = Symbol('more')

export function markRare(usage: Usage): void {
  ;(usage as { [MORE]?: true })[MORE] = true
}

/** Whether a usage tells of meters that most exchanges have nothing of. */
export function hasRare(usage: Usage): boolean {
  return (usage as { [MORE]?: true })[MORE] === true
}

/** The facts by their names in the data, which are those of their members. */
export const FACTS: ReadonlySet<string> = new Set<Fact>(['tier', 'region', 'quality', 'size', 'resolution'])
