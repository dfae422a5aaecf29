// Lists that are searched again and again. Who asks twice which items of a long list have a member of some value gets
// them from an index; a list that is asked about once is only gone through. Lists of mappings are never changed, but for
// those that grow (growth.ts): what has come since is added to the index before it is used.

import { isSequence } from './sequence.js'

/** Below this a list is gone through faster. */
const LONG = 32

interface Index {
  /** The names that lead from an item to its member. */
  path: readonly string[]
  /** How many of the items are in it. */
  size: number
  /** The items by their member's value; nothing where an item is none that an index can hold. */
  items: Map<unknown, unknown[]> | undefined
}

const indices = new WeakMap<unknown[], Index[]>()

/**
 * The items of a list among which are all that have this value, in their order: for a search that still looks at each.
 * All of them, where the list is short or new, or the value is none that is equal to itself alone.
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

/** Adds what a list has got since; tells whether the index holds all of it. */
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

/** A path that leads through a list gives something else than a member. */
const ODD = Symbol('odd')

/** The value at the end of a path, if it is equal to itself alone; nothing else equals one that is. */
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

/** Whether a value is one of a list, as `===` says. */
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
