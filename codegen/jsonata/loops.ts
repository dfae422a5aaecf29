// A loop over the items of a list puts what it finds into a list. Who asked for that list only to go through it again can
// stand in the loop instead: then the list is never made.

import { calledName, type Node } from './ast.js'
import { branch, type Env, knowing } from './context.js'
import { type Js, js } from './js.js'
import type { Facts, Operand } from './types.js'
import type { Line, Lines } from './unit.js'

export interface Loop {
  /** What it finds, under a name. */
  item: Operand
  body: Lines
  /** The line that puts the item into the list, the last of the body, and what holds where it does so. */
  put: Line
  test: Js | undefined
  /** What is known where it does so. */
  facts?: Facts | undefined
  /** The line that makes the list. */
  made: Line
  /** Nothing in it can fail, so that it may run turn by turn with what comes after it. */
  isSafe: boolean
}

/** Beside the operand, not in it: a copy of an operand stands for a list that somebody else may have seen. */
const loops = new WeakMap<Operand, Loop>()

/** Remembers that an operand is what a loop has just put into a list. */
export function noteLoop(operand: Operand, loop: Loop | undefined): Operand {
  if (loop) loops.set(operand, loop)
  return operand
}

export function loopOf(operand: Operand): Loop | undefined {
  return loops.get(operand)
}

/** The loop behind an operand, if `node` may be evaluated for each of its items as it comes. */
export function openLoop(operand: Operand, node: Node | undefined): Loop | undefined {
  const loop = loops.get(operand)
  return loop && (loop.isSafe || node === undefined || cannotFail(node)) ? loop : undefined
}

/** Takes the place of the list: `made` is declared instead of it; what is emitted in the result is done for each item. */
export function standIn(loop: Loop, made: Js, env: Env): Env {
  loop.made.text = made
  let out = loop.body
  if (loop.test === undefined) out.entries.splice(out.entries.indexOf(loop.put), 1)
  else {
    loop.put.text = js`if (${loop.test}) {`
    out = out.nested()
    loop.body.add(js`}`, loop.put.position)
  }
  return knowing(branch(env, out), loop.facts)
}

/** Ends a loop's body, that of `inner`: where `test` holds, if there is one, the item is put into the list. */
export function putInto(list: Js, inner: Env, loop: Omit<Loop, 'put' | 'body'>): Loop {
  const { item, test } = loop
  const put = inner.out.add(js`${test === undefined ? js`` : js`if (${test}) `}${list}.push(${item.code})`, inner.position)
  return { ...loop, body: inner.out, put }
}

const SAFE_CALLS = new Set(['exists', 'type', 'count'])

/** Whether a node's evaluation gives a value for every input, and never an error. */
export function cannotFail(node: Node): boolean {
  if (node.group) return false
  for (const stage of [...(node.predicate ?? []), ...(node.stages ?? [])])
    if (stage.type !== 'filter' || !(stage.expr.type === 'number' || isComparison(stage.expr))) return false
  switch (node.type) {
    case 'string':
    case 'number':
    case 'value':
    case 'name':
    case 'variable':
      return true
    case 'path':
      return node.steps.every(cannotFail)
    case 'binary':
      return isComparison(node)
    case 'condition':
      return isComparison(node.condition) && cannotFail(node.then) && (node.else === undefined || cannotFail(node.else))
    case 'unary':
      if (node.value === '{') return node.lhs.every(([key, value]) => key.type === 'string' && cannotFail(value))
      return node.value === '[' && node.expressions.every(cannotFail)
    case 'function':
      return SAFE_CALLS.has(calledName(node) ?? '') && node.arguments.every(cannotFail)
    default:
      return false
  }
}

/** What is true or false without asking whether a value is: that fails for an infinite number. */
export function isComparison(node: Node): boolean {
  if (node.predicate || node.group) return false
  if (node.type === 'binary') {
    const [left, right] = [node.lhs, node.rhs]
    if (node.value === '=' || node.value === '!=' || node.value === 'in') return cannotFail(left) && cannotFail(right)
    return (node.value === 'and' || node.value === 'or') && isComparison(left) && isComparison(right)
  }
  const [argument, ...more] = node.type === 'function' ? node.arguments : []
  if (argument === undefined || more.length > 0) return false
  const name = calledName(node)
  return (name === 'exists' && cannotFail(argument)) || (name === 'not' && isComparison(argument))
}

/** Whether a predicate is true or false, and nothing that could name a place. */
export function isYesOrNo(node: Node): boolean {
  if (node.predicate || node.group) return false
  if (node.type === 'binary') return COMPARISONS.has(node.value)
  return node.type === 'function' && calledName(node) === 'exists' && node.arguments.length === 1
}

const COMPARISONS = new Set(['=', '!=', 'in', 'and', 'or'])
