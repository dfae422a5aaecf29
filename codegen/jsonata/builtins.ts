// Facts about the built-in functions beside their signatures.

import { type Builtin, builtins } from '../../engine/jsonata/signature.js'
import { elementAt } from './element.js'
import { type Js, js } from './js.js'
import { ANY, ARR, BOOL, FUN, NULL, NUM, OBJ, type Operand, STR, UNDEF } from './types.js'

/** Functions beside JSONata's own: the run-time module by name, and its export. */
export const EXTENSIONS: Readonly<Record<string, { export: string; arity: number; bits: number }>> = {
  parse_json: { export: 'parseJson', arity: 1, bits: ANY & ~FUN },
  to_json: { export: 'toJson', arity: 1, bits: STR | UNDEF },
  json_scan: { export: 'jsonScan', arity: 2, bits: NUM },
}

/** Built-ins that return sequences which still have to be collapsed. */
export const COLLAPSING = new Set([
  'map',
  'filter',
  'keys',
  'lookup',
  'spread',
  'each',
  'match',
  'append',
  'distinct',
  'reverse',
  'reduce',
  'single',
  'sort',
  'shuffle',
])

/** The possible kinds of the results of built-ins. */
export const RESULTS: Readonly<Record<string, number>> = {
  count: NUM,
  exists: BOOL,
  not: BOOL | UNDEF,
  boolean: BOOL | UNDEF,
  type: STR | UNDEF,
  string: STR | UNDEF,
  length: NUM | UNDEF,
  join: STR | UNDEF,
  substring: STR | UNDEF,
  substringBefore: STR | UNDEF,
  substringAfter: STR | UNDEF,
  lowercase: STR | UNDEF,
  uppercase: STR | UNDEF,
  trim: STR | UNDEF,
  pad: STR | UNDEF,
  replace: STR | UNDEF,
  contains: BOOL | UNDEF,
  split: ARR | UNDEF,
  number: NUM | UNDEF,
  sum: NUM | UNDEF,
  floor: NUM | UNDEF,
  ceil: NUM | UNDEF,
  round: NUM | UNDEF,
  abs: NUM | UNDEF,
  max: NUM | UNDEF,
  min: NUM | UNDEF,
  base64encode: STR | UNDEF,
  base64decode: STR | UNDEF,
  merge: OBJ | UNDEF,
  sift: OBJ | UNDEF,
  zip: ARR,
}

export const NONDETERMINISTIC = new Set(['now', 'millis', 'random', 'shuffle'])

/** Kinds that satisfy a letter of a signature without a check. */
export const LETTERS: Readonly<Record<string, number>> = { s: STR, n: NUM, b: BOOL, l: NULL, o: OBJ, a: ANY, f: FUN, j: ANY & ~FUN, x: ANY }
export const GUARDS: Readonly<Record<string, (name: Js) => Js>> = {
  s: name => js`typeof ${name} === 'string'`,
  n: name => js`typeof ${name} === 'number'`,
  b: name => js`typeof ${name} === 'boolean'`,
  o: name => js`(typeof ${name} === 'object' && ${name} !== null && !isArray(${name}))`,
  f: name => js`typeof ${name} === 'function'`,
}

/** The tests for lists whose members are all of one kind. */
export const LISTS: Readonly<Record<string, string | undefined>> = { s: 'areStrings', n: 'areAllNumbers', o: 'areObjects' }

export interface Parameter {
  letters: string
  optional: boolean
  contextual: boolean
  isArray: boolean
  subtype: string | undefined
  repeats: boolean
}

/** A built-in by its name. Throws if there is none. */
export function builtinOf(name: string): Builtin {
  const found = builtins[name]
  if (!found) throw new Error(`there is no built-in $${name}`)
  return found
}

const parameters = new Map<string, Parameter[]>()

export function parametersOf(name: string): Parameter[] {
  let found = parameters.get(name)
  if (found) return found
  found = []
  // The text between the first bracket and the type of the result, or the last bracket if there is none.
  const text = /^<(.*?)(?::[^:]*)?>$/.exec(builtinOf(name).signature)?.[1] ?? ''
  const pattern = /(\(([a-z]+)\)|([a-z]))(<[^>]*>)?([-?+]*)/g
  for (const part of text.matchAll(pattern)) {
    const letters = part[2] ?? elementAt(part, 3)
    const marks = part[5] ?? ''
    found.push({
      letters,
      optional: marks.includes('?'),
      contextual: marks.includes('-'),
      isArray: letters === 'a',
      subtype: part[4]?.slice(1, -1),
      repeats: marks.includes('+'),
    })
  }
  parameters.set(name, found)
  return found
}

/** A built-in that returns undefined only for an undefined first argument: with a known one, the result is known to exist. */
export function tighten(name: string, bits: number, given: Operand[]): number {
  const strict = new Set([
    'not',
    'boolean',
    'type',
    'string',
    'length',
    'lowercase',
    'uppercase',
    'trim',
    'substring',
    'substringBefore',
    'substringAfter',
    'join',
    'replace',
    'contains',
    'split',
    'base64encode',
    'base64decode',
    'merge',
  ])
  if (!strict.has(name)) return bits
  return given.every(operand => (operand.bits & (UNDEF | FUN)) === 0) && given.length > 0 ? bits & ~UNDEF : bits
}
