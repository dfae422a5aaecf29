// Predicates: conditions and indexes in brackets.

import type { Node, Stage } from '../ast.js'
import { branch, closure, compile, type Env, emit, emitLoop, named, rt, value } from '../context.js'
import { whereTrue, withFacts } from '../facts.js'
import { type Js, joined, js, json } from '../js.js'
import { cannotFail, endLoop, fusedEnv, isYesOrNo, loopOf, noteLoop, openLoop } from '../loops.js'
import { listCode, truth } from '../operands.js'
import { PATHS } from '../runtime.js'
import { searched } from '../search.js'
import { ANY, ARR, itemOf, NUM, type Operand } from '../types.js'
import { Lines } from '../unit.js'
import { itemAt } from './names.js'
import { carried, withTuple } from './tuple.js'

/** Applies predicates to a value that may be a raw sequence; the result may be one, too. */
export function applyStages(operand: Operand, stages: Stage[], env: Env, of: Node): Operand {
  if (of.tuple)
    return value(
      js`${rt(env, PATHS, 'stages')}(${stageList(stages, env, withTuple(carried({ type: 'path', steps: [of] })))}, ${operand.code})`,
      ANY,
      { raw: true },
    )
  let current = operand
  stages.forEach((stage, index) => {
    const next = stages[index + 1]
    // If only the first item is wanted, the loop ends there.
    const isFirst = next?.type === 'filter' && next.expr.type === 'number' && next.expr.value === 0 && !next.expr.predicate
    if (stage.type !== 'index') current = applyPredicate(current, stage.expr, env, isFirst)
  })
  return current
}

function applyPredicate(given: Operand, predicate: Node, env: Env, isFirst = false): Operand {
  if (predicate.type === 'number' && !predicate.predicate) {
    if (given.raw) return value(js`${rt(env, PATHS, 'at')}(${given.code}, ${predicate.value})`, ANY, { raw: true })
    const temporaries: Js[] = []
    const result = itemAt(given, Math.floor(predicate.value), temporaries, env)
    if (temporaries.length > 0) emit(env, js`let ${joined(temporaries, ', ')}`)
    return result.clean ? result : { ...result, raw: (result.bits & ARR) !== 0 }
  }
  const operand = loopOf(given) ? given : searched(given, predicate, undefined, env)
  const open = isYesOrNo(predicate) ? openLoop(operand, predicate) : undefined
  const list = env.unit.name('kept')
  const inner = { ...(open ? fusedEnv(open, js`const ${list} = []`, env) : branch(env, new Lines())), isOutput: false }
  const ctx = open ? named(inner, open.item, 'item') : itemOf(operand, env.unit.name('item'))
  inner.ctx = ctx
  const test = compile(predicate, inner)
  let made = open?.made
  if (made === undefined) {
    if ((test.bits & (NUM | ARR)) !== 0) return placed(operand, predicate, test, inner, list, env)
    made = emit(env, js`const ${list} = []`)
    emitLoop(env.out, listCode(operand, env.unit), ctx.code, inner.out, env.unit, env.position)
  }
  const holds = truth(test, inner.unit)
  const facts = whereTrue(test)
  const item = withFacts(ctx, facts)
  const shape = item.shape && { shape: { bits: ARR, items: item.shape } }
  const kept = value(js`${rt(env, PATHS, 'sequenceOf')}(${list})`, ARR, { clean: ctx.clean === true, ...shape, raw: true, list })
  const isSafe = (open?.isSafe ?? true) && cannotFail(predicate)
  const loop = endLoop(list, inner, { item, test: holds, facts, made, isSafe })
  if (!isFirst || open || !isSafe) return noteLoop(kept, loop)
  emit(inner, js`if (${list}.length > 0) break`)
  return kept
}

/** A predicate that may be one index, or several: `test` is its value with `inner`'s context. */
function placed(operand: Operand, predicate: Node, test: Operand, inner: Env, list: Js, env: Env): Operand {
  // The index is the same for all items.
  if (predicate.type === 'variable' && test.stable && test.bits === NUM && test.shape?.bits === NUM)
    return value(js`${rt(env, PATHS, 'at')}(${operand.code}, ${test.code})`, ANY, { raw: true })
  if (isSameForAll(predicate, test) && inner.out.isEmpty())
    return value(js`${rt(env, PATHS, 'placedAt')}(${operand.code}, ${test.code})`, ANY, { clean: operand.clean === true, raw: true })
  if (operand.raw && operand.list === undefined) {
    // The value may be a stream of tuples.
    return value(js`${rt(env, PATHS, 'filter')}(${operand.code}, ${itemFunction(env, 'predicate', predicate)})`, ANY, { raw: true })
  }
  emit(env, js`const ${list} = []`)
  const { items, index } = emitLoop(env.out, listCode(operand, env.unit), inner.ctx.code, inner.out, env.unit, env.position)
  emit(inner, js`${rt(env, PATHS, 'keep')}(${list}, ${inner.ctx.code}, ${test.code}, ${index}, ${items}.length)`)
  return value(js`${rt(env, PATHS, 'sequenceOf')}(${list})`, ARR, { clean: inner.ctx.clean === true, raw: true, list })
}

/** A variable, or a number added to one: it is the same for every item, and cannot fail. */
function isSameForAll(predicate: Node, test: Operand): boolean {
  if (predicate.predicate || predicate.group || predicate.keepArray) return false
  if (predicate.type === 'variable') return predicate.value !== ''
  const isPlain = (node: Node): boolean =>
    (node.type === 'variable' && node.value !== '' && !node.predicate && !node.group) || node.type === 'number'
  // JavaScript's own operator is only correct for known numbers.
  return predicate.type === 'binary' && test.shape?.bits === NUM && isPlain(predicate.lhs) && isPlain(predicate.rhs)
}

export function stageList(stages: Stage[], env: Env, bind?: (inner: Env, tuple: Js) => Env): Js {
  const made = stages.map(stage => {
    if (stage.type === 'index') return js`{ index: ${json(stage.value)} }`
    if (stage.expr.type === 'number' && !stage.expr.predicate) return json(stage.expr.value)
    return itemFunction(env, 'predicate', stage.expr, bind)
  })
  return js`[${joined(made, ', ')}]`
}

/** Compiles a node to a function of an item, and of the tuple with its variables if there is one. */
export function itemFunction(env: Env, wish: string, node: Node, bind?: (inner: Env, tuple: Js) => Env): Js {
  const item = env.unit.name('item')
  const tuple = env.unit.name('tuple')
  return closure(env, wish, bind ? [item, tuple] : [item], inner => {
    const base: Env = { ...inner, ctx: { code: item, bits: ANY, stable: true }, isOutput: false }
    return compile(node, bind ? bind(base, tuple) : base).code
  })
}
