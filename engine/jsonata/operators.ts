// JSONata's operators over values whose types are not known at build. Compiled code calls these only where the
// plain JavaScript operator could differ.

import { isAmong } from './search.js'
import { deepEqual, ExpressionError, type Sequence } from './sequence.js'
import { string } from './strings.js'

/** Like `typeof value === 'number'`, but infinity is an error, as everywhere in JSONata. */
function isNumeric(value: unknown): value is number {
  if (typeof value !== 'number' || Number.isNaN(value)) return false
  if (!Number.isFinite(value)) throw new ExpressionError('D1001', { value })
  return true
}

function areOperands(left: unknown, right: unknown): boolean {
  if (left !== undefined && !isNumeric(left)) throw new ExpressionError('T2001', { value: left })
  if (right !== undefined && !isNumeric(right)) throw new ExpressionError('T2002', { value: right })
  return left !== undefined && right !== undefined
}

export function add(left: unknown, right: unknown): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right
    // A finite sum proves that both operands are finite numbers.
    if (Number.isFinite(sum)) return sum
  }
  return areOperands(left, right) ? (left as number) + (right as number) : undefined
}

export function subtract(left: unknown, right: unknown): number | undefined {
  return areOperands(left, right) ? (left as number) - (right as number) : undefined
}

export function multiply(left: unknown, right: unknown): number | undefined {
  return areOperands(left, right) ? (left as number) * (right as number) : undefined
}

export function divide(left: unknown, right: unknown): number | undefined {
  return areOperands(left, right) ? (left as number) / (right as number) : undefined
}

export function remainder(left: unknown, right: unknown): number | undefined {
  return areOperands(left, right) ? (left as number) % (right as number) : undefined
}

export function negate(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (!isNumeric(value)) throw new ExpressionError('D1002', { value })
  return -value
}

export function equals(left: unknown, right: unknown): boolean {
  return left !== undefined && right !== undefined && deepEqual(left, right)
}

export function differs(left: unknown, right: unknown): boolean {
  return left !== undefined && right !== undefined && !deepEqual(left, right)
}

/** Whether two values can be ordered; undefined beside anything cannot, but is not an error. */
function areOrdered(left: unknown, right: unknown): boolean {
  const isLeft = left === undefined || typeof left === 'string' || typeof left === 'number'
  const isRight = right === undefined || typeof right === 'string' || typeof right === 'number'
  if (!isLeft || !isRight) throw new ExpressionError('T2010', { value: isLeft ? right : left })
  if (left === undefined || right === undefined) return false
  if (typeof left !== typeof right) throw new ExpressionError('T2009', { value: left, value2: right })
  return true
}

export function less(left: unknown, right: unknown): boolean | undefined {
  return areOrdered(left, right) ? (left as number) < (right as number) : undefined
}

export function lessOrEqual(left: unknown, right: unknown): boolean | undefined {
  return areOrdered(left, right) ? (left as number) <= (right as number) : undefined
}

export function greater(left: unknown, right: unknown): boolean | undefined {
  return areOrdered(left, right) ? (left as number) > (right as number) : undefined
}

export function greaterOrEqual(left: unknown, right: unknown): boolean | undefined {
  return areOrdered(left, right) ? (left as number) >= (right as number) : undefined
}

export function includes(item: unknown, list: unknown): boolean {
  if (item === undefined || list === undefined) return false
  return Array.isArray(list) ? isAmong(item, list) : list === item
}

/** An operand of `&`: undefined is the empty string. */
export function text(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined ? '' : (string(value) as string)
}

const RANGE_LIMIT = 1e7

export function range(from: unknown, to: unknown): Sequence | undefined {
  if (from !== undefined && !Number.isInteger(from)) throw new ExpressionError('T2003', { value: from })
  if (to !== undefined && !Number.isInteger(to)) throw new ExpressionError('T2004', { value: to })
  if (from === undefined || to === undefined || (from as number) > (to as number)) return undefined
  const size = (to as number) - (from as number) + 1
  if (size > RANGE_LIMIT) throw new ExpressionError('D2014', { value: size })
  const result: Sequence = new Array(size)
  for (let index = 0; index < size; index++) result[index] = (from as number) + index
  result.sequence = true
  return result
}
