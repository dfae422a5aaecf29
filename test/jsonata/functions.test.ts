// Every built-in function compared with the interpreter: the same arguments, especially unusual ones, must give the same
// value, the same absence or the same error code, and must leave a sequence a sequence.

import jsonata from 'jsonata'
import { describe, expect, test } from 'vitest'
import { oracle } from '../../cli/cases/oracle.js'
import { pictureValue } from '../../codegen/jsonata/number-and-date-formats.js'
import { type Matcher, match, regex, replace } from '../../engine/jsonata/functions.js'
import { createSequence, isSequence, type Sequence } from '../../engine/jsonata/sequence.js'
import { type BuiltinValue, builtins, builtinValue, signature } from '../../engine/jsonata/signature.js'
import { attempt, codeOf, type Outcome, show, showOutcome } from './show.js'

type Patterns = Record<string, { ours: Matcher; theirs: unknown }>

const literals = ['/l/', '/L+/i', '/x*/', '/(b)?(a)(n)/', '/^\\s*$/m', '/./', '/(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)/']
const patterns: Patterns = {}
for (const literal of literals) {
  const [, source = '', flags = ''] = /^\/(.*)\/(\w*)$/.exec(literal) ?? []
  patterns[literal] = { ours: regex(source, flags), theirs: oracle(literal)(null) }
}

const twice = (value: unknown): string => `${String(value)}${String(value)}`
const add = (left: number, right: number): number => left + right
const isFirst = (_value: unknown, place: unknown): boolean => place === 0 || place === 'a'
const wholeSize = (_value: unknown, _place: unknown, whole: object): number => Object.keys(whole).length
const after = (left: number, right: number): boolean => left > right
const nothing = (_value: unknown): undefined => undefined
const listed = (value: unknown): Sequence => createSequence(value)
const notAMatch = (_text: string): object => ({ found: true })
const oneMatch = (_text: string): object => ({ match: 'l', start: 2, end: 3, groups: ['x'], next: () => undefined })

const scalars: unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  1,
  -1,
  2.5,
  3,
  1e21,
  0.1 + 0.2,
  1 / 3,
  40,
  '',
  'a',
  'l',
  'hello',
  '12',
  '-1.5e3',
  '0x1F',
]
const texts: unknown[] = [
  '0b1',
  '0o17z',
  '1e999',
  'a  b\n c ',
  'b😀n',
  '\ud83d',
  'a%20b&c=d/é',
  '%E0%A4%A',
  '$1-$0-$$-$2$',
  '$11$12$a',
  'banana',
  'abcdefghijkl',
  'aGk=',
  'a,b,c',
  ' ',
]
const numbers: unknown[] = [-2.5, 0.5, 1.5, 16, 2.675, 1e-7, 123456789012345680, 5, 36, 37, -3, Infinity, NaN]
const objects: unknown[] = [
  {},
  { a: 1 },
  { b: [1, { c: 1 / 3 }], a: null, 1: 'one' },
  JSON.parse('{"__proto__":{"x":1},"a":2}'),
  { undefined: 'u', length: 0 },
]
const arrays: unknown[] = [
  [],
  [1],
  [3, 1, 2],
  ['b', 'a', 'c', 'a'],
  [[]],
  [[1, 2], [3]],
  [{ a: 1 }, { b: 2 }, { a: 3 }],
  [{ a: [1, 2] }, { a: { b: 1 } }],
  [{ 2: 0, x: 1 }, { 1: 0 }],
  [1, 'a', null, true, { a: 1 }, { a: 1 }, [1], [1], 1],
  [undefined],
  [0, ''],
  [0, 1],
  [NaN, NaN],
  [Infinity, 1],
  [2.5, 1 / 3],
  [nothing],
  createSequence(1, 1, 2),
  createSequence({ a: 1 }, { a: 1 }, { b: 1 }),
]
const functions: unknown[] = [twice, add, isFirst, wholeSize, after, nothing, listed, notAMatch, oneMatch]
const everything = [...scalars, ...texts, ...numbers, ...objects, ...arrays, ...functions, ...Object.values(patterns)]
const contexts: unknown[] = [undefined, null, 'hello', 5, true, { a: 1 }, [1, 2]]

/** Arguments for the other places: everything would be too many. */
const seconds = [
  undefined,
  null,
  0,
  1,
  2,
  -1,
  2.5,
  16,
  '',
  'l',
  'a',
  ',',
  '#,##0.0',
  'w',
  true,
  [2],
  [[1], 2],
  { a: 1 },
  ...functions,
  ...Object.values(patterns),
]
const thirds = [undefined, 0, 1, -1, 2.5, '', '-', '$1-$0-$$-$2$', '$11$12$a', 'xy', [1], twice, nothing]

