// Checks one expression by itself, for a file that is not part of a project.

import { tokenStart } from '../jsonata/ast.js'
import { compileExpression } from '../jsonata/compile.js'
import { js } from '../jsonata/js.js'
import { OBJ, type Shape, UNKNOWN } from '../jsonata/types.js'
import { Unit } from '../jsonata/unit.js'
import { objectInput, REMEDIES } from './module.js'

export interface Problem {
  rule: string
  detail: string
  remedy: string
  /** Offset in the text of the expression. */
  offset: number
}

/**
 * @param members the only names that the expression's input has; undefined: it may have any
 * @param variables the variables that it sees
 */
export function problemsIn(text: string, members?: readonly string[], variables: readonly string[] = []): Problem[] {
  const shape: Shape | undefined = members && { bits: OBJ, members: new Map(members.map(name => [name, UNKNOWN])), isNamed: true }
  const unit = new Unit()
  const globals = new Map(variables.map(name => [name, { code: unit.name(name), bits: OBJ }]))
  try {
    const { findings } = compileExpression(text, unit, objectInput(js`input`, shape), { globals })
    // The result of such an expression is not cached, so it may read the clock; it is loaded where `$eval` has a compiler.
    return findings
      .filter(({ rule }) => rule !== 'jsonata/chance' && rule !== 'jsonata/eval')
      .map(({ rule, detail, position }) => ({
        rule,
        detail: rule === 'jsonata/field' && members ? `an expression here sees ${members.join(', ')}: ${detail}` : detail,
        remedy: REMEDIES[rule] ?? 'change the expression',
        offset: tokenStart(text, position),
      }))
  } catch (error) {
    const { position, message, code, token } = error as { position?: number; message?: string; code?: string; token?: string }
    if (code === undefined) throw error
    const offset = token === '(end)' || token === undefined ? text.trimEnd().length : tokenStart(text, position ?? 0)
    return [{ rule: `jsonata/${code}`, detail: message ?? String(error), remedy: 'correct the expression at this position', offset }]
  }
}
