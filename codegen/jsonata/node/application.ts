// `a ~> f`, and calls with `?` in place of an argument.

import type { ApplyNode, PartialNode } from '../ast.js'
import { compile, type Env, inOrder, named, rt, value } from '../context.js'
import { elementAt } from '../element.js'
import { js } from '../js.js'
import { BUILTIN_NAMES, CALLS } from '../runtime.js'
import { ANY, argumentList, FUN, type Operand } from '../types.js'
import { compileCallWith } from './call.js'

export function compileApply(node: ApplyNode, env: Env): Operand {
  const quiet: Env = { ...env, isOutput: false }
  const right = node.rhs
  if (right.type === 'function' && !right.predicate && !right.group) {
    const left = compile(node.lhs, quiet)
    const result = compileCallWith(right, quiet, left.stable ? left : named(env, left), env.ctx)
    return result
  }
  const [left, callee] = inOrder(quiet, [() => compile(node.lhs, quiet), () => compile(right, quiet)])
  return value(js`${rt(env, CALLS, 'apply')}(${left.code}, ${callee.code})`, ANY, { raw: true })
}

export function compilePartial(node: PartialNode, env: Env): Operand {
  const quiet: Env = { ...env, isOutput: false }
  const open = rt(env, CALLS, 'OPEN')
  const procedure = node.procedure
  const args = node.arguments
  const operands = inOrder(quiet, [
    ...args.map(
      arg => (): Operand => (arg.type === 'operator' && arg.value === '?' ? { code: open, bits: ANY, stable: true } : compile(arg, quiet)),
    ),
    () => compile(procedure, quiet),
  ])
  const callee = elementAt(operands, -1)
  const isForgotten =
    procedure.type === 'path' &&
    procedure.steps[0].type === 'name' &&
    (BUILTIN_NAMES.has(procedure.steps[0].value) || env.scope.find(procedure.steps[0].value) !== undefined)
  const name = isForgotten ? 'partialForgotten' : 'partial'
  return value(js`${rt(env, CALLS, name)}(${callee.code}, [${argumentList(operands.slice(0, -1))}])`, FUN)
}
