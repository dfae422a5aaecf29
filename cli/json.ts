// JSON whose shape is not known yet.

/** The value of a text; `otherwise` if it is no JSON. */
export function jsonOr<Otherwise>(text: string, otherwise: Otherwise): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return otherwise
  }
}

/** The value of a text that is JSON, else the text. */
export function jsonOrText(text: string): unknown {
  return jsonOr(text, text)
}
