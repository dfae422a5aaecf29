// The JSON text of a literal, known in all but its values: what only goes out as text need never be an object.

import { ARR, BOOL, isLiteral, NULL, NUM, OBJ, type Operand, STR } from './types.js'
import { propertyKey, type Unit } from './unit.js'

/** The parts of an object by their keys, or of an array. */
interface Parts {
  keys: readonly string[] | undefined
  operands: readonly Operand[]
}

/** Beside the operand, not in it: a copy of an operand is another text, whose parts must not be evaluated again. */
const notes = new WeakMap<Operand, Parts>()

/** JavaScript of an object with these members, but for those of which it is known that they are nothing. */
export function objectCode(keys: readonly string[], operands: readonly Operand[]): string {
  const members = operands.flatMap(({ code }, index) => (code === 'undefined' ? [] : [`${propertyKey(keys[index] as string)}: ${code}`]))
  return members.length > 0 ? `{ ${members.join(', ')} }` : '{}'
}

/** Remembers what an object literal consists of. */
export function noteObject(object: Operand, keys: readonly string[], operands: readonly Operand[]): void {
  notes.set(object, { keys, operands })
}

/** The same for an array literal, each of whose items is there in any case. */
export function noteArray(array: Operand, operands: readonly Operand[]): void {
  if (operands.every(isSure)) notes.set(array, { keys: undefined, operands })
}

/** The members of an object that was noted. */
export function partsOf(object: Operand): Map<string, Operand> | undefined {
  const { keys, operands } = notes.get(object) ?? {}
  return keys && new Map(keys.map((key, index) => [key, operands?.[index] as Operand]))
}

/** JavaScript of the JSON text of an operand, where there is one already. Who asks for the value itself gets it from that. */
const texts = new WeakMap<Operand, string>()

/** A value of which there is only the JSON text. */
export function ofText(text: string, { bits, shape }: Operand): Operand {
  const operand: Operand = { code: `JSON.parse(${text})`, bits, stable: true, clean: true, ...(shape && { shape }) }
  texts.set(operand, text)
  return operand
}

/** Whether there is a text of it in any case. */
function isSure(operand: Operand): boolean {
  return (operand.bits & ~(NULL | BOOL | NUM | STR | ARR | OBJ)) === 0
}

/** A literal whose parts have names, so that it may be evaluated later; nothing where it is none. */
export function withNamedParts(operand: Operand, named: (part: Operand) => Operand): Operand | undefined {
  const note = notes.get(operand)
  if (note === undefined) return undefined
  const { keys } = note
  const operands = note.operands.map(part => (part.stable ? part : (withNamedParts(part, named) ?? named(part))))
  const code = keys ? objectCode(keys, operands) : `[${operands.map(part => part.code).join(', ')}]`
  const result: Operand = { ...operand, code }
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
 * A member that may be absent brings the comma along that stands between it and the first one that is there in any case;
 * without such a one the commas would depend on each other.
 */
function objectPieces(keys: readonly string[], operands: readonly Operand[]): Piece[] | undefined {
  const present = operands
    .map((operand, index) => ({ operand, key: `${JSON.stringify(keys[index])}:` }))
    .filter(({ operand }) => operand.code !== 'undefined')
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

/** JavaScript that gives the JSON text of a literal; nothing where it is none. */
export function written(operand: Operand, unit: Unit): string | undefined {
  const pieces = piecesOfLiteral(operand)
  if (pieces === undefined) return undefined
  const parts: string[] = []
  for (let from = 0; from < pieces.length; ) {
    const run = seldomChanging(pieces, from)
    if (run > from) parts.push(rememberedText(pieces.slice(from, run), unit))
    else parts.push(...textOf(pieces.slice(from, from + 1), codeOf, unit))
    from = Math.max(run, from + 1)
  }
  return joined(parts)
}

/** Adjacent constants as one. */
function joined(parts: readonly string[]): string {
  const result: string[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (last?.startsWith('"') && part.startsWith('"')) result[result.length - 1] = JSON.stringify(JSON.parse(last) + JSON.parse(part))
    else result.push(part)
  }
  return result.join(' + ')
}

type Value = Exclude<Piece, { text: string }>

const operandOf = (piece: Value): Operand => ('value' in piece ? piece.value : piece.member)
const codeOf = (piece: Value): string => operandOf(piece).code

/** The text of each piece, where `code` gives its value. */
function textOf(pieces: readonly Piece[], code: (piece: Value) => string, unit: Unit): string[] {
  return pieces.map(piece => {
    if ('text' in piece) return JSON.stringify(piece.text)
    if ('value' in piece) return texts.get(piece.value) ?? `${unit.use('events', 'written')}(${code(piece)})`
    return `${unit.use('events', 'writtenMember')}(${JSON.stringify(piece.before)}, ${code(piece)}, ${JSON.stringify(piece.after)})`
  })
}

/** So many values can be remembered together. */
const MOST = 4

/**
 * The end of the pieces from one on that are the same in most events of a stream: what stands in the state, in `ctx` and
 * in `carry`, and the constants around it. The same place where they are not worth remembering.
 */
function seldomChanging(pieces: readonly Piece[], from: number): number {
  let values = 0
  let end = from
  while (end < pieces.length) {
    const piece = pieces[end] as Piece
    if (!('text' in piece)) {
      if (values === MOST || !isSlow(operandOf(piece))) break
      values++
    }
    end++
  }
  return values > 0 ? end : from
}

/** Whether a value is made of nothing but what lasts. */
function isSlow({ code }: Operand): boolean {
  const left = code.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').replaceAll(/\b(?:state|ctx|carry)(?:\.[A-Za-z_$][\w$]*)+/g, '_')
  return left.includes('_') && /^[\s()!?:=&|+_]*$/.test(left.replaceAll(/\b(?:undefined|null|true|false)\b/g, ''))
}

/** A call of a function that makes the text of such pieces anew only where one of their values is another. */
function rememberedText(pieces: readonly Piece[], unit: Unit): string {
  const values = pieces.filter((piece): piece is Value => !('text' in piece))
  const names = new Map(values.map((piece, index) => [piece, `value_${index + 1}`]))
  const text = joined(textOf(pieces, piece => names.get(piece) as string, unit))
  const make = `(${[...names.values()].join(', ')}) => ${text}`
  const name = unit.constant('remembered_text', `${unit.use('events', 'remembered')}(${make})`)
  return `${name}(${values.map(codeOf).join(', ')})`
}
