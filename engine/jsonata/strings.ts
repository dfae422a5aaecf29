// JSONata's built-ins over strings, without regular expressions. Characters are code points.

import { ExpressionError, isFunction, type Sequence } from './sequence.js'

type Text = string | undefined

/** A surrogate pair: without one, code units are characters and no array of characters is needed. */
const PAIR = /[\ud800-\udbff][\udc00-\udfff]/

/** Any value as a string: JSON, with numbers at 15 significant digits and functions as "". */
export function string(value: unknown, pretty = false): Text {
  switch (typeof value) {
    case 'undefined':
    case 'string':
      return value
    case 'boolean':
      return value ? 'true' : 'false'
    case 'function':
      return ''
    case 'number':
      if (Number.isInteger(value)) return String(value)
      if (!Number.isFinite(value)) throw new ExpressionError('D3001', { value })
      return String(rounded(value))
  }
  const whole: unknown = Array.isArray(value) && (value as Sequence).outerWrapper ? value[0] : value
  const space = pretty ? 2 : 0
  // A replacer makes JSON.stringify slower, and there is seldom anything to replace.
  return isPlain(whole) ? JSON.stringify(whole, null, space) : JSON.stringify(whole, plain, space)
}

function rounded(value: number): number {
  return Number(value.toPrecision(15))
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'number' && Number.isFinite(value) && !Number.isInteger(value)) return rounded(value)
  return isFunction(value) ? '' : value
}

function isPlain(value: unknown): boolean {
  switch (typeof value) {
    case 'number':
      if (Number.isInteger(value)) return true
      if (value === Infinity || value === -Infinity) throw new ExpressionError('D1001', { value })
      return Number.isNaN(value) || rounded(value) === value
    case 'function':
      return false
    case 'object': {
      if (value === null) return true
      // Checks everything: a number out of range is an error wherever it is.
      let result = true
      if (Array.isArray(value)) {
        for (const item of value) if (!isPlain(item)) result = false
      } else {
        for (const key in value) if (!isPlain((value as Record<string, unknown>)[key])) result = false
      }
      return result
    }
    default:
      return true
  }
}

export function length(text: Text): number | undefined {
  if (text === undefined) return undefined
  if (text.length >= LONG) return charactersOf(text).count
  return PAIR.test(text) ? Array.from(text).length : text.length
}

/**
 * Characters from which the character positions of a text are cached within one evaluation: callers often take many pieces
 * of one text.
 */
const LONG = 4096
/** The distance between characters with a recorded position. */
const STRIDE = 512

interface Characters {
  text: string
  count: number
  /** The positions of every STRIDE-th character; undefined if each character is one code unit. */
  offsets: number[] | undefined
}

let characters: Characters | undefined

function charactersOf(text: string): Characters {
  if (characters?.text === text) return characters
  if (characters === undefined)
    queueMicrotask(() => {
      characters = undefined
    })
  characters = PAIR.test(text) ? withOffsets(text) : { text, count: text.length, offsets: undefined }
  return characters
}

function withOffsets(text: string): Characters {
  const offsets: number[] = []
  let count = 0
  for (let unit = 0; unit < text.length; count++) {
    if (count % STRIDE === 0) offsets.push(unit)
    unit += unitsAt(text, unit)
  }
  return { text, count, offsets }
}

/** The number of code units of the character at an offset. */
function unitsAt(text: string, unit: number): number {
  return (text.codePointAt(unit) as number) > 0xffff ? 2 : 1
}

/** The offset at which a character of a text begins. */
function unitOf({ text, count, offsets }: Characters, character: number): number {
  const wanted = Math.min(Math.max(character, 0), count)
  if (offsets === undefined || wanted === count) return offsets === undefined ? wanted : text.length
  let unit = offsets[Math.floor(wanted / STRIDE)] as number
  for (let left = wanted % STRIDE; left > 0; left--) unit += unitsAt(text, unit)
  return unit
}

