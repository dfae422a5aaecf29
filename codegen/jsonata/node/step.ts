// A step of a path that is not a run of names.

import type { Node, SortNode } from '../ast.js'
import { branch, compile, type Env, emit, named, rt, value } from '../context.js'
import { type Js, joined, js, json } from '../js.js'
import { noteLoop } from '../loops.js'
import { FUNCTIONS, PATHS } from '../runtime.js'
import { ANY, ARR, FUN, listShape, type Operand, UNDEF } from '../types.js'
import { Lines } from '../unit.js'
import { gather } from './gather.js'
import { type Cursor, checkKnown, read } from './names.js'
import { applyStages, itemFunction, stageList } from './predicate.js'

interface StepOrder {
  isFirst: boolean
  isLast: boolean
  /** Something follows the last step. */
  hasTail: boolean
}

export function takeStep(cursor: Cursor, step: Node, { isFirst, isLast, hasTail }: StepOrder, env: Env): Cursor {
  if (step.type === 'sort') return takeSort(cursor, step, env)
  // A list that the step constructs is one item for the next step.
  const isOne = step.consarray === true && !isLast
  if (!cursor.isList && ((cursor.operand.bits & ARR) === 0 || isFirst) && !isOne)
    return stepOnValue(cursor.operand, step, isLast, isFirst, env)
  const { list, found, loop } = gather(cursor.operand, step, env, inner => {
    const operand = stepValue(step, inner)
    return step.stages ? applyStages(operand, step.stages, inner, step) : operand
  })
  const clean = found.clean === true
  if ((found.bits & ARR) === 0)
    return { operand: noteLoop({ code: list, bits: ARR, stable: true, clean, shape: listShape(found) }, loop), isList: true }
  if (isLast && !hasTail && !found.raw) return { operand: value(js`${rt(env, PATHS, 'gathered')}(${list})`, ANY, { clean }), isList: false }
  return { operand: value(js`${rt(env, PATHS, 'flatten')}(${list}, ${json(isLast)})`, ARR, { clean, raw: true }), isList: true }
}

function stepOnValue(subject: Operand, step: Node, isLast: boolean, isFirst: boolean, env: Env): Cursor {
  const run = (inner: Env): Operand => {
    let operand = stepValue(step, inner)
    if (step.stages) operand = applyStages(operand, step.stages, inner, step)
    // The step flattens a single list that `[]` kept.
    if (isLast && !operand.clean && (operand.bits & ARR) !== 0)
      operand = { ...operand, code: js`${rt(env, PATHS, 'unkept')}(${operand.code})`, stable: false }
    return operand
  }
  if (isFirst || (subject.bits & UNDEF) === 0) {
    const ctx = named(env, subject)
    return { operand: run({ ...env, ctx }), isList: false }
  }
  const ctx = named(env, subject)
  const name = env.unit.name('t')
  emit(env, js`let ${name}`)
  emit(env, js`if (${ctx.code} !== undefined) {`)
  const out = new Lines()
  const operand = run({ ...branch(env, out), ctx: { ...ctx, bits: ctx.bits & ~UNDEF } })
  out.add(js`${name} = ${operand.code}`, env.position)
  env.out.entries.push(out)
  emit(env, js`}`)
  return { operand: { ...operand, code: name, stable: true, bits: operand.bits | UNDEF }, isList: false }
}

/** A step's value for one item, before its predicates. */
function stepValue(step: Node, env: Env): Operand {
  if (step.type !== 'name' || step.keepArray) return compile(step, env)
  const name = step.value
  const { ctx } = env
  checkKnown(ctx.shape, name, step, env)
  if ((ctx.bits & ARR) === 0) return read(ctx, name, env)
  const found = read({ ...ctx, bits: ctx.bits & ~ARR }, name, env)
  const walked = js`${rt(env, PATHS, 'collapse')}(${rt(env, FUNCTIONS, 'lookup')}(${ctx.code}, ${json(name)}))`
  return value(js`(isArray(${ctx.code}) ? ${walked} : ${found.code})`, ctx.clean ? ANY & ~FUN : ANY, { clean: ctx.clean === true })
}

function takeSort(cursor: Cursor, step: SortNode, env: Env): Cursor {
  const terms = sortTerms(step, env)
  const found = cursor.operand.code
  const list = cursor.isList
    ? cursor.operand.raw
      ? found
      : js`${rt(env, PATHS, 'sequenceOf')}(${found})`
    : js`${rt(env, PATHS, 'sequenceFrom')}(${found})`
  let operand = value(js`${rt(env, PATHS, 'orderBy')}(${list}, ${terms})`, ARR, { raw: true })
  if (step.stages) operand = value(js`${rt(env, PATHS, 'stages')}(${stageList(step.stages, env)}, ${operand.code})`, ARR, { raw: true })
  return { operand, isList: true }
}

export function sortTerms(step: SortNode, env: Env, bind?: (inner: Env, tuple: Js) => Env): Js {
  const terms = step.terms.map(term => js`[${itemFunction(env, 'term', term.expression, bind)}, ${json(term.descending)}]`)
  return js`[${joined(terms, ', ')}]`
}
