// The run-time values of JSONata. This file must not depend on expressions.

/** An array made by JSONata itself: a single member stands for itself. */
export type Sequence = unknown[] & { sequence?: true; keepSingleton?: true; cons?: true; tupleStream?: true; outerWrapper?: true }

export function createSequence(...items: unknown[]): Sequence {
  const sequence: Sequence = items
  sequence.sequence = true
  return sequence
}

export function isSequence(value: unknown): value is Sequence {
  return Array.isArray(value) && (value as Sequence).sequence === true
}

/** A function value. See signature.ts for those with checked arguments. */
export interface FunctionValue {
  (...args: unknown[]): unknown
  /** The number of its declared arguments, if it differs from `length`. */
  arity?: number
  /** Calls it with the context value for a missing argument. */
  withContext?: (context: unknown, args: unknown[]) => unknown
  /** The same without checks of the arguments; partial application binds to it. */
  implementation?: (...args: unknown[]) => unknown
  /** The body, which may return a tail call instead of a value. */
  body?: (...args: unknown[]) => unknown
}

export function isFunction(value: unknown): value is (...args: unknown[]) => unknown {
  return typeof value === 'function'
}

/** An error of an expression, with JSONata's code. */
export class ExpressionError extends Error {
  readonly code: string
  position?: number
  token?: string
  value?: unknown

  constructor(code: string, detail: object = {}) {
    super(code)
    this.code = code
    Object.assign(this, detail)
  }
}

/** `$boolean` with undefined as false. The common cases are short enough for the JIT to inline them. */
export function truthy(value: unknown): boolean {
  if (typeof value === 'string') return value !== ''
  return value === undefined || value === null ? false : value === true || isTrue(value)
}

function isTrue(value: unknown): boolean {
  switch (typeof value) {
    case 'number':
      if (value === Infinity || value === -Infinity) throw new ExpressionError('D1001', { value })
      return value !== 0 && !Number.isNaN(value)
    case 'object':
      if (value === null) return false
      if (Array.isArray(value)) return value.length === 1 ? truthy(value[0]) : value.some(truthy)
      return Object.keys(value).length > 0
    default:
      return false
  }
}

/** Whether all are numbers. An infinite one fails, wherever it is. */
export function areNumbers(items: readonly unknown[]): items is readonly number[] {
  let result = true
  for (let index = 0; index < items.length; index++) {
    const item = items[index]
    if (item === Infinity || item === -Infinity) throw new ExpressionError('D1001', { value: item })
    if (typeof item !== 'number' || Number.isNaN(item)) result = false
  }
  return result
}

export function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => deepEqual(item, right[index]))
  }
  const keys = Object.getOwnPropertyNames(left)
  if (keys.length !== Object.getOwnPropertyNames(right).length) return false
  return keys.every(
    key => Object.hasOwn(right, key) && deepEqual((left as Record<string, unknown>)[key], (right as Record<string, unknown>)[key]),
  )
}
