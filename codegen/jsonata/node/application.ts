// `a ~> f`, and calls with `?` in place of an argument.

import type { Node } from '../ast.js'
import { compile, type Env, inOrder, named, rt, value } from '../context.js'
import { BUILTIN_NAMES, CALLS } from '../runtime.js'
import { ANY, FUN, type Operand } from '../types.js'
import { compileCallWith } from './call.js'

export function compileApply(node: Node, env: Env): Operand {
  const quiet: Env = { ...env, isOutput: false }
  const right = node.rhs as Node
  if (right.type === 'function' && !right.predicate && !right.group) {
    const left = compile(node.lhs as Node, quiet)
    const result = compileCallWith(right, quiet, left.stable ? left : named(env, left), env.ctx)
    return result
  }
  const [left, callee] = inOrder(quiet, [() => compile(node.lhs as Node, quiet), () => compile(right, quiet)]) as [Operand, Operand]
  return value(`${rt(env, CALLS, 'apply')}(${left.code}, ${callee.code})`, ANY, { raw: true })
}

export function compilePartial(node: Node, env: Env): Operand {
  const quiet: Env = { ...env, isOutput: false }
  const open = rt(env, CALLS, 'OPEN')
  const procedure = node.procedure as Node
  const args = node.arguments ?? []
  const operands = inOrder(quiet, [
    ...args.map(
      arg => () => (arg.type === 'operator' && arg.value === '?' ? { code: open, bits: ANY, stable: true } : compile(arg, quiet)),
    ),
    () => compile(procedure, quiet),
  ])
  const callee = operands.pop() as Operand
  const isForgotten =
    procedure.type === 'path' &&
    procedure.steps?.[0]?.type === 'name' &&
    (BUILTIN_NAMES.has(String(procedure.steps[0].value)) || env.scope.find(String(procedure.steps[0].value)) !== undefined)
  const name = isForgotten ? 'partialForgotten' : 'partial'
  return value(`${rt(env, CALLS, name)}(${callee.code}, [${operands.map(operand => operand.code).join(', ')}])`, FUN)
}
