// Signatures of functions, as `<s-nn?:s>`, and the table of the built-ins with their signatures.
//
// A signature is a pattern over the types of the arguments, one letter each. The reference matches it with a regular
// expression; so does this code, unless each argument plainly fits its parameter.

import * as functions from './functions.js'
import * as nondeterministic from './nondeterministic.js'
import { ExpressionError, type FunctionValue } from './sequence.js'

/** Checks arguments and completes them; may change the array it is given, and returns it or another. */
export type Validator = (args: unknown[], context: unknown) => unknown[]

interface Parameter {
  /** The letters of its types, with "m" for a missing value. */
  types: string
  /** The quantifier after its class in the pattern: "?", "+" or "". */
  times: string
  /** Whether the context takes the place of a missing argument. */
  hasContext: boolean
  isArray: boolean
  /** For an array: the type of its members. */
  subtype?: string
  /** Whether it may be followed by a type in angle brackets. */
  isGeneric: boolean
}

const PLURALS: Record<string, string> = { a: 'arrays', b: 'booleans', f: 'functions', n: 'numbers', o: 'objects', s: 'strings' }

const compiled = new Map<string, Validator>()

/** The validator of a signature, cached. Throws S0401 or S0402 with an offset if it is invalid. */
export function signature(definition: string): Validator {
  let validator = compiled.get(definition)
  if (validator === undefined) {
    validator = compile(parse(definition))
    compiled.set(definition, validator)
  }
  return validator
}

function parse(definition: string): Parameter[] {
  const parameters: Parameter[] = []
  const add = (types: string, isArray = false, isGeneric = false): void => {
    parameters.push({ types, times: '', hasContext: false, isArray, isGeneric })
  }
  // The first letter is "<"; what follows ":" is the type of the result, which nothing checks.
  for (let position = 1; position < definition.length && definition[position] !== ':'; position++) {
    const symbol = definition[position] as string
    const last = parameters.at(-1)
    if ('snblo'.includes(symbol)) add(`${symbol}m`)
    else if (symbol === 'a')
      add('asnblfom', true, true) // any value can stand for an array of it
    else if (symbol === 'f') add('f', false, true)
    else if (symbol === 'j') add('asnblom')
    else if (symbol === 'x') add('asnblfom')
    else if (symbol === '-' && last) {
      last.hasContext = true
      last.times += '?'
    } else if ((symbol === '?' || symbol === '+') && last) {
      last.times += symbol
    } else if (symbol === '(') {
      const end = closing(definition, position, '(', ')')
      const choice = definition.slice(position + 1, end)
      if (choice.includes('<')) throw new ExpressionError('S0402', { value: choice, offset: position })
      add(`${choice}m`)
      position = end
    } else if (symbol === '<') {
      if (!last?.isGeneric) throw new ExpressionError('S0401', { value: last?.types, offset: position })
      const end = closing(definition, position, '<', '>')
      last.subtype = definition.slice(position + 1, end)
      position = end
    }
  }
  return parameters
}

function closing(text: string, start: number, open: string, close: string): number {
  let depth = 1
  let position = start
  while (position < text.length && depth > 0) {
    position++
    if (text[position] === close) depth--
    else if (text[position] === open) depth++
  }
  return position
}

function letter(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return 's'
    case 'number':
      return 'n'
    case 'boolean':
      return 'b'
    case 'function':
      return 'f'
    case 'object':
      return value === null ? 'l' : Array.isArray(value) ? 'a' : 'o'
    default:
      return 'm'
  }
}

function compile(parameters: Parameter[]): Validator {
  const patterns = parameters.map(({ types, times }) => `[${types}]${times}`)
  const whole = new RegExp(`^${patterns.map(pattern => `(${pattern})`).join('')}$`)
  const isPlain = parameters.every(({ times }) => times === '' || times === '?')

  return (args, context) => {
    // The pattern is greedy, so arguments that fit their parameters one by one have no other match.
    if (isPlain && fitsInOrder(parameters, args)) return complete(parameters, args, context)
    const letters = args.map(letter).join('')
    const found = whole.exec(letters)
    if (found === null) throw misfit(patterns, args, letters)
    const result: unknown[] = []
    let next = 0
    parameters.forEach((parameter, index) => {
      const taken = found[index + 1] as string
      if (taken !== '') {
        // Several, if the parameter may be repeated.
        for (const type of taken) {
          result.push(parameter.isArray ? asArray(parameter, args[next], type, taken, next) : args[next])
          next++
        }
      } else if (parameter.hasContext) {
        result.push(checkedContext(parameter, context, next))
      } else {
        result.push(args[next++]) // the reference counts a parameter left out as an argument
      }
    })
    return result
  }
}

