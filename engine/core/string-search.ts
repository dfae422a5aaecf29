// Searches the strings of a parsed value. A search in its JSON text costs half as much as parsing it.

import type { StringSearch } from '../plan.js'

/** Whether a JSON value holds a string or a key of a search. */
export function holdsString(value: unknown, search: StringSearch): boolean {
  if (typeof value === 'string') return isSought(value, search)
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) {
    for (const item of value) if (holdsString(item, search)) return true
    return false
  }
  for (const key in value) if (isSought(key, search) || holdsString((value as Record<string, unknown>)[key], search)) return true
  return false
}

function isSought(text: string, { begins, equals }: StringSearch): boolean {
  for (const begin of begins) if (text.startsWith(begin)) return true
  return equals.includes(text)
}
