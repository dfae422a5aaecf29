// `$name := value`.

import type { Node } from '../ast.js'
import { compile, type Env, emit } from '../context.js'
import { type Operand, ownItems } from '../types.js'
import { compileLambda } from './lambda.js'

export function compileBind(node: Node, env: Env): Operand {
  const name = String((node.lhs as Node).value)
  const { scope } = env
  const isOnce = scope.binds.get(name) === 1 && env.isStraight && scope.level === env.level
  if (isOnce && (node.rhs as Node).type === 'lambda' && !(node.rhs as Node).thunk) return compileLambda(node.rhs as Node, env, name)
  const operand = compile(node.rhs as Node, env)
  const known = scope.variables.get(name)
  if (isOnce && known === undefined) {
    const js = env.unit.name(name)
    emit(env, `const ${js} = ${operand.code}`)
    const items = ownItems(operand)
    scope.variables.set(name, { js, isAssigned: true, isConstant: true, operand: { ...operand, ...(items && { items }) } })
    return { ...operand, code: js, stable: true }
  }
  let variable = known
  if (variable === undefined) {
    variable = { js: env.unit.name(name), isAssigned: false, isConstant: false }
    scope.variables.set(name, variable)
    scope.declarations?.names.push(variable.js)
  }
  emit(env, `${variable.js} = ${operand.code}`)
  if (env.isStraight) variable.isAssigned = true
  return { ...operand, code: variable.js, stable: false }
}
