// JSON from bytes.

import { textOf } from '../../core/text.js'
import { keepDigitsAt, mayHold } from './digits.js'

/**
 * Throws the SyntaxError of `JSON.parse`. A byte order mark is passed over. Numbers at some paths keep their digits. `text` is
 * the bytes' own, where somebody has it.
 */
export function parseJson(bytes: Buffer, verbatim: readonly (readonly string[])[] | undefined, text = textOf(bytes)): unknown {
  if (verbatim && mayHold(text, verbatim)) return JSON.parse(withoutMark(textOf(keepDigitsAt(bytes, verbatim))))
  return JSON.parse(withoutMark(text))
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}
