// JSONata's built-ins that call a function for each member. A function is given as many arguments as it declares.

import { setKey } from './objects.js'
import { createSequence, ExpressionError, type FunctionValue, type Sequence, truthy } from './sequence.js'

type Items = readonly unknown[]
type Fields = Record<string, unknown>

function arityOf(callable: FunctionValue): number {
  return callable.arity ?? callable.length
}

function call(callable: FunctionValue, arity: number, value: unknown, place: unknown, whole: unknown): unknown {
  if (arity < 2) return callable(value)
  return arity === 2 ? callable(value, place) : callable(value, place, whole)
}

export function map(items: Items | undefined, callable: FunctionValue): Sequence | undefined {
  if (items === undefined) return undefined
  const arity = arityOf(callable)
  const result = createSequence()
  for (let index = 0; index < items.length; index++) {
    const value = call(callable, arity, items[index], index, items)
    if (value !== undefined) result.push(value)
  }
  return result
}

export function filter(items: Items | undefined, callable: FunctionValue): Sequence | undefined {
  if (items === undefined) return undefined
  const arity = arityOf(callable)
  const result = createSequence()
  for (let index = 0; index < items.length; index++) {
    const item = items[index]
    if (truthy(call(callable, arity, item, index, items))) result.push(item)
  }
  return result
}

/** The only member for which the function is true; none or several is an error. */
export function single(items: Items | undefined, callable?: FunctionValue): unknown {
  if (items === undefined) return undefined
  const arity = callable === undefined ? 0 : arityOf(callable)
  let isFound = false
  let result: unknown
  for (let index = 0; index < items.length; index++) {
    const item = items[index]
    if (callable !== undefined && !truthy(call(callable, arity, item, index, items))) continue
    if (isFound) throw new ExpressionError('D3138', { index })
    isFound = true
    result = item
  }
  if (!isFound) throw new ExpressionError('D3139')
  return result
}

/** Folds from the left. Without a start value the first member is the start. */
export function reduce(items: Items | undefined, callable: FunctionValue, start?: unknown): unknown {
  if (items === undefined) return undefined
  const arity = arityOf(callable)
  if (arity < 2) throw new ExpressionError('D3050', { index: 1 })
  const hasStart = start !== undefined || items.length === 0
  let result = hasStart ? start : items[0]
  for (let index = hasStart ? 0 : 1; index < items.length; index++) {
    const item = items[index]
    if (arity === 2) result = callable(result, item)
    else if (arity === 3) result = callable(result, item, index)
    else result = callable(result, item, index, items)
  }
  return result
}

export function each(object: Fields | undefined, callable: FunctionValue): Sequence {
  const result = createSequence()
  if (typeof object !== 'object' || object === null) return result
  const arity = arityOf(callable)
  for (const key of Object.keys(object)) {
    const value = call(callable, arity, object[key], key, object)
    if (value !== undefined) result.push(value)
  }
  return result
}

/** The part of an object for which the function is true; undefined if that is empty. */
export function sift(object: Fields | undefined, callable: FunctionValue): Fields | undefined {
  if (typeof object !== 'object' || object === null) return undefined
  let result: Fields | undefined
  for (const key of Object.keys(object)) {
    const value = object[key]
    if (!truthy(call(callable, arityOf(callable), value, key, object))) continue
    result ??= {}
    setKey(result, key, value)
  }
  return result
}
