// Lists and objects that grow: a fold's accumulator, and a reducer's state, are extended in place as long as nothing else
// refers to them. The compiler guarantees that: code that passes one on calls `share` first.

import { isObject } from '../core/members.js'
import { append } from './arrays.js'
import { setKey } from './objects.js'
import { pushAll } from './paths.js'

type Fields = Record<string, unknown>

/** For one member of an accumulator: the value that this fold made last, if nothing else refers to it. */
export interface Grower {
  own: unknown
}

export function grower(): Grower {
  return { own: undefined }
}

/** `$append`, if its result replaces `left`. */
export function grow(own: Grower, left: unknown, right: unknown): unknown {
  if (right === undefined) return left
  if (left !== undefined && left === own.own) {
    pushAll(left as unknown[], right)
    return left
  }
  const made = append(left, right)
  if (made !== left && made !== right) own.own = made
  return made
}

/** `$merge` of a list that begins with the value that its result replaces. */
export function growMerged(own: Grower, left: unknown, more: unknown[], merge: (list: unknown[]) => unknown): unknown {
  if (left !== undefined && left === own.own && more.every(isObject)) {
    for (const object of more as Fields[]) for (const key of Object.keys(object)) setKey(left as Fields, key, object[key])
    return left
  }
  const list: unknown[] = []
  pushAll(list, left)
  for (const item of more) list.push(item)
  own.own = merge(list)
  return own.own
}

/** Values of state members that nothing else refers to. A state survives between events, so a local variable cannot hold this. */
const ownedByStates = new WeakSet<object>()

/** The grower of all states: one is enough, because this set records what is owned. */
export function growState(left: unknown, right: unknown): unknown {
  const own = ownerOf(left)
  const made = grow(own, left, right)
  return note(made, own)
}

export function growMergedState(left: unknown, more: unknown[], merge: (list: unknown[]) => unknown): unknown {
  const own = ownerOf(left)
  const made = growMerged(own, left, more, merge)
  return note(made, own)
}

function ownerOf(left: unknown): Grower {
  return { own: typeof left === 'object' && left !== null && ownedByStates.has(left) ? left : undefined }
}

function note(made: unknown, { own }: Grower): unknown {
  if (own !== undefined && own === made) ownedByStates.add(own as object)
  return made
}

/** Something else refers to the value from now on: it is not changed any more. */
export function share(value: unknown): void {
  if (typeof value === 'object' && value !== null) ownedByStates.delete(value)
}
