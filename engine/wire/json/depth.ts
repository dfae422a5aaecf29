// The limit on nesting: recursive code would overflow the stack on deeper values.

/** Levels of objects and lists in one body, or in one JSON text inside of it. */
export const DEEPEST = 256

/** Whether a value that was parsed from a text of `length` characters is nested too deep. */
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
