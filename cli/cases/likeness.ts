// What a case expects, in words that hold for every run: patterns, any value, and names for what is never the same twice.

/** What stands in a case for any value. */
export const ANY = '<any>'

const PATTERN = /^\/(\^.*)\/$/s

/** What is expected, with what was there wherever the case takes any value. */
export function withAny(expected: unknown, made: unknown): unknown {
  if (expected === ANY) return made === undefined ? expected : made
  if (typeof expected !== 'object' || expected === null) return expected
  const inner = (made ?? {}) as Record<string, unknown>
  if (Array.isArray(expected)) return expected.map((one, index) => withAny(one, inner[index]))
  return Object.fromEntries(Object.entries(expected).map(([name, one]) => [name, withAny(one, inner[name])]))
}

/** The actual value, where texts and numbers that a pattern `/^…/` is written for and that match it stand as the pattern. */
export function likened(actual: unknown, expected: unknown): unknown {
  if ((typeof actual === 'string' || typeof actual === 'number') && typeof expected === 'string') {
    const pattern = PATTERN.exec(expected)?.[1]
    return pattern !== undefined && new RegExp(pattern).test(String(actual)) ? expected : actual
  }
  if (typeof actual !== 'object' || actual === null || typeof expected !== 'object' || expected === null) return actual
  const wanted = expected as Record<string, unknown>
  if (Array.isArray(actual)) return actual.map((item, index) => likened(item, wanted[index]))
  return Object.fromEntries(Object.entries(actual).map(([key, item]) => [key, likened(item, wanted[key])]))
}

/** Of the actual value, the members that are expected; lists are whole. */
export function picked(actual: unknown, expected: unknown): unknown {
  if (typeof actual !== 'object' || actual === null || Array.isArray(actual)) return actual
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected)) return actual
  const wanted = expected as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(actual)
      .filter(([key]) => key in wanted)
      .map(([key, item]) => [key, picked(item, wanted[key])]),
  )
}

/** What differs from one run to the next, by name: the id of the exchange, what is made of it, and the seconds of now. */
export function named(value: unknown, id: string, seconds: readonly [from: number, to: number]): unknown {
  if (typeof value === 'string') return id === '' ? value : value.replaceAll(id, '$ID').replaceAll(id.slice(-24), '$ID24')
  if (typeof value === 'number') return Number.isInteger(value) && value >= seconds[0] && value <= seconds[1] ? '$NOW' : value
  if (Array.isArray(value)) return value.map(item => named(item, id, seconds))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, named(item, id, seconds)]))
}
