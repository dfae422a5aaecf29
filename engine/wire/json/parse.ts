// Parses JSON bytes.

import { textOf } from '../../core/text.js'
import { keptText, mayHoldNumberAt } from './digits.js'

/**
 * Throws the SyntaxError of `JSON.parse`. Skips a byte order mark. Numbers at `verbatim` paths keep their digits. `text` is
 * the decoded text, if the caller has it.
 */
export function parseJson(bytes: Buffer, verbatim: readonly (readonly string[])[] | undefined, text = textOf(bytes)): unknown {
  const value = JSON.parse(withoutMark(text))
  if (verbatim === undefined || !mayHoldNumberAt(value, verbatim)) return value
  const kept = keptText(bytes, verbatim, text)
  return kept === text ? value : JSON.parse(withoutMark(kept))
}

/** The value of a text; `otherwise` if it is no JSON. */
export function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}
