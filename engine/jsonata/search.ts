// Indexes for lists that are searched repeatedly. The second search of a long list for items whose member has some value
// builds an index; a single search only scans the list. Lists of mappings never change, except those that grow (growth.ts):
// new items are added to the index before it is used.

import { isSequence } from './sequence.js'

/** Items below which a scan is faster. */
const LONG = 32

interface Index {
  /** The names on the path from an item to its member. */
  path: readonly string[]
  /** The number of indexed items. */
  size: number
  /** The items by the value of their member; undefined if an item cannot be indexed. */
  items: Map<unknown, unknown[]> | undefined
}

const indices = new WeakMap<unknown[], Index[]>()

/**
 * A superset, in order, of the items that have this value; the caller checks each. It is the whole list if the list is
 * short or searched for the first time, or if the value is not a scalar.
 */
export function candidates(list: unknown[], path: readonly string[], value: unknown): unknown[] {
  if (list.length < LONG || (typeof value === 'object' && value !== null) || value === undefined) return list
  const known = indices.get(list)
  if (known === undefined) {
    indices.set(list, [])
    return list
  }
  let index = known.find(one => one.path === path)
  if (index === undefined) known.push((index = { path, size: 0, items: new Map() }))
  return indexed(index, list) ? (index.items?.get(value) ?? NONE) : list
}

const NONE: unknown[] = Object.freeze([]) as unknown as unknown[]

/** Adds the new items of a list; returns whether the index holds all of it. */
function indexed(index: Index, list: unknown[]): boolean {
  for (; index.items && index.size < list.length; index.size++) {
    const item = list[index.size]
    const value = memberOf(item, index.path)
    if (value === ODD) index.items = undefined
    else if (value !== undefined) {
      const same = index.items.get(value)
      if (same) same.push(item)
      else index.items.set(value, [item])
    }
  }
  return index.items !== undefined
}

/** Marks a path that leads through a list, and so yields something other than a member. */
const ODD = Symbol('odd')

/** The value at the end of a path, if it is a scalar: no other value equals it. */
function memberOf(item: unknown, path: readonly string[]): unknown {
  let value = item
  for (let place = 0; place < path.length; place++) {
    if (Array.isArray(value)) return ODD
    const name = path[place] as string
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  if (typeof value !== 'object' || value === null) return value
  return isSequence(value) ? ODD : undefined
}

interface Members {
  size: number
  values: Set<unknown>
}

const members = new WeakMap<unknown[], Members | true>()

/** Whether a list contains a value, by `===`. */
export function isAmong(value: unknown, list: unknown[]): boolean {
  if (Number.isNaN(value)) return false
  if (list.length < LONG) return list.includes(value)
  const known = members.get(list)
  if (known === undefined) {
    members.set(list, true)
    return list.includes(value)
  }
  let index = known
  if (index === true) members.set(list, (index = { size: 0, values: new Set() }))
  for (; index.size < list.length; index.size++) index.values.add(list[index.size])
  return index.values.has(value)
}