function fitsInOrder(parameters: Parameter[], args: unknown[]): boolean {
  if (args.length > parameters.length) return false
  for (let index = 0; index < parameters.length; index++) {
    const { types, times } = parameters[index] as Parameter
    if (index < args.length ? !types.includes(letter(args[index])) : times === '') return false
  }
  return true
}

/** Arguments for the first parameters; the others get the context or undefined. */
function complete(parameters: Parameter[], args: unknown[], context: unknown): unknown[] {
  const given = args.length
  for (let index = 0; index < given; index++) {
    const parameter = parameters[index] as Parameter
    if (!parameter.isArray) continue
    const type = letter(args[index])
    args[index] = asArray(parameter, args[index], type, type, index)
  }
  let next = given
  for (let index = given; index < parameters.length; index++) {
    const parameter = parameters[index] as Parameter
    args.push(parameter.hasContext ? checkedContext(parameter, context, next) : undefined)
    if (!parameter.hasContext) next++
  }
  return args
}

function asArray(parameter: Parameter, argument: unknown, type: string, taken: string, index: number): unknown {
  if (type === 'm') return undefined
  const subtype = parameter.subtype
  if (subtype !== undefined) {
    const fits = type === 'a' ? areAll(argument as unknown[], subtype.charAt(0)) : taken === subtype
    if (!fits) throw new ExpressionError('T0412', { value: argument, index: index + 1, type: PLURALS[subtype] })
  }
  return type === 'a' ? argument : [argument]
}

function areAll(items: unknown[], type: string): boolean {
  for (const item of items) if (letter(item) !== type) return false
  return true
}

function checkedContext(parameter: Parameter, context: unknown, index: number): unknown {
  if (!parameter.types.includes(letter(context))) throw new ExpressionError('T0411', { value: context, index: index + 1 })
  return context
}

/** The error for the first argument that does not fit: the one after the longest matching start of the pattern. */
function misfit(patterns: string[], args: unknown[], letters: string): ExpressionError {
  let start = '^'
  let fitting = 0
  for (const pattern of patterns) {
    start += pattern
    const found = letters.match(start)
    if (found === null) break
    fitting = found[0].length
  }
  return new ExpressionError('T0410', { value: args[fitting], index: fitting + 1 })
}

/** A built-in as a value: checks its arguments, then calls the implementation. */
export type BuiltinValue = FunctionValue & Required<Omit<FunctionValue, 'body'>>

type Implementation = (...args: never[]) => unknown

export interface Builtin {
  /** The module that exports the implementation: ./functions.js, ./nondeterministic.js, or codegen/jsonata/number-and-date-formats.js. */
  module: 'functions' | 'nondeterministic' | 'pictures'
  /** Missing if it is in codegen/jsonata/number-and-date-formats.ts, which no engine module may load. */
  fn?: Implementation
  signature: string
  /** The number of arguments that a higher-order function passes. */
  arity: number
}

function builtin(module: Builtin['module'], fn: Implementation | undefined, definition: string, arity: number): Builtin {
  return { module, ...(fn && { fn }), signature: definition, arity }
}

const own = (fn: Implementation, definition: string, arity: number): Builtin => builtin('functions', fn, definition, arity)

