// Calls: of a variable, of a function from outside, of a built-in.

import { builtins } from '../../../engine/jsonata/signature.js'
import type { FunctionNode, Node } from '../ast.js'
import { EXTENSIONS, parametersOf } from '../builtins.js'
import { compile, type Env, inOrder, report, rt, value } from '../context.js'
import type { Act } from '../growth.js'
import { type Js, joined, js, json } from '../js.js'
import { objectCode } from '../json-text.js'
import { BUILTIN_NAMES, CALLS, FUNCTIONS } from '../runtime.js'
import type { Scope } from '../scope.js'
import { ANY, argumentList, FUN, NOTHING, NULL, OBJ, type Operand, type Result, STR, UNDEF } from '../types.js'
import { builtinCall, checkedFunction } from './builtin-call.js'
import { inlined } from './inlined.js'
import { findVariable, refusedBuiltin } from './variable.js'

export function compileCall(node: FunctionNode, env: Env): Operand {
  return compileCallWith(node, env, undefined, env.ctx)
}

/** A call; `first` is the argument that `~>` puts before the others, `context` replaces a missing argument of a built-in. */
export function compileCallWith(node: FunctionNode, env: Env, first: Operand | undefined, context: Operand): Operand {
  const { procedure, arguments: args } = node
  const quiet: Env = { ...env, isOutput: false, isTail: false }
  const { grow } = env.acts?.get(node) ?? {}
  if (grow) return grown(node, grow, quiet)
  if (procedure.type === 'variable' && !procedure.predicate && !procedure.group) {
    const name = procedure.value
    const variable = findVariable(name, env)
    if (variable === undefined) {
      const global = env.options.globals?.get(name)
      if (global?.arity !== undefined) {
        const operands = argumentsOf(args, quiet, first)
        checkTable(operands, node, env)
        while (operands.length < global.arity) operands.push(NOTHING)
        const passed = operands.slice(0, global.arity).map((operand, index) => narrowed(operand, env.options.readsOf?.(name, index)))
        return called(js`${global.code}(${argumentList(passed)})`, global.result ?? { bits: ANY & ~FUN, raw: true })
      }
      if (global === undefined) {
        const known = namedCall(name, node, env, first, context)
        if (known) return known
      } else if (hidesFunction(name, env)) {
        return report(env, 'jsonata/hidden', hidden(name), node)
      }
    } else if (!variable.lambda && hidesFunction(name, env)) {
      return report(env, 'jsonata/hidden', hidden(name), node)
    } else if (variable.lambda && variable.isConstant && !variable.lambda.mayTailCall && !variable.lambda.takesContext) {
      const operands = argumentsOf(args, quiet, first)
      while (operands.length < variable.lambda.arity) operands.push(NOTHING)
      const code = js`${variable.js}(${argumentList(operands.slice(0, variable.lambda.arity))})`
      return called(code, variable.lambda.result ?? { bits: ANY, raw: true })
    }
  }
  if (procedure.type === 'path' && procedure.steps.length === 1 && procedure.steps[0].type === 'name') {
    const name = procedure.steps[0].value
    if (BUILTIN_NAMES.has(name) || env.scope.find(name)) {
      if (!env.options.open) return report(env, 'jsonata/call', `${name}(…) is not a call: write $${name}(…)`, node)
    }
  }
  const [callee, ...given] = inOrder(quiet, [
    () => compile(procedure, quiet),
    ...(first ? [() => first] : []),
    ...args.map(arg => () => compile(arg, quiet)),
  ])
  const list = js`[${argumentList(given)}]`
  if (procedure.type === 'path' && procedure.steps[0].type === 'name') {
    const name = procedure.steps[0].value
    if (BUILTIN_NAMES.has(name) || env.scope.find(name))
      return value(js`${rt(env, CALLS, 'callForgotten')}(${callee.code}, ${list}, ${context.code})`, ANY, { raw: true })
  }
  return value(js`${rt(env, CALLS, 'call')}(${callee.code}, ${list}, ${context.code})`, ANY, { raw: true })
}

/** Whether a variable of this name is called in place of the function: at run time an error, perhaps only for some inputs. */
function hidesFunction(name: string, env: Env): boolean {
  return BUILTIN_NAMES.has(name) && !env.options.open
}

function hidden(name: string): string {
  return `the variable $${name} hides the function of this name`
}

