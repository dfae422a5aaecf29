// `( …; … )`: statements in their own frame; the last one is the value.

import type { BlockNode, Node } from '../ast.js'
import { compile, type Env, emit, frame } from '../context.js'
import { js } from '../js.js'
import { isRead, NOTHING, type Operand } from '../types.js'

export function compileBlock(node: BlockNode, env: Env, last: (node: Node, env: Env) => Operand): Operand {
  const final = node.expressions.at(-1)
  if (final === undefined) return NOTHING
  const inner = frame(env, node.expressions)
  for (const statement of node.expressions.slice(0, -1)) {
    const operand = compile(statement, { ...inner, isOutput: false })
    // Without `void`, a line that begins with a bracket would continue the line before.
    if (!isRead(operand)) emit(inner, js`void ${operand.code}`)
  }
  return last(final, inner)
}
