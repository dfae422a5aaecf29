// What is left of a document whose grammar does not hold, without its errors, so that the rest of it can be checked, too.

import { type Grammars, wrongPlaces } from './grammar.js'
import { type Pointer, valueAt, type YamlDocument } from './yaml.js'

export interface Rest {
  value: unknown
  /** The paths that were left out. */
  without: readonly Pointer[]
}

/** Leaving out a key may leave a required one missing, so that what holds it is left out next. */
const MOST_ROUNDS = 8

/**
 * The rest of a document. Of one that is wrong as a whole, as where it lacks a key, nothing is left, unless it has the keys that are
 * `enough` to go on with.
 */
export function restOf(project: Grammars, name: string, document: YamlDocument, enough?: readonly string[]): Rest {
  const value = structuredClone(document.value ?? {})
  const without: Pointer[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const wrong = wrongPlaces(project, name, { ...document, value }).map(pointer => ownPlace(pointer, value))
    const inside = wrong.filter(pointer => pointer.length > 0)
    without.push(...wrong)
    if (wrong.length === 0 || (inside.length === 0 && enough?.every(key => Object.hasOwn(Object(value), key)))) return { value, without }
    if (inside.length === 0 || (enough === undefined && inside.length < wrong.length)) break
    for (const pointer of inside) leaveOut(value, pointer)
  }
  return { value: {}, without: [...without, []] }
}

/** An item of a list is left out with the list, because the indices of the others would change. */
function ownPlace(pointer: Pointer, value: unknown): Pointer {
  const holder = valueAt(value, pointer.slice(0, -1))
  return Array.isArray(holder) ? pointer.slice(0, -1) : pointer
}

function leaveOut(value: unknown, pointer: Pointer): void {
  const holder = valueAt(value, pointer.slice(0, -1))
  if (typeof holder === 'object' && holder !== null) delete (holder as Record<string, unknown>)[String(pointer.at(-1))]
}
