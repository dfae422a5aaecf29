// Durations and days as people write them, and the bound of times.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The latest time that a date can be: milliseconds since 1970. */
export const LATEST = 8_640_000_000_000_000

/** `250ms`, `60s`, `10m`, `2h`, `30d` in milliseconds; nothing for what is not written so. */
export function duration(text: string): number | undefined {
  const found = /^(\d+)(ms|s|m|h|d)$/.exec(text)
  return found ? Number(found[1]) * (UNITS[found[2] as string] as number) : undefined
}

/** The beginning of a day such as `2026-11-22` in UTC; undefined for what is not written so, and for a day that does not exist. */
export function beginningOf(day: string): number | undefined {
  const time = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN
  // `Date` takes the 31st of February for a day of March.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day) ? time : undefined
}
