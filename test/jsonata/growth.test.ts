// How the compiler makes cost grow with the length of lists and not with its square: searches that use an index, and folds
// that append in place. It must not be observable: every expression is compared with the interpreter.

import { describe, expect, test } from 'vitest'
import { explain } from '../../codegen/jsonata/load.js'
import { describeReport, differenceOf } from './fuzz.js'
import { shapeOfAll } from './shapes.js'

/** Values of every kind that can be compared, again and again, in a list that is long enough for an index. */
const kinds = ['a', 'b', 1, 0, -0, '1', true, false, null, {}, { a: 1 }, [], ['a'], ['a', 'b'], [[]], 'toString', '']
const items = Array.from({ length: 80 }, (_, at) => ({
  at,
  key: kinds[at % kinds.length],
  deep: { key: kinds[(at * 3) % kinds.length] },
  ...(at % 7 !== 0 && { some: at % 5 }),
}))
const input = {
  items,
  kinds,
  /** A member on whose way there is a list. */
  odd: [...items, { at: 80, key: 'a', deep: [{ key: 'a' }, { key: 'b' }] }],
  /** Items that are no objects. */
  mixed: [...items, 'a', null, ['a'], [{ key: 'a', at: 81 }], 1],
  words: Array.from({ length: 60 }, (_, at) => `w${at % 40}`),
  numbers: Array.from({ length: 60 }, (_, at) => at),
  one: { at: 0, key: 'a' },
}

const searches = [
  '($l := items; kinds.($k := $; $l[key = $k].at))',
  '($l := items; kinds.($k := $; [$l[$k = key].at]))',
  '($l := items; [kinds.($k := $; [$l[deep.key = $k].at])])',
  '($l := odd; [kinds.($k := $; [$l[deep.key = $k].at])])',
  '($l := mixed; [kinds.($k := $; [$l[key = $k].at])])',
  '($l := items; [$map(kinds, function($k) { [$filter($l, function($x) { $x.key = $k }).at] })])',
  '($l := items; [$map(numbers, function($n) { $filter($l, function($x) { $x.at = $n and $x.some > 2 }).key })])',
  '($l := items; [$map(numbers, function($n) { $filter($l, function($x, $i) { $x.some = $n and $i < 9 }).at })])',
  '($l := items; [$map(numbers, function($n) { $l[$exists(some) and some = $n][0].at })])',
  '($l := items; [$map(numbers, function($n) { $l[some = $n][-1].at })])',
  '($l := items; [$map(numbers, function($n) { $l[some = $n and at > $n][0].at })])',
  '($l := items; [$map(numbers, function($n) { $count($l[some = $n]) })])',
  '($l := items; [$map(kinds, function($k) { $exists($l[key = $k]) })])',
  '($l := items; [$map(numbers, function($n) { $l[some = $none].at })])',
  '($l := items; [$map(numbers, function($n) { ($at := { "is": $n }; $l[at = $at.is].key) })])',
  '($l := items[some > 1]; [$map(numbers, function($n) { $l[some = $n].at })])',
  '($l := one; [$map(numbers, function($n) { $l[at = $n].key })])',
  '[$map(numbers, function($n) { $$.items[some = $n].at })]',
  '($l := items; $l[key = $l[0].key].at)',
  '($l := [items.some]; [$map(numbers, function($n) { $n in $l })])',
  '($l := words; [$map(["w1", "w39", "w40", 1, null], function($n) { $n in $l })])',
  '($l := kinds; $l2 := [$l, $l, $l]; [$map($l, function($n) { $n in $l2 })])',
  // a place that is computed
  '[$map(numbers, function($n, $i, $all) { $i > 0 ? $all[$i - 1] : "none" })]',
  '[$map(items, function($x, $i, $all) { $all[$i + 1].at })]',
  '($l := items; [$map([0, 1.5, -1, 79, 80, -81, "a", true, false, null, [1, 2], [], {}], function($n) { $l[$n].at })])',
  '($l := [[1, 2], [], [[3]]]; [$map([0, 1, 2, 3], function($n) { [$l[$n]] })])',
  '($l := one; [$map([0, 1, -1, "a"], function($n) { $l[$n].key })])',
]

