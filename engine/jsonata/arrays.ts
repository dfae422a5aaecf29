// JSONata's built-ins over arrays. An argument is never changed. As in the reference, some return their argument itself.

import { areNumbers, createSequence, deepEqual, ExpressionError, isSequence, type Sequence } from './sequence.js'
import { mergeSort } from './sort.js'

type Items = readonly unknown[]

export function count(items: Items | undefined): number {
  return items === undefined ? 0 : items.length
}

export function append(left: unknown, right: unknown): unknown {
  if (left === undefined) return right
  if (right === undefined) return left
  // If one side is missing, the result is the other one, unless that is a sequence that JSONata made.
  if (Array.isArray(left) && Array.isArray(right)) {
    if (right.length === 0 && !isSequence(left)) return left
    if (left.length === 0 && !isSequence(right)) return right
  }
  // Pushing is faster than `concat`, above all onto short arrays.
  const result: unknown[] = []
  if (Array.isArray(left)) for (const item of left as Items) result.push(item)
  else result.push(left)
  if (Array.isArray(right)) for (const item of right as Items) result.push(item)
  else result.push(right)
  return result
}

export function reverse(items: Items | undefined): Items | undefined {
  return items === undefined || items.length <= 1 ? items : Array.from(items).reverse()
}

/** Tuples of the items at the same index of each array, up to the end of the shortest. */
export function zip(...arrays: unknown[]): unknown[][] {
  let size = Infinity
  for (const array of arrays) size = Math.min(size, Array.isArray(array) ? array.length : 0)
  const result: unknown[][] = []
  if (arrays.length === 0) return result
  for (let index = 0; index < size; index++) result.push(arrays.map(array => (array as Items)[index]))
  return result
}

export function distinct(items: unknown): unknown {
  if (!Array.isArray(items) || items.length <= 1) return items
  const result: unknown[] | Sequence = isSequence(items) ? createSequence() : []
  // Scalars are looked up in a Set, everything else is compared by content. NaN equals nothing, itself included.
  const scalars = new Set<unknown>()
  const objects: unknown[] = []
  for (const item of items as Items) {
    if (typeof item === 'object' && item !== null) {
      if (objects.some(seen => deepEqual(item, seen))) continue
      objects.push(item)
    } else {
      if (scalars.has(item) && !Number.isNaN(item)) continue
      scalars.add(item)
    }
    result.push(item)
  }
  return result
}

/** A stable sort. The comparator decides whether the first item belongs after the second. */
export function sort(items: Items | undefined, comparator?: (left: unknown, right: unknown) => unknown): Items | undefined {
  if (items === undefined || items.length <= 1) return items
  if (comparator !== undefined) return mergeSort(items, comparator)
  if (areNumbers(items)) return Array.from(items).sort((left, right) => left - right)
  if (items.every(item => typeof item === 'string')) return Array.from(items).sort()
  throw new ExpressionError('D3070', { index: 1 })
}
