// A variable: of a frame, from outside, or a built-in as a value.

import { builtins } from '../../../engine/jsonata/signature.js'
import type { Node } from '../ast.js'
import { NONDETERMINISTIC } from '../builtins.js'
import { type Env, report, rt, value } from '../context.js'
import { withFacts } from '../facts.js'
import { js, json } from '../js.js'
import { BUILTIN_NAMES, PATHS, SIGNATURE } from '../runtime.js'
import { EMPTY, type Scope, type Variable } from '../scope.js'
import { ANY, ARR, FUN, type Operand } from '../types.js'

export function readVariable(name: string, node: Node, env: Env): Operand {
  if (name === '') {
    if ((env.ctx.bits & ARR) === 0 || env.ctx.clean) return withFacts(env.ctx, env.facts)
    return value(js`${rt(env, PATHS, 'self')}(${env.ctx.code})`, env.ctx.bits, { raw: true })
  }
  if (name === '$') return env.root
  for (let scope: Scope | undefined = env.scope; scope; scope = scope.parent) {
    let variable = scope.variables.get(name)
    if (variable === undefined && scope.binds.has(name) && scope.level < env.level) {
      // An inner function may read a variable that its frame assigns later, because it may run after that.
      variable = { js: env.unit.name(name), isAssigned: false, isConstant: false }
      scope.variables.set(name, variable)
      scope.declarations?.names.push(variable.js)
    }
    if (variable === undefined) continue
    if (variable.isAssigned || !isKnownOutside(name, scope.parent, env)) {
      const known = variable.operand
      if (!variable.isConstant) return { code: variable.js, bits: ANY, stable: false, read: variable.js }
      return withFacts({ ...(known ?? { bits: ANY }), code: variable.js, stable: true }, env.facts)
    }
    // It is assigned on some paths only, and an outer frame has a variable of that name.
    const outer = readVariable(name, node, { ...env, scope: scope.parent ?? EMPTY })
    return value(js`(${variable.js} === undefined ? ${outer.code} : ${variable.js})`)
  }
  const global = env.options.globals?.get(name)
  if (global) {
    if (global.operand) return withFacts(global.operand, env.facts)
    if (global.arity !== undefined) return { code: global.code, bits: FUN, stable: true }
    const clean = global.clean ?? true
    const bits = global.bits ?? global.shape?.bits ?? (clean ? ANY & ~FUN : ANY)
    const { code, shape, lasting } = global
    return withFacts({ code, bits, stable: true, clean, ...(shape && { shape }), ...(lasting && { lasting }) }, env.facts)
  }
  return builtinAsValue(name, node, env)
}

function isKnownOutside(name: string, scope: Scope | undefined, env: Env): boolean {
  return scope?.find(name) !== undefined || env.options.globals?.has(name) === true || env.options.open === true || BUILTIN_NAMES.has(name)
}

function builtinAsValue(name: string, node: Node, env: Env): Operand {
  const refused = env.options.open ? undefined : refusedBuiltin(name, node, env)
  if (refused) return refused
  if (BUILTIN_NAMES.has(name)) {
    const isPicture = builtins[name]?.module === 'pictures'
    const make = isPicture ? rt(env, 'pictures', 'pictureValue') : rt(env, SIGNATURE, 'builtinValue')
    const code = env.unit.constant(`${name}_value`, js`${make}(${json(name)})`)
    if (!env.options.open) return { code, bits: FUN, stable: true }
    return value(js`(${json(name)} in bindings ? bindings[${json(name)}] : ${code})`)
  }
  if (env.options.open) return value(js`bindings[${json(name)}]`)
  return report(env, 'jsonata/undeclared', `$${name} is not declared`, node)
}

/** Reports a built-in that a compiled expression cannot have. */
export function refusedBuiltin(name: string, node: Node, env: Env): Operand | undefined {
  if (NONDETERMINISTIC.has(name))
    return report(env, 'jsonata/chance', `$${name} is not deterministic; the time and a random id of an exchange are in $ctx`, node)
  return name === 'eval' ? report(env, 'jsonata/eval', '$eval would compile a text for each request', node) : undefined
}

export function findVariable(name: string, env: Env): Variable | undefined {
  for (let scope: Scope | undefined = env.scope; scope; scope = scope.parent) {
    const variable = scope.variables.get(name)
    if (variable) return variable
    if (scope.binds.has(name) && scope.level < env.level) return { js: js``, isAssigned: false, isConstant: false }
  }
  return undefined
}
