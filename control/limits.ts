// Limits in the store, in their written form: `{ requests: ['60/1m'], in_flight: 4 }`.

import { sameWindows } from '../engine/limits/rate-text.js'
import { Problem } from './problem.js'

export interface WrittenLimits {
  requests?: string[]
  tokens?: string[]
  input_tokens?: string[]
  output_tokens?: string[]
  in_flight?: number
}

/** The limits in a column; null if there are none. */
export function writtenLimits(text: string | null): WrittenLimits | null {
  return text === null ? null : (JSON.parse(text) as WrittenLimits)
}

/** The column of limits; null if there are none. */
export function limitsColumn(limits: WrittenLimits | null): string | null {
  return limits === null || Object.keys(limits).length === 0 ? null : JSON.stringify(limits)
}

/** Throws if two of one kind have the same window. */
export function checkLimits(limits: WrittenLimits | null | undefined): void {
  const [first] = sameWindows(limits ?? {})
  if (first) throw new Problem(422, 'window', `Two limits of ${first.name} are for the same window.`, 'limits')
}
