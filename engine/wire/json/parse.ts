// Parses JSON bytes.

import { textOf } from '../../core/text.js'
import { keptText } from './digits.js'

/**
 * Throws the SyntaxError of `JSON.parse`. Skips a byte order mark. Numbers at `verbatim` paths keep their digits. `text` is
 * the decoded text, if the caller has it.
 */
export function parseJson(bytes: Buffer, verbatim: readonly (readonly string[])[] | undefined, text = textOf(bytes)): unknown {
  return JSON.parse(withoutMark(keptText(bytes, verbatim, text)))
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}
