// JSON whose shape is not known yet.

import { jsonOr } from '../engine/wire/json/parse.js'

/** The value of a text that is JSON, else the text. */
export function jsonOrText(text: string): unknown {
  return jsonOr(text, text)
}
