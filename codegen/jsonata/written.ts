// The JSON text of a literal, known in all but its values: what only goes out as text need never be an object.

import { ARR, BOOL, FUN, isLiteral, NULL, NUM, OBJ, type Operand, STR, UNDEF } from './types.js'

type Piece = { text: string } | { value: Operand } | { member: Operand; before: string; after: string }

/** Beside the operand, not in it: a copy of an operand is another text, whose parts must not be evaluated again. */
const pieces = new WeakMap<Operand, Piece[]>()

/**
 * Remembers how an object is written. A member that may be absent brings the comma along that stands between it and the
 * first one that is there in any case; without such a one the commas would depend on each other.
 */
export function noteObject(object: Operand, keys: readonly string[], operands: readonly Operand[]): void {
  const all: Piece[] = [{ text: '{' }]
  const present = operands
    .map((operand, index) => ({ operand, key: `${JSON.stringify(keys[index])}:` }))
    .filter(({ operand }) => operand.code !== 'undefined')
  const sure = present.findIndex(({ operand }) => isSure(operand))
  if (sure < 0 && present.length > 1) return
  present.forEach(({ operand, key }, index) => {
    if (present.length === 1 && sure < 0) all.push({ member: operand, before: key, after: '' })
    else if (index < sure) all.push({ member: operand, before: key, after: ',' })
    else if (!isSure(operand)) all.push({ member: operand, before: `,${key}`, after: '' })
    else all.push({ text: index === sure ? key : `,${key}` }, ...piecesOf(operand))
  })
  all.push({ text: '}' })
  pieces.set(object, all)
}

/** The same for an array, each of whose items is one. */
export function noteArray(array: Operand, operands: readonly Operand[]): void {
  if (!operands.every(isSure)) return
  const all: Piece[] = [{ text: '[' }]
  operands.forEach((operand, index) => {
    if (index > 0) all.push({ text: ',' })
    all.push(...piecesOf(operand))
  })
  all.push({ text: ']' })
  pieces.set(array, all)
}

/** Whether there is a text of it in any case. */
function isSure(operand: Operand): boolean {
  return (operand.bits & ~(NULL | BOOL | NUM | STR | ARR | OBJ)) === 0 && (operand.bits & (UNDEF | FUN)) === 0
}

function piecesOf(operand: Operand): Piece[] {
  if (isLiteral(operand)) return [{ text: JSON.stringify(operand.literal) }]
  return pieces.get(operand) ?? [{ value: operand }]
}

/** JavaScript that gives the JSON text of an operand; nothing where it has not been remembered. `use` names a function at run time. */
export function written(operand: Operand, use: (name: 'written' | 'writtenMember') => string): string | undefined {
  const all = pieces.get(operand)
  if (all === undefined) return undefined
  const parts: string[] = []
  let text = ''
  const flush = (): void => {
    if (text !== '') parts.push(JSON.stringify(text))
    text = ''
  }
  for (const piece of all) {
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
