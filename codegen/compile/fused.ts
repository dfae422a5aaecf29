// Compiles a function that is called with the object which another one makes (check/fusion.ts). The object is never made: the
// members that are read become constants, and the others are not computed.

import type { LambdaNode, Node } from '../jsonata/ast.js'
import type { Global } from '../jsonata/context.js'
import { fusionOf } from '../jsonata/fusion.js'
import { objectCode } from '../jsonata/json-text.js'
import { NOTHING, OBJ, type Operand } from '../jsonata/types.js'
import { constant, type ExpressionSite } from './emit.js'

/** Compiles a call that can be fused; undefined if it cannot. */
export function compileFused(node: Node, site: ExpressionSite): Operand | undefined {
  const { module, into } = site
  const fusion = fusionOf(node, name => (site.globals.has(name) ? undefined : module.functionOf(name)), module.readsOf)
  if (fusion === undefined) return undefined
  const { outer, inner, given, binds, pairs } = fusion
  const operandOf = (wish: string, part: Node, at: ExpressionSite): Operand =>
    constant(wish, module.compileTree(part, at.source, at.root, at.globals, into, { isSerialised: false, isOutput: false }), at)
  const bind = (names: LambdaNode['arguments'], nodes: readonly (Node | undefined)[]): Map<string, Global> =>
    new Map(
      names.map(({ value }, index) => {
        const node = nodes[index]
        const operand = node ? operandOf(value, node, site) : NOTHING
        return [value, { code: operand.code, operand }]
      }),
    )
  const globals = bind(inner.lambda.arguments, given.inner)
  const within: ExpressionSite = { module, source: inner.source, globals, root: NOTHING, into }
  for (const { lhs, rhs } of binds) {
    const operand = operandOf(lhs.value, rhs, within)
    globals.set(lhs.value, { code: operand.code, operand })
  }
  const parts = new Map(pairs.map(([key, value]) => [key, operandOf(key, value, within)]))
  const object = objectCode([...parts.keys()], [...parts.values()])
  const made: Operand = { code: object, compound: object, bits: OBJ, stable: true, parts }
  const [taken, ...others] = outer.lambda.arguments
  const seen = new Map([...bind(others, given.outer), ...(taken ? [[taken.value, { code: object, operand: made }] as const] : [])])
  return module.compileTree(outer.lambda.body, outer.source, NOTHING, seen, into)
}
