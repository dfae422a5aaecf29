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

/** The facts by their names in the data, which are those of their members. */
export const FACTS: ReadonlySet<string> = new Set<Fact>(['tier', 'region', 'quality', 'size', 'resolution'])
