// The compiler's facts about a value: the kinds that it may have (a bit each) and, from a schema, its members.

import { type Js, joined, js, json } from './js.js'

export const UNDEF = 1
export const NULL = 2
export const STR = 4
export const NUM = 8
export const BOOL = 16
export const ARR = 32
export const OBJ = 64
export const FUN = 128
export const ANY = 255
/** Kinds for which truth in JavaScript and in JSONata agree. */
export const PLAIN = UNDEF | NULL | STR | NUM | BOOL

/** Facts by the JavaScript text of a value: the kinds that it may still have, and the branch of its union. */
export type Facts = ReadonlyMap<Js, Fact>

export interface Fact {
  bits: number
  shape?: Shape
}

/** A value's shape by its schema. Unlisted members are unknown. */
export interface Shape {
  bits: number
  members?: Map<string, Shape>
  /** The shape of unlisted members; undefined: anything. */
  rest?: Shape
  items?: Shape
  /** The values of a string enumeration. */
  values?: string[]
  /** For a discriminated union: the discriminator, and the branch for each of its values. */
  by?: string
  branches?: Map<string, Shape>
  /** The shapes of a choice (`anyOf`), each with what is known of it alone. */
  alternatives?: readonly Shape[]
  /** It has no other members. */
  closed?: boolean
  /** For a member: it contains no array that would collapse. */
  clean?: boolean
  /** Its schema lists its members: others may occur, but reading one is a mistake. */
  isNamed?: boolean
  /** The rule that such a mistake breaks, and what is said before the name of the member, in place of what is said of a schema. */
  missing?: { rule: string; words: string }
}

export const UNKNOWN: Shape = { bits: ANY }

/** The JavaScript text of a value, and the facts about it. */
export interface Operand {
  code: Js
  bits: number
  shape?: Shape
  /** The text may be evaluated later, or twice, with the same result and no side effect: a literal or a constant's name. */
  stable: boolean
  /** It may be a sequence that is not collapsed yet. */
  raw?: boolean
  /** It may collapse to a value that is itself a sequence, which the next user has to collapse. */
  nested?: boolean
  /** It contains no array that would collapse: it came from JSON, or JSONata made it with two members or more. */
  clean?: boolean
  /** The literal, if it is one. */
  literal?: unknown
  /** It is the `$type` of this operand. */
  typeOf?: Operand
  /** Its own text, if that reads members of a constant by name: it has the same value everywhere. */
  chain?: Js
  /** Its own text, if that is stable and more than a name. */
  compound?: Js
  /** Its own text, if its value lasts for a whole stream, or is a member of such a value. */
  lasting?: Js
  /** Its own text, if that is the name of a variable that may be reassigned. */
  read?: Js
  /** The operands in its text, if there is nothing but operators around them. */
  made?: { code: Js; of: readonly Operand[] }
  /** Its members, if it is an object that is not made where only its members are read: another one is undefined. */
  parts?: ReadonlyMap<string, Operand>
  /** It is a member of this operand. */
  member?: { of: Operand; name: string }
  /** It is a function with these results, whatever its arguments. */
  returns?: Result
  /** The facts in the branch where it is true, and where it is not. */
  whereTrue?: Facts
  whereFalse?: Facts
  /** JavaScript of a plain array that nothing else refers to, with the items of a raw sequence. */
  list?: Js
  /** It is undefined, one of these, or an array of them; none of them is an array. */
  each?: Each
  /** JavaScript of a plain array with its items, to be read only. */
  items?: Js
}

/** The facts about the results of a function. */
export type Result = Pick<Operand, 'bits' | 'shape' | 'raw' | 'nested' | 'clean'>

/** The facts about an operand that still hold outside of its function. */
export function resultOf({ bits, shape, raw, nested, clean }: Operand): Result {
  return { bits, raw: raw === true, nested: nested === true, clean: clean === true, ...(shape && { shape }) }
}

export interface Each {
  shape: Shape
  clean: boolean
  /** JavaScript of a plain array of them that nothing else refers to; it may be empty. */
  list?: Js
}

/** The facts about each item of a list, if no item can be an array. */
export function eachOf(list: Operand): Each | undefined {
  if (list.each) return list.each
  const items = list.shape?.items
  if (items === undefined || (list.bits & ~(ARR | UNDEF)) !== 0 || (items.bits & ARR) !== 0) return undefined
  return { shape: { ...items, bits: items.bits & ~UNDEF }, clean: list.clean === true, ...(list.list !== undefined && { list: list.list }) }
}

/** The shape of a list of such values: undefined is never an item. */
export function listShape({ shape, bits }: Operand): Shape {
  return { bits: ARR, items: { ...shape, bits: bits & ~UNDEF } }
}

/** JavaScript of a plain array of a value's items, if nothing else refers to it: a named value may be read elsewhere. */
export function ownItems(operand: Operand): Js | undefined {
  return operand.stable ? undefined : operand.each?.list
}

/** A named item of a list. The items' shape is known only if it is an array; a single value is its own item. */
export function itemOf(list: Operand, code: Js): Operand {
  const shape = list.each?.shape ?? ((list.bits & ~(ARR | UNDEF)) === 0 ? list.shape?.items : undefined)
  const clean = list.each?.clean ?? list.clean === true
  return { code, bits: shape?.bits ?? (clean ? ANY & ~FUN : ANY), stable: true, clean, ...(shape && { shape }) }
}

export function literal(value: unknown): Operand {
  const bits =
    value === null ? NULL : typeof value === 'string' ? STR : typeof value === 'number' ? NUM : typeof value === 'boolean' ? BOOL : ANY
  const isNegative = typeof value === 'number' && (value < 0 || Object.is(value, -0))
  const code = !isNegative ? json(value) : Object.is(value, -0) ? js`(-0)` : js`(${value})`
  return { code, bits, stable: true, clean: true, literal: value }
}

// These facts hold for one text: a copy of an operand with another text must not inherit them.

/** Whether an operand is a name, or reads members of one, so that it costs no evaluation. */
export function isChain(operand: Operand): boolean {
  return operand.chain === operand.code || (operand.stable && operand.compound !== operand.code && !isLiteral(operand))
}

/** Whether an operand lasts for a whole stream, or is a member of such a value. */
export function isLasting({ code, lasting }: Operand): boolean {
  return lasting === code
}

/** Whether an operand is only the value of a variable. */
export function isRead({ code, stable, read }: Operand): boolean {
  return stable || read === code
}

/** Whether an operand is known to be undefined. */
export function isNothing({ code }: Operand): boolean {
  return code === NOTHING.code
}

/** The operands in the text of an operand, if there is nothing but operators around them. */
export function partsOfCode({ code, made }: Operand): readonly Operand[] | undefined {
  return made?.code === code ? made.of : undefined
}

export const NOTHING: Operand = { code: js`undefined`, bits: UNDEF, stable: true, clean: true }

export function isLiteral(operand: Operand): boolean {
  return 'literal' in operand
}

/** The shape of a member. */
export function member(shape: Shape | undefined, name: string): Shape {
  if (shape === undefined || (shape.bits & OBJ) === 0) return UNKNOWN
  return shape.members?.get(name) ?? shape.rest ?? UNKNOWN
}

/** Operands as an argument list. */
export function argumentList(operands: readonly Operand[]): Js {
  return joined(
    operands.map(operand => operand.code),
    ', ',
  )
}
