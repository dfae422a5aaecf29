// Expressions that were once compiled wrongly, or for which the compiler omits checks: each compared with the interpreter,
// with and without the knowledge of a schema.

import { describe, expect, test } from 'vitest'
import { explain, load } from '../../codegen/jsonata/load.js'
import { describeReport, differenceOf } from './fuzz.js'
import { shapeOfAll } from './shapes.js'

const parts = {
  content: [
    { type: 'text', text: 'one' },
    { type: 'call', name: 'f', input: [1, { a: 2 }] },
    { type: 'text', text: 'two', marks: { a: 1 } },
  ],
  usage: { read: null, input: 3 },
  stop: 'end',
}

const cases: [expression: string, input: unknown][] = [
  // a loop over the result of another one
  ['content[type = "text"].text', parts],
  ['$join(content[type = "text"].text, ", ")', parts],
  ['$join(content[type = "none"].text)', parts],
  ['[0, $map($filter(content, function($part) { $part.type = "text" }), function($part) { $part.text }), 1]', parts],
  ['$map($filter(content, function($part) { $part.type = "call" }), function($part, $place) { $place })', parts],
  ['$map($filter(content, function($part) { $number($part.text) > 0 }), function($part) { $error($part.type) })', parts],
  ['content[type != "call"][marks.a = 1].text', parts],
  // a variable for a list
  [
    '($texts := content[type = "text"]; [$exists($texts) ? [$map($texts, function($one) { $one.text })], $texts[0].text, $count($texts)])',
    parts,
  ],
  // what a condition tells
  ['usage.read ? usage.read : 0', parts],
  ['(usage.read ? usage.read : 0) + usage.input', parts],
  ['$type(stop) = "string" ? stop & "!" : $exists(stop) ? "other" : "none"', parts],
  [
    '$map(content, function($part) { $part.type = "call" ? $part.input[1].a : $part.type = "text" and $part.marks ? $part.marks.a : $part.text })',
    parts,
  ],
  ['$map(content, function($part) { $part.type != "call" and $not($exists($part.marks)) or $part.name = "f" ? $part : "-" })', parts],
  ['($last := stop; $last = "end" ? ($last := usage; $last.input) : $last)', parts],
  // an object with something new in it
  ['$merge([usage, { "input": 4, "read": stop }])', parts],
  ['$merge([usage, { "output": 4 }])', parts],
  ['$merge([usage, { "input": none }])', parts],
  ['$merge([content, { "type": "x" }])', parts],
  ['$merge([content[0], { "type": "x", "text": $uppercase(content[0].text) }])', parts],
  ['$merge([none, { "input": 4 }])', parts],
  // nothing and an empty list in a lambda's last call
  ['$map([{ "a": 1 }, {}], function($x) { $map($x.a, function($y) { $y }) })', null],
  ['$map([{ "a": 1 }, {}], function($x) { $filter($x.a, function($y) { $y = 2 }) })', null],
  ['$map([[1], [2]], function($x) { $map($filter($x, function($y) { $y = 1 }), function($z) { $z = 1 ? $z }) })', null],
  // which of two errors is met first
  ['$lookup({ "b": $string(a, a), "k": $assert(false, "") }, "")', { a: 1.5 }],
  // lists that stand for themselves
  ['(0).a', ''],
  ['[(0)[-1], (1)[1], "a"[0]]', {}],
  ['a ~> |a.(0)[-1]|{}|', 1.5],
  ['a.[].{}', { a: 0 }],
  ['a.[b, c].d', { a: { b: { d: 1 }, c: { d: 2 } } }],
  ['[].a[]', 0],
  ['($@$v.b@$v)', [{ b: '' }]],
  ['$x ?: $each({ "": [] }, $lookup(?, "a"))', {}],
  ['a.b.c', { a: [{ b: [{ c: [[1]] }] }, { b: { c: [] } }] }],
  ['a[b].c', { a: [{ b: true, c: [1] }] }],
]

describe.each(cases)('%s', (expression, input) => {
  test.each([
    ['of anything', undefined],
    ['of an input that is known', shapeOfAll([input])],
  ])('%s', (_what, shape) => {
    const difference = differenceOf(expression, input, {}, shape)
    expect(difference, difference && describeReport({ runs: 1, seed: 0, path: undefined, difference })).toBe(undefined)
  })
})

// A call with one argument for each item of a list overflows the stack, and a caller decides how long a list is.
describe('a list of 200,000 items is not too long for', () => {
  const size = 200_000
  const input = { list: Array.from({ length: size }, (_item, place) => ({ n: size - place })) }

  test.each([
    ['list^(n)[0].n', 1],
    ['list^(>n)[0].n', size],
    ['$count([$map([list^(n)], function($one) { $one.n })])', size],
    ['$count(list^(n)#$place)', size],
    ['$sort(list.n)[0]', 1],
    ['$sort(list, function($a, $b) { $a.n > $b.n })[0].n', 1],
    ['$count($append(list, list))', 2 * size],
    ['$count([list, list.n])', 2 * size],
    ['$count($zip(list, list))', size],
    ['$count($distinct(list.n))', size],
    ['$count(list[n > 0])', size],
    ['$count(list.*)', size],
    ['$count(**.n)', size],
    ['$count($spread(list))', size],
    ['$merge(list).n', 1],
    ['$max(list.n) - $min(list.n)', size - 1],
    ['$length($join(list.("a")))', size],
  ])('%s', (expression, expected) => {
    for (const shape of [undefined, shapeOfAll([{ list: [{ n: 1 }] }])]) expect(load(expression, shape)(input)).toBe(expected)
  })
})

test('with a known schema, nothing but loops remains', () => {
  const code = explain('$join(content[type = "text"].text)', shapeOfAll([parts]))
  expect(code).not.toMatch(/isArray\(|collapse|push|listOf/)
})
