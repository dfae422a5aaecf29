// Finds a function that is called with the object which another one makes, as in `$write($read(…), …)`. If the outer function
// only reads members of that object, the object need not be made.

import { type BindNode, type BlockNode, calledName, type FunctionNode, type LambdaNode, literalPairs, type Node, some } from './ast.js'
import type { ReadsOf } from './growth.js'

/** A call that can be fused. */
export interface Fusion<Found> {
  outer: Found
  inner: Found
  /** The arguments of the outer function after the first, and those of the inner function. */
  given: { outer: Node[]; inner: Node[] }
  /** What the inner function binds for the members that are read, in its order. */
  binds: BindNode[]
  /** The members that the outer function reads. */
  pairs: [string, Node][]
  /** All that the inner function binds, and all members that it makes. */
  made: { binds: BindNode[]; pairs: [string, Node][] }
}

/** The fusion of a call; undefined if it is another kind of expression. `find` finds a function by its name. */
export function fusionOf<Found extends { lambda: LambdaNode }>(
  node: Node,
  find: (name: string) => Found | undefined,
  readsOf: ReadsOf,
): Fusion<Found> | undefined {
  const [name, outer] = called(node, find)
  const [first, ...rest] = outer ? (node as FunctionNode).arguments : []
  const [, inner] = first ? called(first, find) : []
  const reads = name === undefined ? undefined : readsOf(name, 0)
  if (!outer || !inner || reads === undefined) return undefined
  const { expressions } = (inner.lambda.body.type === 'block' ? inner.lambda.body : { expressions: [inner.lambda.body] }) as BlockNode
  const binds = expressions.slice(0, -1)
  const all = literalPairs(expressions.at(-1) as Node)
  if (all === undefined || !binds.every(child => child.type === 'bind')) return undefined
  const pairs = all.filter(([key]) => reads.has(key))
  return {
    outer,
    inner,
    given: { outer: rest, inner: (first as FunctionNode).arguments },
    binds: needed(
      binds as BindNode[],
      pairs.map(([, value]) => value),
    ),
    pairs,
    made: { binds: binds as BindNode[], pairs: all },
  }
}

function called<Found>(node: Node, find: (name: string) => Found | undefined): [name?: string, found?: Found] {
  const name = node.type === 'function' && !node.predicate && !node.group ? calledName(node) : undefined
  const found = name === undefined ? undefined : find(name)
  return name === undefined || found === undefined ? [] : [name, found]
}

/** The bindings that some expressions need, directly or by way of another binding. */
function needed(binds: readonly BindNode[], by: readonly Node[]): BindNode[] {
  const users = [...by]
  const found: BindNode[] = []
  for (const bind of [...binds].reverse()) {
    if (!users.some(user => some(user, child => child.type === 'variable' && child.value === bind.lhs.value))) continue
    users.push(bind.rhs)
    found.unshift(bind)
  }
  return found
}
