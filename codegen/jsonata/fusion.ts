// Finds a function that is called with the object which another one makes, as in `$write($read(…), …)`. If the outer function
// only reads members of that object, the object need not be made.

import { type BindNode, calledName, isQualified, type LambdaNode, literalPairs, type Node, some } from './ast.js'
import type { ReadsOf } from './growth.js'

/** A call that can be fused. */
export interface Fusion<Found> {
  outer: Found
  inner: Found
  /** The arguments of the outer function after the first, and those of the inner function. */
  given: { outer: readonly Node[]; inner: readonly Node[] }
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
  const outer = called(node, find)
  const reads = outer && readsOf(outer.name, 0)
  return reads && fusionWith({ found: outer.found, given: outer.given, reads }, find)
}

/** The fusion of a function that reads these members of its first argument. */
export function fusionWith<Found extends { lambda: LambdaNode }>(
  outer: { found: Found; given: readonly Node[]; reads: ReadonlySet<string> },
  find: (name: string) => Found | undefined,
): Fusion<Found> | undefined {
  const { reads } = outer
  const [first, ...rest] = outer.given
  const inner = first && called(first, find)
  if (!inner) return undefined
  const { body } = inner.found.lambda
  const expressions = body.type === 'block' ? body.expressions : [body]
  const last = expressions.at(-1)
  const others = expressions.slice(0, -1)
  const binds = others.filter(child => child.type === 'bind')
  const all = last && literalPairs(last)
  if (all === undefined || binds.length < others.length) return undefined
  const pairs = all.filter(([key]) => reads.has(key))
  return {
    outer: outer.found,
    inner: inner.found,
    given: { outer: rest, inner: inner.given },
    binds: needed(
      binds,
      pairs.map(([, value]) => value),
    ),
    pairs,
    made: { binds, pairs: all },
  }
}

/** The name of the function that a node calls, the function, and its arguments. */
function called<Found>(
  node: Node,
  find: (name: string) => Found | undefined,
): { name: string; found: Found; given: readonly Node[] } | undefined {
  if (node.type !== 'function' || isQualified(node)) return undefined
  const name = calledName(node)
  const found = name === undefined ? undefined : find(name)
  return name === undefined || found === undefined ? undefined : { name, found, given: node.arguments }
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