const ours = (value: unknown): unknown => (isPattern(value) ? value.ours : value)
const theirs = (value: unknown): unknown => (isPattern(value) ? value.theirs : value)

function isPattern(value: unknown): value is Patterns[string] {
  return typeof value === 'object' && value !== null && 'theirs' in value
}

function isCallable(value: unknown): boolean {
  return typeof value === 'function' || isPattern(value)
}

function collapse(value: unknown): unknown {
  if (!isSequence(value) || value.length > 1) return value
  return value[0]
}

function wrapped(context: unknown): unknown {
  if (!Array.isArray(context)) return context
  const result = createSequence(context)
  result.outerWrapper = true
  return result
}

function builtinOf(name: string): BuiltinValue {
  return builtins[name]?.module === 'pictures' ? pictureValue(name) : builtinValue(name)
}

const variables = ['a', 'b', 'c', 'd', 'e']
const expressions = new Map<string, ReturnType<typeof oracle>>()

function evaluate(text: string, context: unknown, args: unknown[]): Outcome {
  let expression = expressions.get(text)
  if (expression === undefined) {
    expression = oracle(text)
    expressions.set(text, expression)
  }
  const run = expression
  return attempt(() => run(context, Object.fromEntries(args.map((value, index) => [variables[index], theirs(value)]))))
}

function parameters(args: unknown[]): string {
  return args.map((_, index) => `$${variables[index]}`).join(', ')
}

function* tuples(size: number): Generator<unknown[]> {
  if (size === 0) yield []
  else if (size === 1) for (const first of everything) yield [first]
  else if (size === 2) for (const first of everything) for (const second of seconds) yield [first, second]
  else {
    for (const first of ['hello', 'abcdefghijkl', 'b😀n', '', 7.25, -2, undefined, [3, 1, 2], { a: 1, b: 2 }]) {
      for (const second of seconds) {
        for (const third of thirds) {
          if (size === 3) yield [first, second, third]
          else for (const fourth of [undefined, 0, 1, 2.5, -1, 'x']) yield [first, second, third, fourth].slice(0, size)
        }
      }
    }
  }
}

/** Where the reference crashes or answers nonsense, and we do not follow. */
function isFault(name: string, args: unknown[], expected: Outcome): boolean {
  if (isCallable(args[0]) && isPattern(args[1])) return true // looks into a function's source code
  if ('error' in expected && codeOf(expected.error) === undefined) return true // a crash in JavaScript
  if (/=>|function \(/.test(showOutcome(expected))) return true // gives a function's source code
  if (name === 'replace' && args.some((value, index) => isCallable(value) && typeof args[index - 1] === 'string')) return true
  // looks at every member for a number out of range, though the answer is known
  return (
    ['boolean', 'not', 'assert', 'filter', 'single', 'sift'].includes(name) && 'error' in expected && codeOf(expected.error) === 'D1001'
  )
}

const unpredictable = new Set(['random', 'shuffle', 'millis', 'now'])
describe('built-ins', () => {
  test('the table has all of them, with their arities', async () => {
    for (const [name, { arity }] of Object.entries(builtins)) {
      const reference = (await jsonata(`$${name}`).evaluate(null)) as { implementation: (...args: unknown[]) => unknown }
      expect([name, arity]).toEqual([name, reference.implementation.length])
      // The reference reads the places of a partial application off the source code, and fails to where it has a default.
      const places = /\(([^)]*)\)/
        .exec(String(reference.implementation))?.[1]
        ?.split(',')
        .filter(place => !place.includes('=')).length
      expect([name, Math.max(arity, builtinOf(name).implementation.length)]).toEqual([name, places])
    }
    expect(Object.keys(builtins)).toHaveLength(64)
  })

  for (const name of Object.keys(builtins)) {
    if (unpredictable.has(name)) continue
    test(`$${name} answers as the interpreter does`, () => {
      const arity = name === 'zip' ? 2 : (builtins[name]?.arity ?? 0)
      const differences: string[] = []
      let compared = 0
      const compare = (args: unknown[], context: unknown): void => {
        const expected = evaluate(`$${name}(${parameters(args)})`, context, args)
        if (isFault(name, args, expected)) return
        compared++
        const actual = attempt(() => collapse(builtinOf(name).withContext(wrapped(context), args.map(ours))))
        const [left, right] = [showOutcome(actual, true), showOutcome(expected, true)]
        if (left !== right)
          differences.push(`$${name}(${args.map(value => show(value)).join(', ')}) on ${show(context)}: ${left}, not ${right}`)
      }
      for (const context of contexts) for (const args of [[], ...seconds.map(value => [value])]) compare(args, context)
      for (let size = 1; size <= Math.min(arity, 4); size++) for (const args of tuples(size)) compare(args, 'hello')
      for (const first of seconds) compare([first, ...thirds.slice(0, arity)], 'hello') // one too many
      expect(differences.slice(0, 20)).toEqual([])
      expect(compared).toBeGreaterThan(0)
    })
  }

  test('$now and $millis see one time in an evaluation, and another in the next', async () => {
    const millis = builtinValue('millis')() as number
    const end = millis + 5
    while (Date.now() < end);
    expect(builtinValue('millis')()).toBe(millis)
    expect(pictureValue('now')()).toBe(new Date(millis).toISOString())
    expect(pictureValue('now')('[Y]')).toBe(String(new Date(millis).getUTCFullYear()))
    await Promise.resolve()
    expect(builtinValue('millis')()).toBeGreaterThanOrEqual(end)
  })

  test('$shuffle keeps the members, $random stays below one', () => {
    const members = Array.from({ length: 50 }, (_, index) => index)
    const shuffled = builtinValue('shuffle')(members) as number[]
    expect(shuffled).not.toEqual(members)
    expect([...shuffled].sort((left, right) => left - right)).toEqual(members)
    const chance = builtinValue('random')() as number
    expect(chance >= 0 && chance < 1).toBe(true)
  })

  test('$error and $assert carry their message', () => {
    expect(() => builtinValue('error')('no')).toThrow(expect.objectContaining({ code: 'D3137', message: 'no' }))
    expect(() => builtinValue('error')()).toThrow(expect.objectContaining({ message: '$error() function evaluated' }))
    expect(() => builtinValue('assert')(false, 'no')).toThrow(expect.objectContaining({ code: 'D3141', message: 'no' }))
    expect(() => builtinValue('assert')(false)).toThrow(expect.objectContaining({ message: '$assert() statement failed' }))
  })
})

