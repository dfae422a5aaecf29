// What is left of a document whose grammar does not hold, without its errors, so that the rest of it can be checked, too.

import { type Grammars, wrongPlaces } from './grammar.js'
import { type Pointer, valueAt, type YamlDocument } from './yaml.js'

/** A document whose value is the rest of another one's. Its positions are those of the file. */
export interface Rest extends YamlDocument {
  /** The paths in the file that were left out. */
  without: readonly Pointer[]
  /** Where a value of the rest is in the file: items of a list that were left out count there. */
  written(pointer: Pointer): Pointer
}

/** Leaving out a key may leave a required one missing, so that what holds it is left out next. */
const MOST_ROUNDS = 8

/** For a list that lacks items, the index in the file of each item that it still has. */
type Indices = WeakMap<object, number[]>

/**
 * The rest of a document. Of one that is wrong as a whole, as where it lacks a key, nothing is left, unless it has the keys that are
 * `enough` to go on with.
 */
export function restOf(project: Grammars, name: string, document: YamlDocument, enough?: readonly string[]): Rest {
  const value = unshared(document.value ?? {})
  const indices: Indices = new WeakMap()
  const without: Pointer[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const wrong = wrongPlaces(project, name, { ...document, value })
    const inside = wrong.filter(pointer => pointer.length > 0)
    without.push(...wrong.map(pointer => written(pointer, value, indices)))
    if (wrong.length === 0 || (inside.length === 0 && enough?.every(key => Object.hasOwn(Object(value), key))))
      return rest(document, value, without, indices)
    if (inside.length === 0 || (enough === undefined && inside.length < wrong.length)) break
    for (const pointer of unique(inside).sort(fromTheEnd)) leaveOut(value, pointer, indices)
  }
  return rest(document, {}, [...without, []], indices)
}

function rest(document: YamlDocument, value: unknown, without: readonly Pointer[], indices: Indices): Rest {
  const inFile = (pointer: Pointer): Pointer => written(pointer, value, indices)
  return {
    ...document,
    value,
    without,
    written: inFile,
    at: pointer => document.at(inFile(pointer)),
    key: pointer => document.key(inFile(pointer)),
    inside: (pointer, offset) => document.inside(inFile(pointer), offset),
  }
}

function written(pointer: Pointer, value: unknown, indices: Indices): Pointer {
  return pointer.map((part, index) => {
    const holder = valueAt(value, pointer.slice(0, index))
    return (Array.isArray(holder) && indices.get(holder)?.[Number(part)]) || part
  })
}

/** A copy in which nothing stands in two places, as an alias of YAML does: each place may lose something else. */
function unshared(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unshared)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, unshared(part)]))
}

function unique(pointers: readonly Pointer[]): Pointer[] {
  return [...new Map(pointers.map(pointer => [JSON.stringify(pointer), pointer])).values()]
}

/** Later items of a list first, and members before what holds them: what is left out moves nothing that is left out after it. */
function fromTheEnd(one: Pointer, other: Pointer): number {
  const index = one.findIndex((part, index) => part !== other[index])
  if (index < 0 || index >= other.length) return other.length - one.length
  const [part, another] = [one[index], other[index]]
  return typeof part === 'number' && typeof another === 'number' ? another - part : String(part) < String(another) ? -1 : 1
}

function leaveOut(value: unknown, pointer: Pointer, indices: Indices): void {
  const holder = valueAt(value, pointer.slice(0, -1))
  const last = pointer.at(-1)
  if (Array.isArray(holder)) {
    const left = indices.get(holder) ?? holder.map((_, index) => index)
    indices.set(holder, left.toSpliced(Number(last), 1))
    holder.splice(Number(last), 1)
  } else if (typeof holder === 'object' && holder !== null) delete (holder as Record<string, unknown>)[String(last)]
}
