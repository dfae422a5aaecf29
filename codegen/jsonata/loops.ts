// Fuses loops. A loop collects its results in a list; if another loop only iterates over that list, its body can run in the
// first loop, and the list is never made.

import { calledName, type Node } from './ast.js'
import { branch, type Env, envWithFacts } from './context.js'
import { type Js, js } from './js.js'
import type { Facts, Operand } from './types.js'
import type { Line, Lines } from './unit.js'

export interface Loop {
  /** The item that is found, as a name. */
  item: Operand
  body: Lines
  /** The line that adds the item to the list, the last of the body. */
  put: Line
  test: Js | undefined
  /** The facts that hold at that line. */
  facts?: Facts | undefined
  /** The line that creates the list. */
  made: Line
  /** Nothing in it can fail, so it may be interleaved with the code after it. */
  isSafe: boolean
}

/** Kept in a WeakMap and not in the operand: a copy of the operand is a list that other code may have seen. */
const loops = new WeakMap<Operand, Loop>()

/** Notes that an operand is the list that a loop has just made. */
export function noteLoop(operand: Operand, loop: Loop | undefined): Operand {
  if (loop) loops.set(operand, loop)
  return operand
}

export function loopOf(operand: Operand): Loop | undefined {
  return loops.get(operand)
}

/** The loop behind an operand, if `node` may be evaluated inside it for each item. */
export function openLoop(operand: Operand, node: Node | undefined): Loop | undefined {
  const loop = loops.get(operand)
  return loop && (loop.isSafe || node === undefined || cannotFail(node)) ? loop : undefined
}

/** Replaces the list: declares `made` in its place; lines of the returned environment run for each item. */
export function fusedEnv(loop: Loop, made: Js, env: Env): Env {
  loop.made.text = made
  let out = loop.body
  if (loop.test === undefined) out.entries.splice(out.entries.indexOf(loop.put), 1)
  else {
    loop.put.text = js`if (${loop.test}) {`
    out = out.nested()
    loop.body.add(js`}`, loop.put.position)
  }
  return envWithFacts(branch(env, out), loop.facts)
}

/** Ends the body of a loop: adds the item to the list if `test`, when given, holds. */
export function endLoop(list: Js, inner: Env, loop: Omit<Loop, 'put' | 'body'>): Loop {
  const { item, test } = loop
  const put = inner.out.add(js`${test === undefined ? js`` : js`if (${test}) `}${list}.push(${item.code})`, inner.position)
  return { ...loop, body: inner.out, put }
}

const SAFE_CALLS = new Set(['exists', 'type', 'count'])

/** Whether a node has a value for every input, and never an error. */
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

/** Comparisons with a boolean result that do not check their operands: that check fails for an infinite number. */
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

/** Whether a predicate is boolean and can never be an index. */
export function isYesOrNo(node: Node): boolean {
  if (node.predicate || node.group) return false
  if (node.type === 'binary') return COMPARISONS.has(node.value)
  return node.type === 'function' && calledName(node) === 'exists' && node.arguments.length === 1
}

const COMPARISONS = new Set(['=', '!=', 'in', 'and', 'or'])
