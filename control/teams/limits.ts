// Limits in the store, as they are written: `{ requests: ['60/1m'], in_flight: 4 }`.

import { sameWindows } from '../../engine/limits/written.js'
import { Problem } from '../problem.js'

export interface WrittenLimits {
  requests?: string[]
  tokens?: string[]
  input_tokens?: string[]
  output_tokens?: string[]
  in_flight?: number
}

/** Those in a column; null where there are none. */
export function writtenLimits(text: string | null): WrittenLimits | null {
  return text === null ? null : (JSON.parse(text) as WrittenLimits)
}

/** Throws where two of one kind are for the same window. */
export function checkLimits(limits: WrittenLimits | null | undefined): void {
  const [first] = sameWindows(limits ?? {})
  if (first) throw new Problem(422, 'window', `Two limits of ${first.name} are for the same window.`, 'limits')
}
