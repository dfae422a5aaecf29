// The JSON text of a literal, known in all but its values: what only goes out as text need never be an object.

import { ARR, BOOL, isLiteral, NULL, NUM, OBJ, type Operand, STR } from './types.js'
import { propertyKey } from './unit.js'

/** The parts of an object by their keys, or of an array. */
interface Parts {
  keys: readonly string[] | undefined
  operands: readonly Operand[]
}

/** Beside the operand, not in it: a copy of an operand is another text, whose parts must not be evaluated again. */
const notes = new WeakMap<Operand, Parts>()

/** Remembers what an object literal consists of. */
export function noteObject(object: Operand, keys: readonly string[], operands: readonly Operand[]): void {
  notes.set(object, { keys, operands })
}

/** The same for an array literal, each of whose items is there in any case. */
export function noteArray(array: Operand, operands: readonly Operand[]): void {
  if (operands.every(isSure)) notes.set(array, { keys: undefined, operands })
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
  const codes = operands.flatMap((part, index) =>
    part.code === 'undefined' ? [] : keys ? [`${propertyKey(keys[index] as string)}: ${part.code}`] : [part.code],
  )
  const code = keys ? (codes.length > 0 ? `{ ${codes.join(', ')} }` : '{}') : `[${codes.join(', ')}]`
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

/** JavaScript that gives the JSON text of a literal; nothing where it is none. `use` names a function at run time. */
export function written(operand: Operand, use: (name: 'written' | 'writtenMember') => string): string | undefined {
  const pieces = piecesOfLiteral(operand)
  if (pieces === undefined) return undefined
  const parts: string[] = []
  let text = ''
  const flush = (): void => {
    if (text !== '') parts.push(JSON.stringify(text))
    text = ''
  }
  for (const piece of pieces) {
    if ('text' in piece) {
      text += piece.text
      continue
    }
    flush()
    parts.push(
      'value' in piece
        ? `${use('written')}(${piece.value.code})`
        : `${use('writtenMember')}(${JSON.stringify(piece.before)}, ${piece.member.code}, ${JSON.stringify(piece.after)})`,
    )
  }
  flush()
  return parts.join(' + ')
}
