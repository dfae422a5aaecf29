// The expressions of gateway.yaml. They are compiled outside the engine, by the text of each, before a configuration is linked.

import type { Json } from '../plan.js'

/** A compiled expression: of what it sees, and of variables by their names. Throws where the expression fails. */
export type Compiled = (input: unknown, variables?: Record<string, unknown>) => Json

export type Expressions = ReadonlyMap<string, Compiled>

export const NO_EXPRESSIONS: Expressions = new Map()

/** The compiled form of an expression. Throws where it was not compiled: that is a fault of the caller. */
export function compiled(text: string, expressions: Expressions): Compiled {
  const found = expressions.get(text)
  if (found === undefined) throw new Error(`the expression ${text} was not compiled`)
  return found
}
