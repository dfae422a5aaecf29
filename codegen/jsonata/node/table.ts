// The table of compilers by node type.

import type { Node, NodeOf } from '../ast.js'
import { compile, type Env, report } from '../context.js'
import type { Operand } from '../types.js'
import { compileApply, compilePartial } from './application.js'
import { compileBind } from './bind.js'
import { compileBlock } from './block.js'
import { compileCall } from './call.js'
import { compileCondition } from './condition.js'
import { compileUnary } from './constructor.js'
import { compileLambda, compileTail } from './lambda.js'
import { compileDescendants, compileLiteral, compileName, compileRegex, compileWildcard } from './literal.js'
import { compileBinary } from './operator.js'
import { compilePath } from './path.js'
import { compileTransform } from './transform.js'
import { readVariable } from './variable.js'

/**
 * A function for each type of node that may be a value; a sort only follows a step, and `?` only occurs in a partial
 * application.
 */
const COMPILERS: { readonly [Type in Exclude<Node['type'], 'sort' | 'operator'>]: (node: NodeOf<Type>, env: Env) => Operand } = {
  path: compilePath,
  binary: compileBinary,
  unary: compileUnary,
  string: compileLiteral,
  number: compileLiteral,
  value: compileLiteral,
  name: compileName,
  wildcard: compileWildcard,
  descendant: compileDescendants,
  parent: (node, env) => readVariable(node.slot.label, node, env),
  condition: (node, env) => compileCondition(node, env, compile),
  block: (node, env) => compileBlock(node, env, compile),
  bind: compileBind,
  regex: compileRegex,
  variable: (node, env) => readVariable(node.value, node, env),
  lambda: (node, env) => (node.thunk ? compileTail(node, env) : compileLambda(node, env)),
  function: compileCall,
  partial: compilePartial,
  apply: compileApply,
  transform: compileTransform,
}

/** Nodes that pass `isOutput` on to their parts. */
const TRANSPARENT = new Set(['path', 'unary', 'condition', 'block', 'function'])

/** A node's raw value: it may be a raw sequence, and the caller handles predicates and groupings. */
export function compileRaw(node: Node, outer: Env): Operand {
  const env = outer.isOutput && !TRANSPARENT.has(node.type) ? { ...outer, isOutput: false } : outer
  // TypeScript cannot infer that the table's function fits the type of the node.
  const compiler = (COMPILERS as Readonly<Record<string, ((node: never, env: Env) => Operand) | undefined>>)[node.type]
  return compiler
    ? compiler(node as never, env)
    : report(env, 'jsonata/node', `the compiler does not know a node of type ${node.type}`, node)
}