/** An object that is made for a call has the members that the function reads. */
function narrowed(operand: Operand, reads: ReadonlySet<string> | undefined): Operand {
  if (operand.parts === undefined || reads === undefined) return operand
  const parts = [...operand.parts].filter(([key]) => reads.has(key))
  return {
    ...operand,
    code: objectCode(
      parts.map(([key]) => key),
      parts.map(([, part]) => part),
    ),
  }
}

/** A call of a function with known results. */
function called(code: Js, { bits, ...known }: Result): Operand {
  return value(code, bits, known)
}

function argumentsOf(nodes: Node[], env: Env, first: Operand | undefined): Operand[] {
  return inOrder(env, [...(first ? [() => first] : []), ...nodes.map(node => () => compile(node, env))])
}

function namedCall(name: string, node: FunctionNode, env: Env, first: Operand | undefined, context: Operand): Operand | undefined {
  const args = node.arguments
  const quiet: Env = { ...env, isOutput: false, isTail: false }
  const extension = EXTENSIONS[name]
  if (extension && Object.hasOwn(EXTENSIONS, name) && !env.options.open) {
    const operands = argumentsOf(args, quiet, first)
    while (operands.length < extension.arity) operands.push(NOTHING)
    return value(js`${rt(env, 'json', extension.export)}(${argumentList(operands)})`, extension.bits, {
      clean: name === 'parse_json',
    })
  }
  if (name === 'eval' && env.options.open) {
    const operands = argumentsOf(args, quiet, first)
    return value(
      js`evaluate(${operands[0]?.code ?? js`undefined`}, ${operands[1]?.code ?? js`undefined`}, ${context.code}, ${visible(env)})`,
      ANY,
      { raw: true },
    )
  }
  const refused = env.options.open ? undefined : refusedBuiltin(name, node, env)
  if (refused) return refused
  if (!Object.hasOwn(builtins, name)) return undefined
  const shortcut = inlined(name, args, env, first)
  if (shortcut) return shortcut
  const operands = argumentsOf(args, quiet, first)
  checkTable(operands, node, env)
  return builtinCall(name, operands, env, context)
}

/** The row of a table for all other values. */
const OTHERS = '_'

/**
 * A constant table that is passed together with a value of an enumeration must have a row for each: a value that the schema
 * gains later would silently give undefined.
 */
function checkTable([table, key]: Operand[], node: Node, env: Env): void {
  const keys = key?.shape
  const members = table?.shape?.closed && table.bits === OBJ ? table.shape.members : undefined
  if (env.hasDefault || members === undefined || members.has(OTHERS) || keys?.values === undefined) return
  if ((keys.bits & ~(STR | NULL | UNDEF)) !== 0) return
  const missing = keys.values.filter(word => !members.has(word))
  if (missing.length > 0) report(env, 'jsonata/table', `the table has no row for ${missing.join(', ')}`, node)
}

function visible(env: Env): Js {
  const seen = new Map<string, Js>()
  for (let scope: Scope | undefined = env.scope; scope; scope = scope.parent) {
    for (const [name, variable] of scope.variables) if (!seen.has(name)) seen.set(name, variable.js)
  }
  return js`{ ...bindings, ${joined(
    [...seen].map(([name, local]) => js`${json(name)}: ${local}`),
    ', ',
  )} }`
}

/** A call of `$append` or `$merge` whose result replaces its first argument. */
function grown(node: FunctionNode, grow: NonNullable<Act['grow']>, env: Env): Operand {
  const [first, second] = node.arguments
  if (first && second) {
    const [left, right] = inOrder(env, [() => compile(first, env), () => compile(second, env)])
    return value(js`${grow.append}(${joined([...grow.into, left.code, right.code], ', ')})`, ANY, { raw: true })
  }
  if (first?.type !== 'unary' || first.value !== '[') return NOTHING
  const [head, ...more] = first.expressions
  if (head === undefined) return NOTHING
  const rest: Node = { type: 'unary', value: '[', expressions: more }
  const [left, right] = inOrder(env, [() => compile(head, env), () => compile(rest, env)])
  const merge = checkedFunction('merge', FUNCTIONS, parametersOf('merge'), 1, [0], env)
  return value(js`${grow.merge}(${joined([...grow.into, left.code, right.code, merge], ', ')})`, OBJ | UNDEF)
}
