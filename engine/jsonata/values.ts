// JSONata's built-ins over any value: its type, its truth, a copy of it, and how to fail.

import { ExpressionError, truthy } from './sequence.js'
import { string } from './strings.js'

export function exists(value: unknown): boolean {
  return value !== undefined
}

/** Whether a value counts as true; undefined for undefined, also as the only member of an array. */
export function boolean(value: unknown): boolean | undefined {
  let inner = value
  while (Array.isArray(inner) && inner.length === 1) inner = inner[0]
  return inner === undefined ? undefined : truthy(inner)
}

/** Whether a value says something: nothing, null, and an empty text, list or object do not. */
export function says(value: unknown): boolean {
  if (typeof value !== 'object') return value !== undefined && value !== ''
  return value !== null && (Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0)
}

export function not(value: unknown): boolean | undefined {
  return value === undefined ? undefined : !truthy(value)
}

export function type(value: unknown): string | undefined {
  if (value === Infinity || value === -Infinity) throw new ExpressionError('D1001', { value })
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (Number.isNaN(value)) return 'object' // the reference knows no number that is not one
  return value === undefined ? undefined : typeof value
}

/** A deep copy, with numbers at 15 significant digits as in JSON text. */
export function clone(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(string(value) as string)
}

export function error(message?: string): never {
  throw new ExpressionError('D3137', { message: message || '$error() function evaluated' })
}

export function assert(condition: unknown, message?: string): undefined {
  if (!condition) throw new ExpressionError('D3141', { message: message || '$assert() statement failed' })
}
