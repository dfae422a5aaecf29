// How deep values may be nested: what walks through them calls itself for each level, and a stack has an end.

/** Levels of objects and lists in one body, or in one text of JSON inside of it. */
export const DEEPEST = 256

/** Whether a value that was read from a text of so many characters is nested deeper than that. */
export function isTooDeep(value: unknown, length: number): boolean {
  // Each level takes two brackets.
  return length > 2 * DEEPEST && isDeeper(value, DEEPEST)
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index]
      if (typeof item === 'object' && isDeeper(item, levels - 1)) return true
    }
    return false
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key]
    if (typeof item === 'object' && isDeeper(item, levels - 1)) return true
  }
  return false
}
