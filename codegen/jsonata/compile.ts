// Compiles a JSONata tree to JavaScript statements. The interpreter's `evaluate` defines the meaning of each node;
// decisions that it makes for each value and call are made here if the tree or a type allows it.
//
// START HERE. A node compiles to an Operand: a JavaScript expression to be evaluated once, at this point, after the lines
// that were emitted for it. node/table.ts has a function for each type of node; they call each other through
// `Env.compilers`.

import { type Node, parse } from './ast.js'
import { type Env, emit, type Finding, frame, type Options, rt } from './context.js'
import { js } from './js.js'
import { loopOf, noteLoop } from './loops.js'
import { compileCallWith } from './node/call.js'
import { compileGroup } from './node/group.js'
import { applyStages } from './node/predicate.js'
import { compileRaw } from './node/table.js'
import { PATHS } from './runtime.js'
import { EMPTY } from './scope.js'
import { ANY, ARR, eachOf, type Operand, UNDEF } from './types.js'
import { Lines, type Unit } from './unit.js'

export interface Compiled {
  lines: Lines
  result: Operand
  findings: Finding[]
}

/**
 * Compiles one expression to the body of a function. `root` is the JavaScript text of its input and its known facts. Throws
 * the error of jsonata's parser for invalid text.
 */
export function compileExpression(source: string, unit: Unit, root: Operand, options: Options = {}): Compiled {
  return compileNode(parse(source), unit, root, options)
}

export function compileNode(node: Node, unit: Unit, root: Operand, options: Options): Compiled {
  const lines = new Lines()
  const findings: Finding[] = []
  const base: Env = {
    unit,
    options,
    findings,
    scope: EMPTY,
    ctx: root,
    root,
    out: lines,
    isStraight: true,
    level: 0,
    isOutput: options.isOutput ?? true,
    compilers: { node: compileValue, call: compileCallWith },
    position: node.position ?? 0,
    ...(options.acts && { acts: options.acts }),
  }
  const env = frame(base, [node])
  if (root.bits & ARR) {
    const name = unit.name('context')
    emit(env, js`const ${name} = ${rt(env, PATHS, 'root')}(${root.code})`)
    env.ctx = { code: name, bits: ANY, stable: true }
  }
  const result = compileValue(node, env)
  return { lines, result, findings }
}

/** A node's value: never an empty sequence or one with a single member, unless `[]` asked for it. */
function compileValue(node: Node, env: Env): Operand {
  const position = node.position ?? env.position
  const inner = position === env.position ? env : { ...env, position }
  for (const line of env.acts?.get(node)?.share ?? []) emit(inner, line)
  let result = compileRaw(node, inner)
  // `[]` keeps the predicate's sequence; a collapsed item would lose it.
  if (node.predicate) result = applyStages(node.keepArray ? { ...result, raw: true } : result, node.predicate, inner, node)
  if (node.group && node.type !== 'path') result = compileGroup(node.group.lhs, result, inner)
  return finish(result, node.keepArray === true && !node.keepSingletonArray, inner)
}

/** Collapses a value that may be a raw sequence. */
function finish(operand: Operand, keepArray: boolean, env: Env): Operand {
  if (keepArray && (operand.bits & ARR) !== 0)
    return { ...operand, code: js`${rt(env, PATHS, 'keepArray')}(${operand.code})`, stable: false, raw: false }
  if (!operand.raw) return operand
  if (operand.nested) return { code: js`${rt(env, PATHS, 'collapse')}(${operand.code})`, bits: ANY, stable: false, raw: true, nested: true }
  const own = operand.stable ? undefined : operand.list
  const code = own === undefined ? js`${rt(env, PATHS, 'collapse')}(${operand.code})` : js`${rt(env, PATHS, 'loneOf')}(${own})`
  const each = eachOf(operand)
  if (each === undefined) return { code, bits: ANY, stable: false }
  const known = { code, bits: UNDEF | ARR | each.shape.bits, stable: false, each, clean: own !== undefined && each.clean }
  return own === undefined ? known : noteLoop(known, loopOf(operand))
}