describe('regex', () => {
  test('a matcher used inside its own $replace does not disturb it', () => {
    const letter = regex('l')
    expect(replace('hello', letter, found => (replace(found.match, letter, 'L') as string) + found.start)).toBe('heL2L3o')
  })

  test('a match leads to the next one', () => {
    const found = regex('(l)')('hello')
    expect(found).toMatchObject({ match: 'l', start: 2, end: 3, groups: ['l'] })
    expect(found?.next()).toMatchObject({ start: 3 })
    expect(found?.next()?.next()).toBeUndefined()
  })

  test('an empty match that would repeat is an error', () => {
    expect(() => match('abc', regex('x*'))).toThrow(expect.objectContaining({ code: 'D1004' }))
    expect(match('', regex('x*'))).toHaveLength(1)
  })
})

describe('signatures', () => {
  const definitions = [
    '<s-nn?:s>', '<a<n>:n>', '<a<s>s?:s>', '<(sao)-n:s>', '<s+n:s>', '<a+>', '<n?s:n>', '<s?n?b?:x>', '<x-?n:x>', '<a<a<n>>:n>', '<f<s:o>j?:x>',
    '<l:l>', '<o-f?:o>', '<a<n>+s:x>', '<sb+:x>', '<a?n:x>', '<a<s>-n:x>', '<:n>', '<(ns)(sb)?:x>',
  ] // biome-ignore format: a table
  const values: unknown[] = ['s', 1, true, null, undefined, [], [1], ['a'], [1, 'a'], [[1]], {}, add]

  for (const definition of definitions) {
    test(`${definition} is checked as the interpreter does`, () => {
      const lambda = `(function($p, $q, $r, $s)${definition}{[[$p], [$q], [$r], [$s]]})`
      for (const context of ['text', 5, undefined, [1], {}]) {
        for (let size = 0; size <= 3; size++) {
          for (let which = 0; which < values.length ** size; which += size < 3 ? 1 : 7) {
            const args = Array.from({ length: size }, (_, place) => values[Math.floor(which / values.length ** place) % values.length])
            const expected = evaluate(`${lambda}(${parameters(args)})`, context, args)
            const actual = attempt(() => {
              const checked = signature(definition)([...args], wrapped(context))
              // As the lambda shows its parameters: an array constructor takes in what an array holds.
              return [0, 1, 2, 3].map(place => (checked[place] === undefined ? [] : [collapse(checked[place])].flat()))
            })
            const place = (outcome: Outcome): unknown => 'error' in outcome && (outcome.error as { index?: number }).index
            const description = `${definition} given ${show(args)} on ${show(context)}`
            expect([showOutcome(actual), place(actual)], description).toEqual([showOutcome(expected), place(expected)])
          }
        }
      }
    })
  }

  test('a wrong signature is refused', () => {
    expect(() => signature('<s<n>>')).toThrow(expect.objectContaining({ code: 'S0401', offset: 2 }))
    expect(() => signature('<(sa<n>)>')).toThrow(expect.objectContaining({ code: 'S0402', offset: 1 }))
  })
})
