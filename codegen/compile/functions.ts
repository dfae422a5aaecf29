// The functions of a library as trees, and what they read of their arguments.

import { type LambdaNode, parse } from '../jsonata/ast.js'
import { type ReadsOf, readsIn } from '../jsonata/growth.js'
import type { Library } from '../read/project.js'

export class Functions {
  private readonly reads = new Map<string, ReadonlySet<string> | undefined>()

  constructor(private readonly library: Library) {}

  /** A function's tree; undefined if there is no such function, or if its text is wrong, which the compiler reports. */
  lambdaOf(name: string): LambdaNode | undefined {
    const source = this.library.get(name)
    try {
      const node = source && parse(source.text)
      return node?.type === 'lambda' && !node.thunk ? node : undefined
    } catch {
      return undefined
    }
  }

  /** The members of one argument that a function may read; undefined if it may read all. */
  readonly readsOf: ReadsOf = (name, place) => {
    const key = `${name} ${place}`
    if (this.reads.has(key)) return this.reads.get(key)
    // Nothing is known of a recursive function.
    this.reads.set(key, undefined)
    const lambda = this.lambdaOf(name)
    if (lambda) this.reads.set(key, readsIn(lambda, place, this.readsOf))
    return this.reads.get(key)
  }
}
