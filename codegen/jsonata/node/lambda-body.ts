// The body of a lambda that becomes a loop's body.

import type { Node, ThunkNode } from '../ast.js'
import { compile, type Env, emit, rt, value } from '../context.js'
import { type Js, js } from '../js.js'
import { PATHS } from '../runtime.js'
import { bindsOf, Scope } from '../scope.js'
import { literal, NUM, type Operand } from '../types.js'
import { compileBlock } from './block.js'
import { compileCondition } from './condition.js'

export function indexOf(name: Js): Operand {
  return { code: name, bits: NUM, stable: true, clean: true, shape: { bits: NUM } }
}

/** The environment of a lambda's body in a loop, with its parameters bound. */
export function iteration(node: Node, params: string[], operands: Operand[], env: Env): Env {
  const scope = new Scope(env.scope, bindsOf([node]), env.out.declarations(), env.level)
  const inner: Env = { ...env, scope, isStraight: true }
  delete inner.mayTailCall
  params.forEach((param, index) => {
    const operand = operands[index]
    if (operand === undefined) return
    // A parameter that the body reassigns needs its own variable.
    if (scope.binds.has(param)) {
      const local = env.unit.name(param)
      emit(env, js`let ${local} = ${operand.code}`)
      scope.variables.set(param, { js: local, isAssigned: true, isConstant: false })
    } else {
      scope.variables.set(param, { js: operand.code, isAssigned: true, isConstant: true, operand })
    }
  })
  return inner
}

/** A lambda's body inside a loop: its tail calls are plain calls, whose results are not collapsed. */
export function bodyOf(node: Node, env: Env): Operand {
  return bodyWith(compileLast, node, env)
}

const compileLast = (node: ThunkNode, env: Env): Operand =>
  env.compilers.call(node.body, { ...env, isTail: true }, undefined, literal(null))

/** A lambda's body; `last` compiles a call at its end. */
export function bodyWith(last: (node: ThunkNode, env: Env) => Operand, node: Node, env: Env): Operand {
  const inner = (one: Node, at: Env): Operand => bodyWith(last, one, at)
  if (node.type === 'lambda' && node.thunk) return last(node, env)
  if (node.type === 'condition' && !node.predicate && !node.group) return finishRaw(compileCondition(node, env, inner), node, env)
  if (node.type === 'block' && !node.predicate && !node.group) return finishRaw(compileBlock(node, env, inner), node, env)
  return compile(node, env)
}

function finishRaw(operand: Operand, node: Node, env: Env): Operand {
  return node.keepArray ? value(js`${rt(env, PATHS, 'keepArray')}(${operand.code})`, operand.bits) : operand
}
