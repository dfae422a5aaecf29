// The JSON text of a literal with only its values open: a value that is only serialised need never be an object.

import { elementAt } from './element.js'
import { type Js, joined, js, json, propertyKey } from './js.js'
import { ARR, argumentList, BOOL, isLasting, isLiteral, isNothing, NULL, NUM, OBJ, type Operand, partsOfCode, STR } from './types.js'
import type { Unit } from './unit.js'

/** The parts of an object by key, or of an array. */
interface Parts {
  keys: readonly string[] | undefined
  operands: readonly Operand[]
}

/**
 * Kept in a WeakMap and not in the operand: a copy of the operand is a different text, whose parts must not be evaluated
 * again.
 */
const notes = new WeakMap<Operand, Parts>()

/** JavaScript of an object with these members, without those known to be undefined. */
export function objectCode(keys: readonly string[], operands: readonly Operand[]): Js {
  const members = membersCode(keys, operands)
  return members.length > 0 ? js`{ ${joined(members, ', ')} }` : js`{}`
}

function membersCode(keys: readonly string[], operands: readonly Operand[]): Js[] {
  return operands.flatMap((operand, index) => (isNothing(operand) ? [] : [js`${propertyKey(elementAt(keys, index))}: ${operand.code}`]))
}

/** The text between the braces of an object literal. */
const insides = new WeakMap<Operand, Js>()

/** An object literal. */
export function objectLiteral(keys: readonly string[], operands: readonly Operand[], known: Partial<Operand>): Operand {
  const object: Operand = { code: objectCode(keys, operands), bits: OBJ, stable: false, ...known }
  const members = membersCode(keys, operands)
  if (members.length > 0) insides.set(object, joined(members, ', '))
  return object
}

/** JavaScript of the members of a non-empty object literal. */
export function insideOf(object: Operand): Js | undefined {
  return insides.get(object)
}

/** Notes the parts of an object literal. */
export function noteObject(object: Operand, keys: readonly string[], operands: readonly Operand[]): void {
  notes.set(object, { keys, operands })
}

/** The same for an array literal whose items always exist. */
export function noteArray(array: Operand, operands: readonly Operand[]): void {
  if (operands.every(isSure)) notes.set(array, { keys: undefined, operands })
}

/** The members of an object that was noted. */
export function partsOf(object: Operand): Map<string, Operand> | undefined {
  const note = notes.get(object)
  return note?.keys && new Map(note.keys.map((key, index) => [key, elementAt(note.operands, index)]))
}

/** JavaScript of the JSON text of an operand that exists only as text. A use of the value parses it. */
const texts = new WeakMap<Operand, Js>()

/** A value that exists only as JSON text. */
export function ofText(text: Js, { bits, shape }: Operand): Operand {
  const code = js`JSON.parse(${text})`
  const operand: Operand = { code, bits, stable: true, compound: code, clean: true, ...(shape && { shape }) }
  texts.set(operand, text)
  return operand
}

/** Whether its text always exists. */
function isSure(operand: Operand): boolean {
  return (operand.bits & ~(NULL | BOOL | NUM | STR | ARR | OBJ)) === 0
}

/** A literal whose parts have names, so that it may be evaluated later; undefined if it is not a literal. */
export function withNamedParts(operand: Operand, named: (part: Operand) => Operand): Operand | undefined {
  const note = notes.get(operand)
  if (note === undefined) return undefined
  const { keys } = note
  const operands = note.operands.map(part => (part.stable ? part : (withNamedParts(part, named) ?? named(part))))
  const code = keys ? objectCode(keys, operands) : js`[${argumentList(operands)}]`
  const result: Operand = { ...operand, code, compound: code }
  notes.set(result, { keys, operands })
  return result
}

type Piece = { text: string } | { value: Operand } | { member: Operand; before: string; after: string }

function piecesOf(operand: Operand): Piece[] {
  if (isLiteral(operand)) return [{ text: JSON.stringify(operand.literal) }]
  return piecesOfLiteral(operand) ?? [{ value: operand }]
}

function piecesOfLiteral(operand: Operand): Piece[] | undefined {
  const note = notes.get(operand)
  return note && (note.keys ? objectPieces(note.keys, note.operands) : arrayPieces(note.operands))
}

/**
 * An optional member brings its own comma, before or after, up to the first member that always exists; without such a
 * member the commas would depend on each other.
 */
