// Keeps the digits of an application's own numbers: arguments, results and schemas of tools. JavaScript would change
// 12345678901234567890, 1.0 and 1e400, and a tool would act on another record. In JSON that is translated, such a number is
// a marked text while mappings have it, and becomes a number with its own digits again when it is written.

import { randomBytes } from 'node:crypto'
import { asPattern, textOf } from '../../core/text.js'
import { DEEPEST } from './depth.js'
import { endOfString } from './end-of-string.js'
import { forEachAt } from './scan.js'

/** A random mark that no client can send. If a mapping puts a number into a text, the mark is removed and the digits stay. */
const MARK = `#${randomBytes(12).toString('hex')}:`
const MARKED = new RegExp(`"${MARK}(-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)"`, 'g')

/** A text without a match has no number that would change; one with a match may have. */
const SUSPECT = /[\d.]{16}|\.\d*0(?!\d)|\.0{6}|\d[eE]|-0(?!\.?\d)|-0\.0*(?!\d)/
/** The next string or number. A pattern for whole strings would overflow the stack on long ones. */
const NEXT = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Most processes never see such a number, and skip the search for marks. */
let isInUse = false

/** A JSON text in which every number that would change is a marked text. */
export function keepDigits(json: string): string {
  if (!SUSPECT.test(json)) return json
  let kept = ''
  let from = 0
  NEXT.lastIndex = 0
  for (let found = NEXT.exec(json); found !== null; found = NEXT.exec(json)) {
    const [token] = found
    if (token === '"') {
      const end = endOfString(json, found.index)
      NEXT.lastIndex = end < 0 ? json.length : end
    } else if (String(Number(token)) !== token) {
      isInUse = true
      kept += `${json.slice(from, found.index)}"${MARK}${token}"`
      from = NEXT.lastIndex
    }
  }
  return from === 0 ? json : kept + json.slice(from)
}

/** JSON bytes as text, with the digits at some paths kept. `text` is the decoded text. */
export function keptText(bytes: Buffer, paths: readonly (readonly string[])[], text: string): string {
  return SUSPECT.test(text) ? textOf(keptAt(bytes, paths)) : text
}

/** The same for the values at some paths only (paths as for `forEachAt`); returns the same bytes if nothing changes. */
export function keepDigitsAt(bytes: Buffer, paths: readonly (readonly string[])[] | undefined): Buffer {
  return paths === undefined || !mayHold(textOf(bytes), paths) ? bytes : keptAt(bytes, paths)
}

function keptAt(bytes: Buffer, paths: readonly (readonly string[])[]): Buffer {
  const values: [start: number, end: number][] = []
  for (const path of paths) forEachAt(bytes, path, (start, end) => values.push([start, end]))
  values.sort(([left], [right]) => left - right)
  const pieces: (Buffer | string)[] = []
  let from = 0
  for (const [start, end] of values) {
    if (start < from) continue
    const value = textOf(bytes.subarray(start, end))
    const kept = keepDigits(value)
    if (kept === value) continue
    pieces.push(bytes.subarray(from, start), kept)
    from = end
  }
  if (from === 0) return bytes
  pieces.push(bytes.subarray(from))
  return Buffer.concat(pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}

/**
 * Whether a parsed value may have a number at one of some paths (as for `forEachAt`). Most have none, and looking there costs
 * far less than a search of the text.
 */
export function mayHoldNumberAt(value: unknown, paths: readonly (readonly string[])[]): boolean {
  let steps = stepsOf.get(paths)
  if (steps === undefined) {
    steps = stepsAlong(paths)
    stepsOf.set(paths, steps)
  }
  return holdsNumberOn(value, steps)
}

/** Paths with common beginnings, as a tree: the steps behind each name; undefined where a path ends. */
type Steps = readonly (readonly [name: string, behind: Steps | undefined])[]

const stepsOf = new WeakMap<readonly (readonly string[])[], Steps>()

function stepsAlong(paths: readonly (readonly string[])[]): Steps {
  return [...new Set(paths.map(([name]) => name as string))].map(name => {
    const behind = paths.filter(([first]) => first === name).map(([, ...rest]) => rest)
    return [name, behind.some(rest => rest.length === 0) ? undefined : stepsAlong(behind)]
  })
}

function holdsNumberOn(value: unknown, steps: Steps | undefined): boolean {
  if (steps === undefined) return holdsNumber(value, DEEPEST)
  if (typeof value !== 'object' || value === null) return false
  for (const [name, behind] of steps) {
    if (name !== '[]') {
      if (!Array.isArray(value) && holdsNumberOn((value as Record<string, unknown>)[name], behind)) return true
    } else if (!Array.isArray(value)) {
      if (holdsNumberOn(value, behind)) return true
    } else if (value.some(item => holdsNumberOn(item, behind))) return true
  }
  return false
}

/** Also true for a value of more levels, whose depth nobody has checked yet: this would overflow the stack. */
function holdsNumber(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'number'
  if (levels === 0) return true
  for (const key in value) if (holdsNumber((value as Record<string, unknown>)[key], levels - 1)) return true
  return false
}

/** Whether a JSON text may hold a number at one of some paths that would change. */
export function mayHold(json: string, paths: readonly (readonly string[])[]): boolean {
  let names = lastNames.get(paths)
  if (names === undefined) {
    const last = new Set(paths.map(path => `"${path.findLast(name => name !== '[]')}"`))
    names = new RegExp([...last].map(asPattern).join('|') || '(?!)')
    lastNames.set(paths, names)
  }
  return names.test(json) && SUSPECT.test(json)
}

/** Finds the last name of any path, as it appears in JSON. One pattern for all needs one pass. */
const lastNames = new WeakMap<readonly (readonly string[])[], RegExp>()

/** A JSON text with marked texts turned back into numbers. */
export function releaseDigits(json: string): string {
  if (!isInUse || !json.includes(MARK)) return json
  return json.replaceAll(MARKED, '$1').replaceAll(MARK, '')
}

/** A value whose marked texts are numbers again, as JavaScript has them; the same value if there are none. */
export function withNumbers<Value>(value: Value): Value {
  const text = isInUse ? JSON.stringify(value) : ''
  return text.includes(MARK) ? (JSON.parse(releaseDigits(text)) as Value) : value
}
