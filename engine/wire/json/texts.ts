// The texts in a JSON value, by path.

import type { Excepted, Json, TextPath } from '../../plan.js'

/** The object or list that holds a text, and its key. */
export type Holder = Record<string | number, Json>

/**
 * Calls `each` for every text at some paths, where `[]` stands for each element of a list, or for a single value in place
 * of a list, `*` for each member of an object, and `**` for every text below. `along` are the objects on the path, from the
 * whole value on.
 */
export function eachText(
  value: Json,
  paths: readonly TextPath[],
  each: (text: string, holder: Holder, key: string | number, path: number, along: readonly Holder[]) => void,
): void {
  const along: Holder[] = []
  const step = (holder: Holder, key: string | number, path: TextPath, at: number, number: number): void => {
    const current = holder[key]
    const name = path[at]
    if (typeof name === 'object') {
      if (!isExcepted(current, name)) step(holder, key, path, at + 1, number)
      return
    }
    if (name === '**' || (name === undefined && typeof current === 'string')) {
      below(holder, key, number)
      return
    }
    if (name === '[]') {
      if (Array.isArray(current)) for (let index = 0; index < current.length; index++) step(current as never, index, path, at + 1, number)
      else step(holder, key, path, at + 1, number)
      return
    }
    if (name === undefined || typeof current !== 'object' || current === null) return
    const object = current as Holder
    along.push(object)
    if (name === '*') for (const member of Object.keys(object)) step(object, member, path, at + 1, number)
    else if (Object.hasOwn(object, name)) step(object, name, path, at + 1, number)
    along.pop()
  }
  const below = (holder: Holder, key: string | number, number: number): void => {
    const current = holder[key]
    if (typeof current === 'string') each(current, holder, key, number, along)
    else if (Array.isArray(current)) for (let index = 0; index < current.length; index++) below(current as never, index, number)
    else if (typeof current === 'object' && current !== null)
      for (const name of Object.keys(current)) below(current as Holder, name, number)
  }
  const root: Holder = { value }
  for (const [number, path] of paths.entries()) step(root, 'value', path, 0, number)
}

function isExcepted(value: Json, { member, values }: Excepted): boolean {
  return typeof value === 'object' && value !== null && values.includes((value as Holder)[member] as string)
}

/** Empties the lists and objects at some paths; returns whether there was one. */
export function emptyAt(value: Json, paths: readonly (readonly string[])[]): boolean {
  let isFound = false
  const step = (holder: Holder, key: string | number, path: readonly string[], at: number): void => {
    const current = holder[key]
    if (typeof current !== 'object' || current === null) return
    const name = path[at]
    if (name === undefined) {
      isFound = true
      holder[key] = Array.isArray(current) ? [] : null
    } else if (name === '[]') {
      if (Array.isArray(current)) for (let index = 0; index < current.length; index++) step(current as never, index, path, at + 1)
    } else if (Object.hasOwn(current, name)) step(current as Holder, name, path, at + 1)
  }
  for (const path of paths) step({ value }, 'value', path, 0)
  return isFound
}

/** Whether a text begins like a non-empty JSON object or list. */
export function beginsAsJson(text: string): boolean {
  return /^\s*(?:\{\s*["}]|\[\s*["{[\]])/.test(text)
}