/** Every built-in but $eval, by name; the implementation is exported under the same name. */
export const builtins: Readonly<Record<string, Builtin>> = {
  __proto__: null as never,
  abs: own(functions.abs, '<n-:n>', 1),
  append: own(functions.append, '<xx:a>', 2),
  assert: own(functions.assert, '<bs?:x>', 2),
  average: own(functions.average, '<a<n>:n>', 1),
  base64decode: own(functions.base64decode, '<s-:s>', 1),
  base64encode: own(functions.base64encode, '<s-:s>', 1),
  boolean: own(functions.boolean, '<x-:b>', 1),
  ceil: own(functions.ceil, '<n-:n>', 1),
  clone: own(functions.clone, '<(oa)-:o>', 1),
  contains: own(functions.contains, '<s-(sf):b>', 2),
  count: own(functions.count, '<a:n>', 1),
  decodeUrl: own(functions.decodeUrl, '<s-:s>', 1),
  decodeUrlComponent: own(functions.decodeUrlComponent, '<s-:s>', 1),
  distinct: own(functions.distinct, '<x:x>', 1),
  each: own(functions.each, '<o-f:a>', 2),
  encodeUrl: own(functions.encodeUrl, '<s-:s>', 1),
  encodeUrlComponent: own(functions.encodeUrlComponent, '<s-:s>', 1),
  error: own(functions.error, '<s?:x>', 1),
  exists: own(functions.exists, '<x:b>', 1),
  filter: own(functions.filter, '<af>', 2),
  floor: own(functions.floor, '<n-:n>', 1),
  formatBase: own(functions.formatBase, '<n-n?:s>', 2),
  formatInteger: builtin('pictures', undefined, '<n-s:s>', 2),
  formatNumber: builtin('pictures', undefined, '<n-so?:s>', 3),
  fromMillis: builtin('pictures', undefined, '<n-s?s?:s>', 3),
  join: own(functions.join, '<a<s>s?:s>', 2),
  keys: own(functions.keys, '<x-:a<s>>', 1),
  length: own(functions.length, '<s-:n>', 1),
  lookup: own(functions.lookup, '<x-s:x>', 2),
  lowercase: own(functions.lowercase, '<s-:s>', 1),
  map: own(functions.map, '<af>', 2),
  match: own(functions.match, '<s-f<s:o>n?:a<o>>', 3),
  max: own(functions.max, '<a<n>:n>', 1),
  merge: own(functions.merge, '<a<o>:o>', 1),
  millis: builtin('nondeterministic', nondeterministic.millis, '<:n>', 0),
  min: own(functions.min, '<a<n>:n>', 1),
  not: own(functions.not, '<x-:b>', 1),
  now: builtin('pictures', undefined, '<s?s?:s>', 2), // without arguments, the one of ./nondeterministic.js is used
  number: own(functions.number, '<(nsb)-:n>', 1),
  pad: own(functions.pad, '<s-ns?:s>', 3),
  parseInteger: builtin('pictures', undefined, '<s-s:n>', 2),
  power: own(functions.power, '<n-n:n>', 2),
  random: builtin('nondeterministic', nondeterministic.random, '<:n>', 0),
  reduce: own(functions.reduce, '<afj?:j>', 3),
  replace: own(functions.replace, '<s-(sf)(sf)n?:s>', 4),
  reverse: own(functions.reverse, '<a:a>', 1),
  round: own(functions.round, '<n-n?:n>', 2),
  shuffle: builtin('nondeterministic', nondeterministic.shuffle, '<a:a>', 1),
  sift: own(functions.sift, '<o-f?:o>', 2),
  single: own(functions.single, '<af?>', 2),
  sort: own(functions.sort, '<af?:a>', 2),
  split: own(functions.split, '<s-(sf)n?:a<s>>', 3),
  spread: own(functions.spread, '<x-:a<o>>', 1),
  sqrt: own(functions.sqrt, '<n-:n>', 1),
  string: own(functions.string, '<x-b?:s>', 1),
  substring: own(functions.substring, '<s-nn?:s>', 3),
  substringAfter: own(functions.substringAfter, '<s-s:s>', 2),
  substringBefore: own(functions.substringBefore, '<s-s:s>', 2),
  sum: own(functions.sum, '<a<n>:n>', 1),
  toMillis: builtin('pictures', undefined, '<s-s?:n>', 2),
  trim: own(functions.trim, '<s-:s>', 1),
  type: own(functions.type, '<x:s>', 1),
  uppercase: own(functions.uppercase, '<s-:s>', 1),
  zip: own(functions.zip, '<a+>', 0),
}

/** A built-in as a function value. `fn` is the implementation, because it may be in a module that the engine cannot load. */
export function functionValue(name: string, fn: Implementation): BuiltinValue {
  const { signature: definition, arity } = builtins[name] as Builtin
  const validate = signature(definition)
  const call = fn as (...args: unknown[]) => unknown
  return Object.assign((...args: unknown[]): unknown => call(...validate(args, null)), {
    arity,
    withContext: (context: unknown, args: unknown[]): unknown => call(...validate(args, context)),
    // A function without declared arguments still has one place in partial application.
    implementation: arity > 0 ? call : (only: unknown): unknown => call(only),
  })
}

const values = new Map<string, BuiltinValue>()

/** The single function value of a built-in, so that `$sum = $sum` is true. */
export function builtinValue(name: string): BuiltinValue {
  let value = values.get(name)
  if (value === undefined) {
    const fn = builtins[name]?.fn
    if (fn === undefined) throw new Error(`$${name} has no implementation in the engine`)
    value = functionValue(name, fn)
    values.set(name, value)
  }
  return value
}
