// Searches of a list for items with a member of some value, which is the same for all items. A repeated search uses an
// index (engine/jsonata/search.ts); the candidates are still tested one by one, so results stay the same.

import { type NameNode, type Node, some } from './ast.js'
import { compile, type Env, named, rt } from './context.js'
import { js, json } from './js.js'
import { cannotFail, isComparison } from './loops.js'
import { listCode } from './operands.js'
import { SEARCH } from './runtime.js'
import { ARR, isLiteral, OBJ, type Operand, UNDEF } from './types.js'

/** The compared members, and the value. */
interface Search {
  path: string[]
  value: Node
}

/** The list without most of the items that fail a condition. `item` is the name of a lambda's item; undefined: the context. */
export function searched(list: Operand, condition: Node, item: string | undefined, env: Env): Operand {
  const search = searchIn(condition, item)
  if (search === undefined || (list.bits & ARR) === 0 || !isKept(list)) return list
  const value = compile(search.value, { ...env, isOutput: false })
  if (isLiteral(value) || (value.bits & ~(ARR | OBJ)) === 0) return list
  const path = env.unit.constant(`member_${search.path.join('_')}`, json(search.path))
  const items = named(env, { code: listCode(list, env.unit), bits: ARR, stable: false }, 'list')
  const found = js`${rt(env, SEARCH, 'candidates')}(${items.code}, ${path}, ${named(env, value).code})`
  const { shape, clean, each } = list
  const known: Partial<Operand> = { clean: clean === true, ...(each && { each: { shape: each.shape, clean: each.clean } }) }
  // The items' shape is known only if the value is certainly a list.
  if (shape && (list.bits & ~(ARR | UNDEF)) === 0) known.shape = { ...shape, bits: ARR }
  return { code: found, bits: ARR, stable: false, ...known }
}

/** Whether a list may be searched again: not one that was just made. */
function isKept({ list, each, stable }: Operand): boolean {
  return stable || (list === undefined && each?.list === undefined)
}

/** The comparison that a condition begins with, or that follows only comparisons which cannot fail. */
export function searchIn(condition: Node, item: string | undefined): Search | undefined {
  if (condition.predicate || condition.group || condition.type !== 'binary') return undefined
  const [left, right] = [condition.lhs, condition.rhs]
  if (condition.value === 'and') return searchIn(left, item) ?? (isComparison(left) ? searchIn(right, item) : undefined)
  if (condition.value !== '=') return undefined
  return searchFor(left, right, item) ?? searchFor(right, left, item)
}

function searchFor(key: Node, value: Node, item: string | undefined): Search | undefined {
  const path = memberPath(key, item)
  return path && isSameForAll(value, item) ? { path, value } : undefined
}

function memberPath(node: Node, item: string | undefined): string[] | undefined {
  if (node.type !== 'path' || node.predicate || node.group || node.keepSingletonArray || node.keepArray || node.tuple) return undefined
  const [first, ...rest] = node.steps
  const steps = item === undefined ? [first, ...rest] : rest
  if (item !== undefined && (first.type !== 'variable' || first.value !== item || first.predicate || first.stages)) return undefined
  const isName = (step: Node): step is NameNode =>
    step.type === 'name' && !step.stages && !step.predicate && !step.keepArray && !step.tuple && !step.focus && !step.index && !step.group
  return steps.length > 0 && steps.every(isName) ? steps.map(step => step.value) : undefined
}

/** A variable, or members of one, that does not depend on the item: it is the same for every item, and cannot fail. */
function isSameForAll(node: Node, item: string | undefined): boolean {
  const first = node.type === 'path' ? node.steps[0] : node
  if (first?.type !== 'variable' || first.value === '' || first.value === item) return false
  if (node.type === 'path' && !node.steps.slice(1).every(step => step.type === 'name')) return false
  return cannotFail(node) && !some(node, child => child !== first && child.type === 'variable')
}
