// Durations as people write them, and the bound of times.

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The latest time that a date can be: milliseconds since 1970. */
export const LATEST = 8_640_000_000_000_000

/** `250ms`, `60s`, `10m`, `2h`, `30d` in milliseconds; nothing for what is not written so. */
export function duration(text: string): number | undefined {
  const found = /^(\d+)(ms|s|m|h|d)$/.exec(text)
  return found ? Number(found[1]) * (UNITS[found[2] as string] as number) : undefined
}
