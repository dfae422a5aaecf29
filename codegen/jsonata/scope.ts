// Resolves names to variables by JSONata's frames: each block, lambda and tuple opens one.

import type { Node } from './ast.js'
import { children } from './ast.js'
import type { Js } from './js.js'
import type { Operand, Result } from './types.js'
import type { Declarations } from './unit.js'

export interface Variable {
  /** Its JavaScript name. */
  js: Js
  /** The facts about its value; only for a variable that is assigned once. */
  operand?: Operand
  /** Whether every path to this point has assigned it. */
  isAssigned: boolean
  isConstant: boolean
  /** A lambda that is called directly: its number of parameters, and the facts about its results once it is compiled. */
  lambda?: { arity: number; result?: Result; mayTailCall: boolean; takesContext: boolean }
}

export class Scope {
  readonly variables = new Map<string, Variable>()

  constructor(
    readonly parent: Scope | undefined,
    /** The names that this frame binds, with the number of bindings. */
    readonly binds: ReadonlyMap<string, number>,
    /** The lines for declarations that turn out to be needed later. */
    readonly declarations: Declarations | undefined,
    /** The function that it belongs to: an inner function may read its variables later. */
    readonly level: number,
  ) {}

  find(name: string): { variable: Variable; scope: Scope } | undefined {
    const variable = this.variables.get(name)
    if (variable) return { variable, scope: this }
    return this.parent?.find(name)
  }
}

export const EMPTY = new Scope(undefined, new Map(), undefined, 0)

/** The names that a frame binds itself, with the number of bindings; without the frames inside it. */
export function bindsOf(nodes: Node[]): Map<string, number> {
  const found = new Map<string, number>()
  const visit = (node: Node): void => {
    if (node.type === 'bind') {
      const name = node.lhs.value
      found.set(name, (found.get(name) ?? 0) + 1)
    }
    if (node.type === 'block' || node.type === 'lambda') {
      if (node.type === 'block' || !node.thunk) return
    }
    for (const child of children(node)) visit(child)
  }
  for (const node of nodes) visit(node)
  return found
}
