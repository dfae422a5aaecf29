// The built-ins with picture strings: $formatNumber, $formatInteger, $parseInteger, $fromMillis, $toMillis, $now.
//
// They are jsonata's own functions: long, synchronous, independent of its evaluator, and rare in mappings. Only a generated
// module that uses one may import this file, because it loads jsonata.

import jsonata from 'jsonata'
import { millis } from '../../engine/jsonata/nondeterministic.js'
import { ExpressionError } from '../../engine/jsonata/sequence.js'
import { type BuiltinValue, functionValue } from '../../engine/jsonata/signature.js'

type Implementation = (...args: unknown[]) => unknown

/** The part of jsonata's state that they read: the current time fills the parts that a picture omits. */
const focus = {
  environment: {
    get timestamp(): Date {
      return new Date(millis())
    },
  },
}

/** Takes a built-in out of jsonata. It throws a bare object with a code. */
async function take(name: string): Promise<Implementation> {
  const { implementation } = (await jsonata(`$${name}`).evaluate(null)) as { implementation: Implementation }
  return (...args) => {
    // With a number that is not finite jsonata would loop for ever, or overflow the stack.
    if (typeof args[0] === 'number' && !Number.isFinite(args[0])) throw new ExpressionError('D1001', { value: args[0] })
    try {
      return implementation.apply(focus, args)
    } catch (cause) {
      const { code, stack: _, ...detail } = cause as { code?: string; stack?: string }
      throw code === undefined ? cause : new ExpressionError(code, detail)
    }
  }
}

export const formatNumber = await take('formatNumber')
export const formatInteger = await take('formatInteger')
export const parseInteger = await take('parseInteger')
export const fromMillis = await take('fromMillis')
export const toMillis = await take('toMillis')

export function now(picture?: unknown, timezone?: unknown): unknown {
  return fromMillis(millis(), picture, timezone)
}

const values: Record<string, BuiltinValue> = {
  formatNumber: functionValue('formatNumber', formatNumber),
  formatInteger: functionValue('formatInteger', formatInteger),
  parseInteger: functionValue('parseInteger', parseInteger),
  fromMillis: functionValue('fromMillis', fromMillis),
  toMillis: functionValue('toMillis', toMillis),
  now: functionValue('now', now),
}

/** One of these as a function value, as builtinValue() returns the others. */
export function pictureValue(name: string): BuiltinValue {
  const value = values[name]
  if (value === undefined) throw new Error(`$${name} takes no picture`)
  return value
}
