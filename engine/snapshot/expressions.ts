// The expressions of gateway.yaml. The CLI compiles them, by their texts, before a configuration is linked.

import type { Json } from '../plan.js'

/** A compiled expression: a function of its input, and of variables by name. Throws if the expression fails. */
export type Compiled = (input: unknown, variables?: Record<string, unknown>) => Json

export type Expressions = ReadonlyMap<string, Compiled>

export const NO_EXPRESSIONS: Expressions = new Map()

/** The compiled form of an expression. Throws if it was not compiled, which is the caller's bug. */
export function compiled(text: string, expressions: Expressions): Compiled {
  const found = expressions.get(text)
  if (found === undefined) throw new Error(`the expression ${text} was not compiled`)
  return found
}
