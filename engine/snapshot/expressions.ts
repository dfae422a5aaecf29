// The expressions of gateway.yaml. They are compiled outside the engine, by the text of each, before a configuration is linked.

import type { Expression } from './model.js'

export type Expressions = ReadonlyMap<string, Expression>

export const NO_EXPRESSIONS: Expressions = new Map()

/** The compiled form of an expression. Throws where it was not compiled: that is a fault of the caller. */
export function compiled(text: string, expressions: Expressions): Expression {
  const found = expressions.get(text)
  if (found === undefined) throw new Error(`the expression ${text} was not compiled`)
  return found
}