const folds = [
  '$reduce(items, function($s, $x) { $append($s, [$x.at]) }, [])',
  '$reduce(items, function($s, $x) { $append($s, $x.key) }, [])',
  '$reduce(items, function($s, $x) { $x.some > 2 ? $append($s, $x.at) : $s }, [])',
  '$reduce(items, function($s, $x) { { "all": $append($s.all, [$x.at]), "n": $s.n + 1 } }, { "all": [], "n": 0 })',
  '$reduce(items, function($s, $x) { { "all": $append($append($s.all, $x.at), [$x.some]), "n": $x.at } }, {})',
  '$reduce(items, function($s, $x) { $merge([$s, { $string($x.at): $x.key }]) }, {})',
  '$reduce(items, function($s, $x) { { "by": $merge([$s.by, { $string($x.some): $x.at }]) } }, { "by": {} })',
  '$reduce(items, function($s, $x) { { "by": $merge([$s.by, $x.key]) } }, { "by": {} })',
  // what is of the same kind falls together
  `$reduce(items, function($s, $x) {
    $s.kind = $x.some ? { "done": $s.done, "kind": $x.some, "now": $append($s.now, [$x.at]) }
      : { "done": $append($s.done, [{ "kind": $s.kind, "all": $s.now }]), "kind": $x.some, "now": [$x.at] }
  }, { "done": [], "now": [] })`,
  // the list has another reference
  '$reduce(items, function($s, $x) { { "all": $append($s.all, [$x.at]), "old": $s.all } }, { "all": [] })',
  '$reduce(items, function($s, $x) { { "old": $s.all, "all": $append($s.all, [$x.at]) } }, { "all": [] })',
  '$reduce(items, function($s, $x) { ($old := $s.all; { "all": $append($s.all, [$x.at]), "old": $old }) }, { "all": [] })',
  '$reduce(items, function($s, $x) { ($old := $s; { "all": $append($s.all, [$x.at]), "old": $old.all }) }, { "all": [] })',
  '$reduce(numbers, function($s, $x) { { "all": $append($s.all, [$x]), "olds": $x % 9 = 0 ? $append($s.olds, [{ "was": $s.all }]) : $s.olds } }, { "all": [], "olds": [] })',
  '$reduce(numbers, function($s, $x) { { "all": $append($s.all, [$s.all]) } }, { "all": [1] }).all[0..5]',
  '$reduce([1..9], function($s, $x) { $append($s, $s) }, [1])',
  '$reduce([1..9], function($s, $x) { { "a": $append($s.a, $s.b), "b": $append($s.b, $s.a) } }, { "a": [1], "b": [2] })',
  '$reduce(numbers, function($s, $x) { { "a": $append($s.a, [$x]), "b": $x % 3 = 0 ? $s.a : $s.b } }, { "a": [], "b": [] })',
  '$reduce(numbers, function($s, $x) { $x % 3 = 0 ? { "a": $s.b, "b": $s.a } : { "a": $append($s.a, [$x]), "b": $s.b } }, { "a": [], "b": [] })',
  '$reduce(numbers, function($s, $x) { { "a": $append($s.a, [$x]), "n": $count($s.a), "last": $s.a[-1] } }, { "a": [] })',
  '$reduce(numbers, function($s, $x) { { "a": $append($s.a, [$count($s.a)]) } }, { "a": [] })',
  '$reduce(numbers, function($s, $x) { { "a": $append($append($s.a, [$x]), [$count($s.a)]) } }, { "a": [] })',
  '$reduce(numbers, function($s, $x) { { "a": $append($s.a, [$x]), "all": $append($s.all, [function() { $s.a }]) } }, { "a": [], "all": [] }).all.($())',
  '$reduce([1..9], function($s, $x) { $merge([$s, { $string($x): $s }]) }, { "a": 1 })',
  '$reduce([1..9], function($s, $x) { { "o": $merge([$s.o, { $string($x): $x }]), "p": $append($s.p, [$s.o[a = 1]]) } }, { "o": { "a": 1 }, "p": [] })',
  '$reduce([1..9], function($s, $x) { { "o": $merge([$s.o, { "a": $x }]), "p": $append($s.p, $lookup($s, "o")) } }, { "o": {}, "p": [] })',
  '($f := function($s) { $s.a }; $reduce([1..9], function($s, $x) { { "a": $append($s.a, [$x]), "b": $append($s.b, [{ "of": $f($s) }]) } }, { "a": [], "b": [] }))',
  // a fold over the result of another one
  '($one := $reduce([1..9], function($s, $x) { { "a": $append($s.a, [$x]) } }, { "a": [] }); $two := $reduce([1..9], function($s, $x) { { "a": $append($s.a, [$x]) } }, $one); [$one, $two])',
  '($one := [1, 2]; $two := $reduce([3..9], function($s, $x) { $append($s, $x) }, $one); [$one, $two])',
  '$map([1..3], function($n) { $reduce([1..$n], function($s, $x) { $append($s, [$reduce([1..$x], function($t, $y) { $append($t, $y) }, [])]) }, []) })',
  '$reduce([[1], [2]], function($s, $x) { $append($s, $x) })',
  '$reduce([[1], [2], [3], [4]], function($s, $x) { $append($s, [$x]) })',
  '$reduce([1..5], function($s, $x) { ($append := function($a, $b) { $b }; { "a": $append($s.a, $x) }) }, { "a": [] })',
  '$reduce([1..5], function($s, $x) { ($s := { "a": [7] }; { "a": $append($s.a, $x) }) }, { "a": [] })',
  '$reduce(nothing, function($s, $x) { $append($s, $x) }, [1])',
]

describe.each([...searches, ...folds])('%s', expression => {
  test.each([
    ['of anything', undefined],
    ['of an input that is known', shapeOfAll([input])],
  ])('%s', (_what, shape) => {
    const difference = differenceOf(expression, input, {}, shape)
    expect(difference, difference && describeReport({ runs: 1, seed: 0, path: undefined, difference })).toBe(undefined)
  })
})

test('a search in a loop uses an index, and a fold appends in place', () => {
  for (const expression of [
    '($l := items; $map(kinds, function($k) { $l[key = $k] }))',
    '($l := items; $map(kinds, function($k) { $filter($l, function($x) { $x.key = $k }) }))',
  ])
    expect(explain(expression)).toContain('candidates(')
  expect(explain('$reduce(items, function($s, $x) { { "all": $append($s.all, [$x]) } }, { "all": [] })')).toContain('grow(own_all, ')
  expect(explain('$reduce(items, function($s, $x) { $merge([$s, { $x.id: $x }]) }, {})')).toContain('growMerged(own, ')
})

test('a list that is also kept elsewhere is not appended to in place', () => {
  expect(explain('$reduce(items, function($s, $x) { { "all": $append($s.all, [$x]), "old": $s.all } }, {})')).not.toContain('grow(')
})
