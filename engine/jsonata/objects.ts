// JSONata's built-ins over objects. An object may have a key "__proto__" like any other: it is never assigned to.

import { createSequence, type Sequence } from './sequence.js'

type Fields = Record<string, unknown>

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/** Sets an own property, whatever its name. */
export function setKey(object: Fields, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

export function keys(value: unknown): Sequence {
  const result = createSequence()
  if (Array.isArray(value)) {
    // Collected in an object, because the reference returns the union in the order of an object's keys.
    const all = Object.create(null) as Fields
    for (const item of value as unknown[]) for (const key of keys(item)) all[key as string] = true
    for (const key of Object.keys(all)) result.push(key)
  } else if (isObject(value)) {
    for (const key of Object.keys(value)) result.push(key)
  }
  return result
}

/** The value at a key; from an array, those of all its members in one sequence, not yet collapsed. */
export function lookup(value: unknown, key: string): unknown {
  if (!Array.isArray(value)) return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  const result = createSequence()
  for (let index = 0; index < value.length; index++) {
    const found = lookup(value[index], key)
    if (Array.isArray(found)) for (let place = 0; place < found.length; place++) result.push(found[place])
    else if (found !== undefined) result.push(found)
  }
  return result
}

/** Splits an object into objects of one key each. From an array it returns an array, not a sequence, unless that is empty. */
export function spread(value: unknown): unknown {
  if (!isObject(value)) return value
  const result = createSequence()
  if (!Array.isArray(value)) {
    for (const key of Object.keys(value)) result.push(only(key, value[key]))
    return result
  }
  let array: unknown[] | undefined
  for (const item of value as unknown[]) {
    const parts = spread(item)
    if (parts === undefined) continue
    array ??= []
    if (Array.isArray(parts)) for (const part of parts as unknown[]) array.push(part)
    else array.push(parts)
  }
  return array ?? result
}

function only(key: string, value: unknown): Fields {
  const result: Fields = {}
  setKey(result, key, value)
  return result
}

/** Merges objects: later ones overwrite. */
export function merge(objects: readonly unknown[] | undefined): Fields | undefined {
  if (objects === undefined) return undefined
  const [first, second] = objects
  if (objects.length === 2 && isObject(first) && isObject(second) && hasAllKeys(first, second)) {
    // A spread copies the shape at once, but later additions of keys are slow.
    return Object.assign({ ...first }, second)
  }
  const result: Fields = {}
  for (const object of objects) {
    if (isObject(object)) for (const key of Object.keys(object)) setKey(result, key, object[key])
  }
  return result
}

function hasAllKeys(object: Fields, of: Fields): boolean {
  for (const key of Object.keys(of)) if (!Object.hasOwn(object, key)) return false
  return true
}
