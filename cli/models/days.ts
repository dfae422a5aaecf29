// How old facts are.

/** Days after which facts, and releases of them, are old. */
export const OLD = 90

const DAY = 86_400_000

/** Whole days since a date, negative before it; `now` is in milliseconds since 1970. */
export function daysSince(date: string, now: number): number {
  return Math.floor((now - Date.parse(date)) / DAY)
}
