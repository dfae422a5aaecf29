// Compiles a function that is called with the object which another one makes (jsonata/fusion.ts). The object is never made: the
// members that are read become constants, and the others are not computed.

import { type LambdaNode, type Node, parse } from '../jsonata/ast.js'
import type { Global } from '../jsonata/context.js'
import { type Fusion, fusionOf, fusionWith } from '../jsonata/fusion.js'
import { readsIn } from '../jsonata/growth.js'
import { objectCode } from '../jsonata/json-text.js'
import { NOTHING, OBJ, type Operand } from '../jsonata/types.js'
import { ASK, type LibraryFunction } from '../read/functions.js'
import { constant, type ExpressionSite } from './emit.js'

/** Compiles a call that can be fused; undefined if it cannot. */
export function compileFused(node: Node, site: ExpressionSite): Operand | undefined {
  const fusion = fusionOf(node, finder(site), site.module.readsOf)
  return fusion && compiled(fusion, site, { root: NOTHING, globals: new Map() })
}

/**
 * Compiles an expression that sees `$ask`: what the client's half reads in the request (`read_ask`). Only the members that
 * the expression names are computed.
 */
export function compileAsked(node: Node, site: ExpressionSite): Operand {
  const { module, source, root, globals, into } = site
  const lambda: LambdaNode = { ...(parse(`function($${ASK}) { 0 }`) as LambdaNode), body: node }
  const reads = readsIn(lambda, 0, module.readsOf)
  const ask = parse('$read_ask($, $ctx)')
  const fusion = reads && fusionWith({ found: { lambda, source }, given: [ask], reads }, finder(site))
  if (fusion !== undefined) return compiled(fusion, site, { root, globals })
  const whole = constant(ASK, module.compileTree(ask, source, root, globals, into, { isSerialised: false, isOutput: false }), site)
  return module.compileTree(node, source, root, new Map([...globals, [ASK, { code: whole.code, operand: whole }]]), into)
}

function finder({ module, globals }: ExpressionSite): (name: string) => LibraryFunction | undefined {
  return name => (globals.has(name) ? undefined : module.functionOf(name))
}

/** Compiles the outer function; `seenBy`: what it sees beside its arguments. */
function compiled(
  { outer, inner, given, binds, pairs }: Fusion<LibraryFunction>,
  site: ExpressionSite,
  seenBy: Pick<ExpressionSite, 'root' | 'globals'>,
): Operand {
  const { module, into } = site
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
  const seen = new Map([
    ...seenBy.globals,
    ...bind(others, given.outer),
    ...(taken ? [[taken.value, { code: object, operand: made }] as const] : []),
  ])
  return module.compileTree(outer.lambda.body, outer.source, seenBy.root, seen, into)
}
