// JSON from bytes.

import { textOf } from '../../core/text.js'
import { keptText } from './digits.js'

/**
 * Throws the SyntaxError of `JSON.parse`. A byte order mark is passed over. Numbers at some paths keep their digits. `text` is
 * the bytes' own, where somebody has it.
 */
export function parseJson(bytes: Buffer, verbatim: readonly (readonly string[])[] | undefined, text = textOf(bytes)): unknown {
  return JSON.parse(withoutMark(keptText(bytes, verbatim, text)))
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}
