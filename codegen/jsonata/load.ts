// Compiles an expression to a function in this process: for tests, the fuzzer and the CLI. For the gateway,
// compile/mapping.ts writes modules instead.

import * as calls from '../../engine/jsonata/calls.js'
import * as functions from '../../engine/jsonata/functions.js'
import * as growth from '../../engine/jsonata/growth.js'
import * as json from '../../engine/jsonata/json.js'
import * as nondeterministic from '../../engine/jsonata/nondeterministic.js'
import * as operators from '../../engine/jsonata/operators.js'
import * as paths from '../../engine/jsonata/paths.js'
import * as search from '../../engine/jsonata/search.js'
import * as sequence from '../../engine/jsonata/sequence.js'
import { ExpressionError } from '../../engine/jsonata/sequence.js'
import * as signature from '../../engine/jsonata/signature.js'
import { compileExpression } from './compile.js'
import { js } from './js.js'
import * as pictures from './number-and-date-formats.js'
import { ANY, type Operand, type Shape } from './types.js'
import { type Printed, Unit } from './unit.js'

const modules = { calls, functions, growth, json, nondeterministic, operators, paths, pictures, search, sequence, signature }

type Bindings = Record<string, unknown>
export type Loaded = (input: unknown, bindings?: Bindings) => unknown

/**
 * Compiles an expression for immediate use, with the known shape of its input. Any variable is allowed and is looked up in
 * the bindings. Throws an error with JSONata's `code` for invalid text.
 */
export function load(source: string, known?: Shape): Loaded {
  const run = compiled(source, known)
  return (input, bindings = {}) => {
    try {
      return run(input, bindings)
    } catch (error) {
      // The interpreter reports endless recursion with this code, too.
      if (error instanceof RangeError) throw new ExpressionError('U1001')
      throw error
    }
  }
}

function compiled(source: string, shape?: Shape): (input: unknown, bindings: Bindings) => unknown {
  const unit = new Unit()
  for (const name of ['input', 'bindings', 'evaluate', 'modules']) unit.name(name)
  const { lines, result } = compileExpression(source, unit, rootOf(shape), { open: true })
  const printed: Printed[] = []
  lines.print(1, printed)
  printed.push({ text: js`  return ${result.code}`, position: undefined })
  const body = unit.printInline([
    { text: js`return (input, bindings) => {`, position: undefined },
    ...printed,
    { text: js`}`, position: undefined },
  ])
  // This is the only code that is made from text in a running process, and the text comes from the compiler.
  return new Function('modules', 'evaluate', js`'use strict'\n${body}`)(modules, evaluate) as (
    input: unknown,
    bindings: Bindings,
  ) => unknown
}

function rootOf(shape: Shape | undefined): Operand {
  return { code: js`input`, bits: shape?.bits ?? ANY, stable: true, ...(shape && { shape, clean: true }) }
}

/** The JavaScript of an expression, for a reader. */
export function explain(source: string, shape?: Shape): string {
  const unit = new Unit()
  const { lines, result } = compileExpression(source, unit, rootOf(shape), { open: true })
  const printed: Printed[] = []
  lines.print(0, printed)
  printed.push({ text: js`return ${result.code}`, position: undefined })
  return unit.printInline(printed)
}

/** `$eval`: compiles an expression at run time. */
function evaluate(source: unknown, focus: unknown, context: unknown, variables: Bindings): unknown {
  if (source === undefined) return undefined
  if (typeof source !== 'string') throw new ExpressionError('T0410', { value: source })
  let run: (input: unknown, bindings: Bindings) => unknown
  try {
    run = compiled(source)
  } catch {
    throw new ExpressionError('D3120')
  }
  try {
    return run(focus === undefined ? context : focus, variables)
  } catch {
    throw new ExpressionError('D3121')
  }
}
