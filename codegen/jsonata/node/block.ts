// `( …; … )`: statements in a frame of their own, of which the last one is the value.

import type { Node } from '../ast.js'
import { compile, type Env, emit, frame } from '../context.js'
import { NOTHING, type Operand } from '../types.js'

export function compileBlock(node: Node, env: Env, last: (node: Node, env: Env) => Operand): Operand {
  const nodes = node.expressions ?? []
  if (nodes.length === 0) return NOTHING
  const inner = frame(env, nodes)
  for (const statement of nodes.slice(0, -1)) {
    const operand = compile(statement, { ...inner, isOutput: false })
    // Without the word, a line that begins with a bracket would belong to the one before it.
    if (!operand.stable && !isVariableRead(operand.code)) emit(inner, `void ${operand.code}`)
  }
  return last(nodes.at(-1) as Node, inner)
}

function isVariableRead(code: string): boolean {
  return /^[A-Za-z_]\w*$/.test(code)
}
