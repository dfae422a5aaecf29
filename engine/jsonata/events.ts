// The output of a reducer: a list with two texts for each event, the name on its event line ('' if the dialect's events
// have none) and its JSON.

/** Characters up to which a loop, and up to which a pattern, is the fastest check for characters to escape. */
const SHORT = 48
const LONG = 512
const PLAIN = /^[^"\\\u0000-\u001f\ud800-\udfff]*$/

function isPlain(text: string): boolean {
  if (text.length > SHORT) return text.length < LONG && PLAIN.test(text)
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff)) return false
  }
  return true
}

/** The JSON text of a value other than undefined. */
export function written(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return isPlain(value) ? `"${value}"` : JSON.stringify(value)
    case 'number':
      return Number.isFinite(value) ? `${value}` : 'null'
    case 'object':
      return Array.isArray(value) && value.length === 0 ? '[]' : JSON.stringify(value)
    default:
      return JSON.stringify(value)
  }
}

/** A member of an object, if it has a value: `before` ends with its key; the other parts are JSON already. */
export function writtenMember(before: string, value: unknown, after: string): string {
  const text = value === undefined ? undefined : (written(value) as string | undefined)
  return text === undefined ? '' : before + text + after
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/**
 * Caches a text made of values that seldom change between events: the same values return the same text. The second use
 * flattens the text, which is cheaper to write than a concatenation.
 */
export function remembered(make: (...values: unknown[]) => string): (...values: unknown[]) => string {
  let [first, second, third, fourth]: unknown[] = []
  let text: string | undefined
  let isOnePiece = false
  return (one, two, three, four) => {
    if (text === undefined || one !== first || two !== second || three !== third || four !== fourth) {
      const made = make(one, two, three, four)
      // The object may have been changed in place.
      if (isObject(one) || isObject(two) || isObject(three) || isObject(four)) return made
      first = one
      second = two
      third = three
      fourth = four
      isOnePiece = false
      text = made
    } else if (!isOnePiece) {
      isOnePiece = true
      text = Buffer.from(text).toString()
    }
    return text
  }
}

/** Appends an event, or each of a list; `line` is the member that names its kind. */
export function pushEvents(out: string[], value: unknown, line: string | undefined): void {
  if (value === undefined) return
  if (!Array.isArray(value)) pushEvent(out, value, line)
  else for (let index = 0; index < value.length; index++) pushEvent(out, value[index], line)
}

function pushEvent(out: string[], event: unknown, line: string | undefined): void {
  out.push(line === undefined ? '' : String((event as Record<string, unknown>)[line]), JSON.stringify(event))
}
