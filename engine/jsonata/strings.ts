// JSONata's built-ins over strings, without regular expressions. Characters are code points.

import { ExpressionError, isFunction, type Sequence } from './sequence.js'

type Text = string | undefined

/** A pair of surrogates: without one, code units are characters and no array of them is needed. */
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
  // A replacer makes JSON.stringify slower, and seldom is anything there to replace.
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
      // No early end: a number out of range is an error wherever it is.
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
  return PAIR.test(text) ? Array.from(text).length : text.length
}

export function substring(text: Text, start: number | undefined, count?: number): Text {
  if (text === undefined) return undefined
  const characters = PAIR.test(text) ? Array.from(text) : text
  const size = characters.length
  let from = start as number // arithmetic with an absent start is NaN, which slices to ""
  if (size + from < 0) from = 0
  let to: number | undefined
  if (count !== undefined) {
    if (count <= 0) return ''
    to = from >= 0 ? from + count : size + from + count
  }
  return typeof characters === 'string' ? characters.slice(from, to) : characters.slice(from, to).join('')
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
  // Most lists hold one text. What is no text gets here where nobody checked the arguments.
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
