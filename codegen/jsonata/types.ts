// What the compiler knows of a value: which kinds it may be (a bit each) and, from a schema, what its members are.

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
/** What JavaScript's own truth agrees with JSONata's about. */
export const PLAIN = UNDEF | NULL | STR | NUM | BOOL

/** Of a value, by its JavaScript text: which kinds it still may be, and the branch of its union. */
export type Facts = ReadonlyMap<Js, Fact>

export interface Fact {
  bits: number
  shape?: Shape
}

/** What a schema says of a value. Absent members are unknown. */
export interface Shape {
  bits: number
  members?: Map<string, Shape>
  /** The shape of members that are not named; absent: anything. */
  rest?: Shape
  items?: Shape
  /** The known values of a string, where it is an enumeration. */
  values?: string[]
  /** Of a discriminated union: the member that tells the branches apart, and the branch for each of its values. */
  by?: string
  branches?: Map<string, Shape>
  /** No other member than the named ones can be there. */
  closed?: boolean
  /** Of a member: no array that would collapse can be in it. */
  clean?: boolean
  /** A schema names its members: others may come, but nothing is known of them, so that to read one is a mistake. */
  isNamed?: boolean
  /** The rule that such a mistake breaks, and what is said before the name of the member, in place of what is said of a schema. */
  missing?: { rule: string; words: string }
}

export const UNKNOWN: Shape = { bits: ANY }

/** JavaScript text of a value, and what is known of it. */
export interface Operand {
  code: Js
  bits: number
  shape?: Shape
  /** The text may be evaluated later, or twice, without another effect or result: a literal or a constant's name. */
  stable: boolean
  /** It may be a sequence that has not been collapsed yet. */
  raw?: boolean
  /** What it collapses to may itself be a sequence, for whoever has it next to collapse. */
  nested?: boolean
  /** No array that would collapse can be in it: it came from JSON, or what JSONata made of it has two members or more. */
  clean?: boolean
  /** The literal, where it is one. */
  literal?: unknown
  /** It is the `$type` of this. */
  typeOf?: Operand
  /** Its own text, where that reads members of a constant by their names: it has the same value wherever it stands. */
  chain?: Js
  /** Its own text, where that is stable and more than a name. */
  compound?: Js
  /** Its own text, where that is what lasts for a whole stream, or a member of that. */
  lasting?: Js
  /** Its own text, where that is the name of a variable which may be assigned anew. */
  read?: Js
  /** What its text is made of, if it has nothing but operators beside. */
  made?: { code: Js; of: readonly Operand[] }
  /** It is a member of this. */
  member?: { of: Operand; name: string }
  /** It is a function of which this is known, whatever it is called with. */
  returns?: Result
  /** What is known where it is true, and where it is not. */
  whereTrue?: Facts
  whereFalse?: Facts
  /** JavaScript of a plain array, of nobody else's, with the items of a raw sequence. */
  list?: Js
  /** It is nothing, one of these, or an array of them; none of them is an array. */
  each?: Each
  /** JavaScript of a plain array with its items, only to be looked at. */
  items?: Js
}

/** What is known of the values of a function. */
export type Result = Pick<Operand, 'bits' | 'shape' | 'raw' | 'nested' | 'clean'>

/** Of an operand, what is still true of it outside of the function that it stands in. */
export function resultOf({ bits, shape, raw, nested, clean }: Operand): Result {
  return { bits, raw: raw === true, nested: nested === true, clean: clean === true, ...(shape && { shape }) }
}

export interface Each {
  shape: Shape
  clean: boolean
  /** JavaScript of a plain array of them, of nobody else's; it may be empty. */
  list?: Js
}

/** What is known of each item of a list, if none of them can be an array. */
export function eachOf(list: Operand): Each | undefined {
  if (list.each) return list.each
  const items = list.shape?.items
  if (items === undefined || (list.bits & ~(ARR | UNDEF)) !== 0 || (items.bits & ARR) !== 0) return undefined
  return { shape: { ...items, bits: items.bits & ~UNDEF }, clean: list.clean === true, ...(list.list !== undefined && { list: list.list }) }
}

/** The shape of a list of such values: nothing is never in it. */
export function listShape({ shape, bits }: Operand): Shape {
  return { bits: ARR, items: { ...shape, bits: bits & ~UNDEF } }
}

/** JavaScript of a plain array of what a value stands for, where it is in sight: what has been given a name may be looked at elsewhere. */
export function ownItems(operand: Operand): Js | undefined {
  return operand.stable ? undefined : operand.each?.list
}

/** An item of a list, under a name. Only of an array is anything known of its items; a lone value stands for itself. */
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

// A copy of an operand with another text is none of these any more: each names the text that it is true of.

/** Whether an operand is a name, or reads members of one: nothing that is evaluated. */
export function isChain(operand: Operand): boolean {
  return operand.chain === operand.code || (operand.stable && operand.compound !== operand.code && !isLiteral(operand))
}

/** Whether an operand is what lasts for a whole stream, or a member of that. */
export function isLasting({ code, lasting }: Operand): boolean {
  return lasting === code
}

/** Whether an operand is nothing but the value of a variable. */
export function isRead({ code, stable, read }: Operand): boolean {
  return stable || read === code
}

/** Whether an operand is known to be nothing. */
export function isNothing({ code }: Operand): boolean {
  return code === NOTHING.code
}

/** What the text of an operand is made of, if it has nothing but operators beside. */
export function partsOfCode({ code, made }: Operand): readonly Operand[] | undefined {
  return made?.code === code ? made.of : undefined
}

export const NOTHING: Operand = { code: js`undefined`, bits: UNDEF, stable: true, clean: true }

export function isLiteral(operand: Operand): boolean {
  return 'literal' in operand
}

/** The shape of a member of a value with this shape. */
export function member(shape: Shape | undefined, name: string): Shape {
  if (shape === undefined || (shape.bits & OBJ) === 0) return UNKNOWN
  return shape.members?.get(name) ?? shape.rest ?? UNKNOWN
}

/** Operands one after another, as what is called is given them. */
export function argumentList(operands: readonly Operand[]): Js {
  return joined(
    operands.map(operand => operand.code),
    ', ',
  )
}