function objectPieces(keys: readonly string[], operands: readonly Operand[]): Piece[] | undefined {
  const present = operands
    .map((operand, index) => ({ operand, key: `${JSON.stringify(keys[index])}:` }))
    .filter(({ operand }) => !isNothing(operand))
  const sure = present.findIndex(({ operand }) => isSure(operand))
  if (sure < 0 && present.length > 1) return undefined
  const pieces: Piece[] = [{ text: '{' }]
  present.forEach(({ operand, key }, index) => {
    if (isSure(operand)) pieces.push({ text: index === sure ? key : `,${key}` }, ...piecesOf(operand))
    else if (sure < 0) pieces.push({ member: operand, before: key, after: '' })
    else if (index < sure) pieces.push({ member: operand, before: key, after: ',' })
    else pieces.push({ member: operand, before: `,${key}`, after: '' })
  })
  pieces.push({ text: '}' })
  return pieces
}

function arrayPieces(operands: readonly Operand[]): Piece[] {
  return [
    { text: '[' },
    ...operands.flatMap((operand, index) => [...(index > 0 ? [{ text: ',' }] : []), ...piecesOf(operand)]),
    { text: ']' },
  ]
}

/** A part of a text: constant, or JavaScript that computes it. */
type Part = { text: string } | { code: Js }

/** JavaScript that returns the JSON text of a literal; undefined if it is not one. */
export function written(operand: Operand, unit: Unit): Js | undefined {
  const pieces = piecesOfLiteral(operand)
  if (pieces === undefined) return undefined
  const parts: Part[] = []
  for (let from = 0; from < pieces.length; ) {
    const run = seldomChanging(pieces, from)
    if (run > from) parts.push({ code: rememberedText(pieces.slice(from, run), unit) })
    else parts.push(...pieces.slice(from, from + 1).map(piece => textOf(piece, codeOf, unit)))
    from = Math.max(run, from + 1)
  }
  return sumOf(parts)
}

/** Concatenates the parts, with adjacent constants joined. */
function sumOf(parts: readonly Part[]): Js {
  const result: Part[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (last && 'text' in last && 'text' in part) result[result.length - 1] = { text: last.text + part.text }
    else result.push(part)
  }
  return joined(
    result.map(part => ('text' in part ? json(part.text) : part.code)),
    ' + ',
  )
}

type Value = Exclude<Piece, { text: string }>

const operandOf = (piece: Value): Operand => ('value' in piece ? piece.value : piece.member)
const codeOf = (piece: Value): Js => operandOf(piece).code

/** The text of a piece, where `code` is its value. */
function textOf(piece: Piece, code: (piece: Value) => Js, unit: Unit): Part {
  if ('text' in piece) return piece
  if ('value' in piece) return { code: texts.get(piece.value) ?? js`${unit.use('events', 'written')}(${code(piece)})` }
  return { code: js`${unit.use('events', 'writtenMember')}(${json(piece.before)}, ${code(piece)}, ${json(piece.after)})` }
}

/** The most values that one cache entry depends on. */
const MOST = 4

/**
 * The end of the run of pieces from an index that are the same in most events of a stream: values of the state, of `ctx`
 * and of `carry`, and the constants around them. The index itself if a cache would not pay.
 */
function seldomChanging(pieces: readonly Piece[], from: number): number {
  let values = 0
  let end = from
  for (const piece of pieces.slice(from)) {
    if (!('text' in piece)) {
      if (values === MOST || !isSlow(operandOf(piece))) break
      values++
    }
    end++
  }
  return values > 0 ? end : from
}

/** Whether a value consists only of members that last for the stream, and of constants. */
function isSlow(operand: Operand): boolean {
  if (isLasting(operand)) return operand.member !== undefined
  const parts = partsOfCode(operand)?.filter(part => !isConstant(part))
  return parts !== undefined && parts.length > 0 && parts.every(isSlow)
}

function isConstant(operand: Operand): boolean {
  if (isLiteral(operand)) return true
  return isNothing(operand) || partsOfCode(operand)?.every(isConstant) === true
}

/** A call of a function that rebuilds the text of such pieces only if one of their values has changed. */
function rememberedText(pieces: readonly Piece[], unit: Unit): Js {
  const values = pieces.filter((piece): piece is Value => !('text' in piece))
  const nameOf = (piece: Value): Js => js`value_${values.indexOf(piece) + 1}`
  const text = sumOf(pieces.map(piece => textOf(piece, nameOf, unit)))
  const make = js`(${joined(values.map(nameOf), ', ')}) => ${text}`
  const name = unit.constant('remembered_text', js`${unit.use('events', 'remembered')}(${make})`)
  return js`${name}(${joined(values.map(codeOf), ', ')})`
}
