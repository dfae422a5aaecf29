// What a reducer gives: in a list of texts two for each event, the name on its event line ('' where the dialect's events
// have none) and its JSON.

/** To this length a loop is the fastest to see whether there is anything to escape, and to this one a pattern. */
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

/** The JSON text of a value that has one. */
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

/** A member of an object, if it has a value: `before` ends with its key, and what is in either of them is in JSON. */
export function writtenMember(before: string, value: unknown, after: string): string {
  const text = value === undefined ? undefined : (written(value) as string | undefined)
  return text === undefined ? '' : before + text + after
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/**
 * Text made of values that seldom change between one event and the next: the same values give the text that there is.
 * Once it has been asked for again it is one piece, which costs less to write than what it was put together of.
 */
export function remembered(make: (...values: unknown[]) => string): (...values: unknown[]) => string {
  let [first, second, third, fourth]: unknown[] = []
  let text: string | undefined
  let isOnePiece = false
  return (one, two, three, four) => {
    if (text === undefined || one !== first || two !== second || three !== third || four !== fourth) {
      const made = make(one, two, three, four)
      // The same object may have become another.
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

/** Adds an event, or each of a list; `line` is the member that names its kind. */
export function pushEvents(out: string[], value: unknown, line: string | undefined): void {
  if (value === undefined) return
  if (!Array.isArray(value)) pushEvent(out, value, line)
  else for (let index = 0; index < value.length; index++) pushEvent(out, value[index], line)
}

function pushEvent(out: string[], event: unknown, line: string | undefined): void {
  out.push(line === undefined ? '' : String((event as Record<string, unknown>)[line]), JSON.stringify(event))
}
