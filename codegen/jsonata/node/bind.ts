// `$name := value`.

import type { BindNode } from '../ast.js'
import { compile, type Env, emit } from '../context.js'
import { js } from '../js.js'
import { type Operand, ownItems } from '../types.js'
import { compileLambda } from './lambda.js'

export function compileBind(node: BindNode, env: Env): Operand {
  const name = node.lhs.value
  const { scope } = env
  const isOnce = scope.binds.get(name) === 1 && env.isStraight && scope.level === env.level
  if (isOnce && node.rhs.type === 'lambda' && !node.rhs.thunk) return compileLambda(node.rhs, env, name)
  const operand = compile(node.rhs, env)
  const known = scope.variables.get(name)
  if (isOnce && known === undefined) {
    const local = env.unit.name(name)
    emit(env, js`const ${local} = ${operand.code}`)
    const items = ownItems(operand)
    scope.variables.set(name, { js: local, isAssigned: true, isConstant: true, operand: { ...operand, ...(items && { items }) } })
    return { ...operand, code: local, stable: true }
  }
  let variable = known
  if (variable === undefined) {
    variable = { js: env.unit.name(name), isAssigned: false, isConstant: false }
    scope.variables.set(name, variable)
    scope.declarations?.names.push(variable.js)
  }
  emit(env, js`${variable.js} = ${operand.code}`)
  if (env.isStraight) variable.isAssigned = true
  return { ...operand, code: variable.js, stable: false, read: variable.js }
}
