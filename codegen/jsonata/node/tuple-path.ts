// A path that carries variables: each step makes tuples of tuples.

import type { PathNode } from '../ast.js'
import { branch, compile, type Env, emit, rt, value } from '../context.js'
import { type Js, joined, js, json } from '../js.js'
import { PATHS } from '../runtime.js'
import { ANY, ARR, type Operand } from '../types.js'
import { Lines } from '../unit.js'
import { compileGroup } from './group.js'
import { itemFunction, stageList } from './predicate.js'
import { sortTerms, takeStep } from './step.js'
import { carried, withTuple } from './tuple.js'

export function tuplePath(node: PathNode, env: Env): Operand {
  const { steps } = node
  const first = steps[0]
  const names = new Set<string>()
  const items = env.unit.name('items')
  const tuples = env.unit.name('tuples')
  const start = first.type === 'variable' ? js`[${env.ctx.code}]` : js`${rt(env, PATHS, 'items')}(${env.ctx.code})`
  emit(env, js`let ${items} = ${start}`)
  emit(env, js`let ${tuples}`)
  const firstTuple = steps.findIndex(step => step.tuple)
  // If a step before the first one with variables yields undefined, the path ends there.
  const label = env.unit.name('path')
  const hasExit = firstTuple > 0
  const body = hasExit ? new Lines() : env.out
  if (hasExit) emit(env, js`${label}: {`)
  const inner = hasExit ? branch(env, body) : env
  steps.forEach((step, index) => {
    if (index === 0 && step.consarray) {
      const operand = compile(step, { ...inner, isOutput: false })
      emit(inner, step.focus === undefined ? js`${items} = ${operand.code}` : js`void ${operand.code}`)
      if (hasExit) emit(inner, js`if (${items} === undefined || ${items}.length === 0) break ${label}`)
      return
    }
    if (index < firstTuple) {
      const cursor = takeStep(
        { operand: { code: items, bits: ARR, stable: true, raw: true }, isList: true },
        step,
        { isFirst: false, isLast: index === steps.length - 1, hasTail: true },
        { ...inner, isOutput: false },
      )
      emit(inner, js`${items} = ${cursor.operand.raw ? cursor.operand.code : js`${rt(env, PATHS, 'sequenceOf')}(${cursor.operand.code})`}`)
      emit(inner, js`if (${items} === undefined || ${items}.length === 0) break ${label}`)
      return
    }
    const before = withTuple(new Set(names))
    for (const name of carried({ type: 'path', steps: [step] })) names.add(name)
    const after = withTuple(new Set(names))
    const parts: Js[] = []
    if (step.type === 'sort') parts.push(js`terms: ${sortTerms(step, inner, before)}`)
    else parts.push(js`run: ${itemFunction(inner, 'step', step, before)}`)
    if (step.focus) parts.push(js`focus: ${json(step.focus)}`)
    if (step.index) parts.push(js`index: ${json(step.index)}`)
    if (step.ancestor) parts.push(js`ancestor: ${json(step.ancestor.label)}`)
    if (step.stages) parts.push(js`stages: ${stageList(step.stages, inner, after)}`)
    emit(inner, js`${tuples} = ${rt(env, PATHS, 'tupleStep')}({ ${joined(parts, ', ')} }, ${items}, ${tuples})`)
  })
  if (hasExit) {
    env.out.entries.push(body)
    emit(env, js`}`)
  }
  if (node.group) return compileGroup(node.group.lhs, value(js`(${tuples} ?? ${items})`), env, withTuple(names))
  let result = node.tuple
    ? js`(${tuples} ?? ${items})`
    : js`(${tuples} === undefined ? ${items} : ${rt(env, PATHS, 'valuesOf')}(${tuples}))`
  if (node.keepSingletonArray) result = js`${rt(env, PATHS, 'keepSingleton')}(${result})`
  return value(result, ANY, { raw: true, nested: true })
}
