// Functions, and their tail calls.

import { builtins } from '../../../engine/jsonata/signature.js'
import { calledName, type FunctionNode, type LambdaNode, type Node, type ThunkNode } from '../ast.js'
import { parametersOf } from '../builtins.js'
import { compile, type Env, emit, inOrder, rt, value } from '../context.js'
import { arrow, type Js, joined, js, json } from '../js.js'
import { CALLS, SIGNATURE } from '../runtime.js'
import { bindsOf, Scope, type Variable } from '../scope.js'
import { ANY, argumentList, FUN, literal, type Operand, type Result, resultOf } from '../types.js'
import { Lines } from '../unit.js'
import { compileCallWith } from './call.js'
import { bodyWith } from './lambda-body.js'
import { findVariable } from './variable.js'

/** A lambda as a constant; `name` is the variable that it is bound to, by which it may call itself. */
export function compileLambda(node: LambdaNode, env: Env, name?: string): Operand {
  const params = node.arguments.map(param => param.value)
  const local = env.unit.name(name ?? 'lambda')
  let variable: Variable | undefined
  if (name !== undefined) {
    const known = env.scope.variables.get(name)
    if (known) {
      // An inner function read it before: its declaration is at the beginning of the frame.
      const operand = compileLambda(node, env)
      emit(env, js`${known.js} = ${operand.code}`)
      known.isAssigned = true
      return { ...operand, code: known.js, stable: false, read: known.js }
    }
    variable = { js: local, isAssigned: true, isConstant: true, operand: { code: local, bits: FUN, stable: true } }
    if (!node.signature)
      variable.lambda = {
        arity: params.length,
        mayTailCall: false,
        takesContext: tailTakesContext(node.body),
      }
    env.scope.variables.set(name, variable)
  }
  const attempt = (mayTailCall: boolean): { out: Lines; code: Js; found: boolean; result: Result; names: Js[] } => {
    const out = new Lines()
    const scope = new Scope(env.scope, bindsOf([node.body]), out.declarations(), env.level + 1)
    const names = params.map((param, index) => {
      const unique = env.unit.name(param)
      if (params.indexOf(param) === index || params.lastIndexOf(param) === index) {
        scope.variables.set(param, {
          js: unique,
          isAssigned: true,
          isConstant: !scope.binds.has(param),
          operand: { code: unique, bits: ANY, stable: true },
        })
      }
      return unique
    })
    const tailCalls = { found: false, isRaw: false }
    const inner: Env = { ...env, out, scope, level: env.level + 1, isStraight: true, isOutput: false, mayTailCall, tailCalls }
    const result = bodyWith(compileTail, node.body, inner)
    const known = resultOf(result)
    return { out, code: result.code, found: tailCalls.found, result: { ...known, raw: known.raw === true || tailCalls.isRaw }, names }
  }
  const { out, code, found, result, names } = attempt(true)
  if (variable?.lambda) {
    variable.lambda.result = result
    variable.lambda.mayTailCall = found
  }
  const before = found ? js`${rt(env, CALLS, 'trampolined')}(` : js``
  const after = found ? js`)` : js``
  const bodyName = node.signature ? env.unit.name(`${local}_body`) : local
  if (out.isEmpty()) {
    emit(env, js`const ${bodyName} = ${before}${arrow(names, code)}${after}`)
  } else {
    emit(env, js`const ${bodyName} = ${before}(${joined(names, ', ')}) => {`)
    out.add(js`return ${code}`, env.position)
    env.out.entries.push(out)
    emit(env, js`}${after}`)
  }
  if (node.signature) {
    const validate = env.unit.constant('arguments_of', js`${rt(env, SIGNATURE, 'signature')}(${json(node.signature.definition)})`)
    emit(env, js`const ${local} = ${rt(env, CALLS, 'signed')}(${validate}, ${bodyName})`)
  }
  return { code: local, bits: FUN, stable: true, ...(!found && !node.signature && { returns: result }) }
}

/** Whether a lambda may end in a built-in that uses its caller's context for a missing argument. */
function tailTakesContext(node: Node): boolean {
  if (node.type === 'lambda' && node.thunk) {
    const name = calledName(node.body)
    return name !== undefined && isGivenContext(name, node.body)
  }
  if (node.type === 'condition') return [node.then, node.else].some(arm => arm !== undefined && tailTakesContext(arm))
  const last = node.type === 'block' ? node.expressions.at(-1) : undefined
  return last !== undefined && tailTakesContext(last)
}

/** Whether a call of a built-in omits an argument that the context replaces. */
function isGivenContext(name: string, call: FunctionNode): boolean {
  if (!Object.hasOwn(builtins, name)) return false
  const params = parametersOf(name)
  return params.some(param => param.contextual) && call.arguments.length < params.length
}

/** The last call of a lambda: unless it is known to terminate, it is returned to the caller, so that it needs no stack. */
export function compileTail(node: ThunkNode, env: Env): Operand {
  const call = node.body
  const procedure = call.procedure
  const name = calledName(call)
  const variable = name === undefined ? undefined : findVariable(name, env)
  const isBuiltin = name !== undefined && variable === undefined
  // A built-in that replaces a missing argument by the context uses the context of this lambda's caller.
  const takesContext = isBuiltin && isGivenContext(name, call)
  const isPlain = variable?.lambda?.result !== undefined && variable.isConstant && !variable.lambda.mayTailCall
  if (!env.mayTailCall || (isBuiltin && !takesContext) || isPlain) {
    const operand = compileCallWith(call, { ...env, isTail: true }, undefined, literal(null))
    if (operand.raw && env.tailCalls) env.tailCalls.isRaw = true
    return operand
  }
  const quiet: Env = { ...env, isOutput: false }
  delete quiet.mayTailCall
  const [callee, ...given] = inOrder(quiet, [() => compile(procedure, quiet), ...call.arguments.map(arg => () => compile(arg, quiet))])
  if (env.tailCalls) {
    env.tailCalls.found = true
    env.tailCalls.isRaw = true
  }
  return value(js`new (${rt(env, CALLS, 'TailCall')})(${callee.code}, [${argumentList(given)}])`, ANY, {
    raw: true,
  })
}
