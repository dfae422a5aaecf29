// Lists and objects that grow one by one: what a fold makes of its sum, and a reducer of its state, is put into what is
// there, as long as nobody else holds it. The compiler sees to that: what hands it on to somebody calls `share` first.

import { append } from './arrays.js'
import { setKey } from './objects.js'
import { pushAll } from './paths.js'

type Fields = Record<string, unknown>

/** Of one member of one sum: what this fold has made of it last, if nobody else holds it. */
export interface Grower {
  own: unknown
}

export function grower(): Grower {
  return { own: undefined }
}

/** `$append` where what it gives takes the place of `left`. */
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

/** `$merge` of a list that begins with what its result takes the place of. */
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

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What members of states hold and nobody else does. A state lives on between events, so that this cannot stand in a variable. */
const ownedByStates = new WeakSet<object>()

/** The growers of states: one for all, since what is owned says so itself. */
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

/** Somebody else holds it from now on: it is not changed any more. */
export function share(value: unknown): void {
  if (typeof value === 'object' && value !== null) ownedByStates.delete(value)
}
