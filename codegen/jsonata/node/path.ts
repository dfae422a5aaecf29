// Paths. A path of plain names from a value that is not an array is a chain of property reads; from any other value it is
// the same chain, which calls the run time if it meets an array. Other steps become loops, and paths that carry variables
// (`@`, `#`, `%`) use tuples.

import type { NameNode, Node, PathNode, Stage } from '../ast.js'
import { compile, type Env, named, rt, value } from '../context.js'
import { withFacts } from '../facts.js'
import { js } from '../js.js'
import { isYesOrNo, loopOf, noteLoop } from '../loops.js'
import { choose } from '../operands.js'
import { PATHS } from '../runtime.js'
import { ANY, ARR, BOOL, eachOf, type Operand, type Shape, UNDEF } from '../types.js'
import { compileGroup } from './group.js'
import { type Cursor, walkNames } from './names.js'
import { applyStages } from './predicate.js'
import { takeStep } from './step.js'
import { tuplePath } from './tuple-path.js'

export function compilePath(node: PathNode, env: Env): Operand {
  const { steps } = node
  if (steps.some(step => step.tuple)) return tuplePath(node, env)
  const [first] = steps
  if (first.consarray) {
    const operand = named(env, first.stages ? applyStages(compile(first, env), first.stages, env, first) : compile(first, env), 'list')
    const cursor = { operand, isList: false }
    if (steps.length === 1 || first.stages || first.predicate) return pathFrom(node, cursor, 1, env)
    // An empty list ends the path as itself, because it is not a sequence.
    const atEnd = (inner: Env): Operand => pathFrom(node, { operand: { ...operand, clean: false }, isList: false }, steps.length, inner)
    return choose(env, value(js`${operand.code}.length === 0`, BOOL), atEnd, inner => pathFrom(node, cursor, 1, inner))
  }
  if (first.type !== 'variable' && env.ctx.bits & ARR && staticRun(steps, 0).length === 0) {
    return pathFrom(node, { operand: value(js`${rt(env, PATHS, 'items')}(${env.ctx.code})`, ARR), isList: true }, 0, env)
  }
  return pathFrom(node, { operand: withFacts(env.ctx, env.facts), isList: false }, 0, env)
}

/** The steps of a path from one of them on, and what follows the last. */
function pathFrom(node: PathNode, start: Cursor, from: number, env: Env): Operand {
  const { steps } = node
  const hasTail = node.group !== undefined || node.keepSingletonArray === true
  let cursor = start
  const stepFrom = (index: number): Cursor => {
    const isLast = index === steps.length - 1
    const isOutput = isLast && env.isOutput === true && !hasTail && !node.predicate
    const step = steps[index]
    if (step === undefined) return cursor
    return takeStep(cursor, step, { isLast, isFirst: index === 0, hasTail }, { ...env, isOutput })
  }
  for (let index = from; index < steps.length; ) {
    const run = staticRun(steps, index)
    const names = steps.slice(index, index + run.filter(step => typeof step === 'string').length)
    const next = steps[index + names.length]
    if (isListInSight(cursor) || (run.length === 0 && index === 0)) {
      cursor = stepFrom(index)
      index++
    } else if (next && isFilteredName(next)) {
      // Filtering the joined list or each of its parts leaves the same items.
      cursor = walkNames(cursor.operand, [...run, next.value], [...names, next], 'filtered', env)
      cursor = { operand: applyStages(cursor.operand, next.stages, env, next), isList: false }
      index += names.length + 1
    } else if (run.length > 0) {
      index += names.length
      const isLast = index === steps.length
      cursor = walkNames(cursor.operand, run, names, isLast && !hasTail ? 'value' : 'items', env)
      if (isLast && hasTail && !cursor.isList) cursor.operand = { ...cursor.operand, raw: false }
    } else {
      cursor = stepFrom(index)
      index++
    }
  }
  if (node.group) return compileGroup(node.group.lhs, cursor.operand, env)
  if (node.keepSingletonArray) return keptList(cursor, env)
  return cursor.isList ? collapseList(cursor.operand, env) : cursor.operand
}

/** A name with boolean predicates, which do not depend on the index. */
function isFilteredName(node: Node): node is NameNode & { stages: Stage[] } {
  const { stages = [] } = node
  return (
    node.type === 'name' && !node.keepArray && stages.length > 0 && stages.every(stage => stage.type === 'filter' && isYesOrNo(stage.expr))
  )
}

/** Whether the path has reached a list that compiled code has just made: a loop can continue it directly. */
function isListInSight({ operand, isList }: Cursor): boolean {
  return isList || (!operand.stable && operand.list !== undefined)
}

/** The longest run of names and indexes from a step of a path. */
function staticRun(steps: Node[], from: number): (string | number)[] {
  const run: (string | number)[] = []
  for (const step of steps.slice(from)) {
    if (step.type !== 'name' || (step.keepArray && step.stages)) break
    const positions: number[] = []
    for (const stage of step.stages ?? []) {
      if (stage.type !== 'filter' || stage.expr.type !== 'number' || stage.expr.predicate) return run
      positions.push(Math.floor(stage.expr.value))
    }
    run.push(step.value, ...positions)
  }
  return run
}

/** The value of a list of a path's results. */
function collapseList(list: Operand, env: Env): Operand {
  if (list.raw) return list
  const item = list.shape?.items
  if (item && (item.bits & ARR) === 0) {
    const each = eachOf({ ...list, list: list.code })
    const known = { clean: list.clean === true, ...(each && { each }) }
    return noteLoop(value(js`${rt(env, PATHS, 'loneOf')}(${list.code})`, ARR | UNDEF | item.bits, known), loopOf(list))
  }
  return value(js`${rt(env, PATHS, 'loneOf')}(${list.code})`, ANY, { clean: list.clean === true })
}

function keptList(cursor: Cursor, env: Env): Operand {
  const { operand } = cursor
  const item = cursor.isList ? operand.shape?.items : undefined
  const shape: Shape = { bits: ARR, ...(item && { items: item }) }
  if (!cursor.isList && operand.bits === ARR && operand.clean) return operand
  const keep = cursor.isList ? (operand.raw ? 'keptList' : 'keptFound') : 'keptOf'
  return value(js`${rt(env, PATHS, keep)}(${operand.code})`, ARR | UNDEF, { clean: operand.clean === true, shape })
}
