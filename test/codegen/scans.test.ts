// The compiler makes indexes for searches in loops if it can. The remaining searches are listed here, each with the reason why
// its cost does not grow with the square of a caller's input.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readProject } from '../../codegen/read/project.js'
import type { MappingData, MappingStep as Step } from '../../schemas/config/types.js'
import { scansIn } from './scans.js'

const known: Readonly<Record<string, string>> = {}

type Expression = [where: string, text: string, isRepeated: boolean]

function expressionsOf(data: MappingData): Expression[] {
  const whole = (['carry', 'fetch', 'request', 'split', 'join', 'failure', 'location', 'response'] as const).map(
    (name): Expression => [name, data[name] ?? '', false],
  )
  const rules = Object.entries({ ...data.fields?.dropped, ...data.fields?.refused }).map(
    ([path, rule]): Expression => [path, typeof rule === 'string' ? '' : (rule.when ?? ''), false],
  )
  const lets = (list: Record<string, string> = {}): Expression[] =>
    Object.entries(list).map(([name, text]) => [`stream, ${name}`, text, true])
  const steps = (list: readonly Step[] = []): Expression[] =>
    list.flatMap(step => [
      ...[step.when, step.for, step.set, step.emit].map((text): Expression => [`stream, ${step.name}`, text ?? '', true]),
      ...lets(step.let),
      ...steps(step.steps),
    ])
  return [...whole, ...functionsIn(data.define), ...rules, ...lets(data.stream?.let), ...steps(data.stream?.steps)].filter(
    ([, text]) => text !== '',
  )
}

function functionsIn(list: Record<string, string> = {}): Expression[] {
  return Object.entries(list).map(([name, text]) => [name, text, false])
}

test('mappings search lists in loops with an index, or are listed with a reason', () => {
  const project = readProject([join(import.meta.dirname, '../..')])
  const library = [...project.library].map(([name, { text }]): Expression => [`library ${name}`, text, false])
  const parts = [...project.parts].flatMap(([part, { data }]) =>
    functionsIn(data.functions).map(([name, text]): Expression => [`${part} ${name}`, text, false]),
  )
  const found = [...project.mappings].flatMap(([pair, { data }]) =>
    expressionsOf(data).flatMap(([where, text, isRepeated]) => scansIn(text, isRepeated).map(list => `${pair} ${where}: ${list}`)),
  )
  const shared = [...library, ...parts].flatMap(([where, text]) => scansIn(text).map(list => `${where}: ${list}`))
  expect([...new Set([...found, ...shared])].sort()).toEqual(Object.keys(known).sort())
})

test.each([
  ['$map(a, function($x) { $list[type = "a"] })', ['$list']],
  ['$map(a, function($x) { $filter($list, function($y) { $y.n > $x.n }) })', ['$list']],
  ['$map(a, function($x) { $filter($list, function($y, $i) { $y.n = $x.n }) })', ['$list']],
  ['a.($list.items[$exists(b)])', ['$list.items']],
  ['$reduce(a, function($sum, $x) { $append($sum, $list[n != $x]) }, [])', ['$list']],
  ['$list[type = "a"][$count($others[b > 1]) > 0]', ['$others']],
  // with an index, in an item's own list, at a position, or once
  ['$map(a, function($x) { $list[n = $x.n] })', []],
  ['$map(a, function($x) { $filter($list, function($y) { $y.n = $x.n }) })', []],
  ['$map(a, function($x) { $x.list[type = "a"] })', []],
  ['$map(a, function($x, $i) { $list[$i - 1] })', []],
  ['$map(a, function($x, $i) { $list[0] })', []],
  ['$list[type = "a"]', []],
])('finds the searches of %s', (expression, lists) => {
  expect(scansIn(expression)).toEqual(lists)
})