/** Like `slice`, but counts characters. */
function sliced(text: string, from: number, to: number | undefined): string {
  const known = charactersOf(text)
  const offsetOf = (at: number): number => {
    const whole = Number.isNaN(at) ? 0 : Math.trunc(at)
    return whole < 0 ? Math.max(known.count + whole, 0) : whole
  }
  const [begin, end] = [offsetOf(from), to === undefined ? known.count : offsetOf(to)]
  return begin < end ? text.slice(unitOf(known, begin), unitOf(known, end)) : ''
}

export function substring(text: Text, start: number | undefined, count?: number): Text {
  if (text === undefined) return undefined
  const isLong = text.length >= LONG
  const list = !isLong && PAIR.test(text) ? Array.from(text) : text
  const size = isLong ? charactersOf(text).count : list.length
  let from = start as number // arithmetic with an absent start is NaN, which slices to ""
  if (size + from < 0) from = 0
  let to: number | undefined
  if (count !== undefined) {
    if (count <= 0) return ''
    to = from >= 0 ? from + count : size + from + count
  }
  if (isLong) return sliced(text, from, to)
  return typeof list === 'string' ? list.slice(from, to) : list.slice(from, to).join('')
}

export function substringBefore(text: Text, mark: Text): Text {
  if (text === undefined) return undefined
  const position = text.indexOf(mark as string)
  return position < 0 ? text : text.slice(0, position)
}

export function substringAfter(text: Text, mark: Text): Text {
  if (text === undefined) return undefined
  const position = text.indexOf(mark as string)
  return position < 0 ? text : text.slice(position + (mark as string).length)
}

export function lowercase(text: Text): Text {
  return text?.toLowerCase()
}

export function uppercase(text: Text): Text {
  return text?.toUpperCase()
}

/** Folds each run of white space into one blank and drops it at both ends. */
export function trim(text: Text): Text {
  if (text === undefined) return undefined
  const folded = text.replace(/[ \t\n\r]+/g, ' ')
  const from = folded.startsWith(' ') ? 1 : 0
  return folded.slice(from, folded.length > from && folded.endsWith(' ') ? -1 : undefined)
}

/** Pads on the right to a positive width, on the left to a negative one. */
export function pad(text: Text, width: number | undefined, filling?: string): Text {
  if (text === undefined) return undefined
  const missing = Math.abs(Math.trunc(width as number)) - (length(text) as number)
  if (!(missing > 0)) return text
  const padding = substring((filling || ' ').repeat(missing), 0, missing) as string
  return (width as number) > 0 ? text + padding : padding + text
}

export function join(texts: readonly string[] | undefined, separator = ''): Text {
  if (texts === undefined) return undefined
  // Most lists hold one text. A single item that is not a text gets here if the arguments were not checked.
  return texts.length === 1 && typeof texts[0] === 'string' ? texts[0] : texts.join(separator)
}

export function base64encode(text: Text): Text {
  return text === undefined ? undefined : Buffer.from(text, 'latin1').toString('base64')
}

export function base64decode(text: Text): Text {
  return text === undefined ? undefined : Buffer.from(text, 'base64').toString('latin1')
}

export function encodeUrlComponent(text: Text): Text {
  return url('encodeUrlComponent', encodeURIComponent, text)
}

export function encodeUrl(text: Text): Text {
  return url('encodeUrl', encodeURI, text)
}

export function decodeUrlComponent(text: Text): Text {
  return url('decodeUrlComponent', decodeURIComponent, text)
}

export function decodeUrl(text: Text): Text {
  return url('decodeUrl', decodeURI, text)
}

function url(functionName: string, convert: (text: string) => string, text: Text): Text {
  if (text === undefined) return undefined
  try {
    return convert(text)
  } catch {
    const message = `Malformed URL passed to $${functionName}(): ${JSON.stringify(text)}`
    throw new ExpressionError('D3140', { value: text, functionName, message })
  }
}
