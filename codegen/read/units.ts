// Durations and sizes in the data.

const DURATIONS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const SIZES: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** `250ms`, `60s`, `10m`, `2h` in milliseconds; undefined for another form. */
export function duration(text: string): number | undefined {
  const found = /^(\d+)(ms|s|m|h)$/.exec(text)
  return found ? Number(found[1]) * (DURATIONS[found[2] as string] as number) : undefined
}

/** `512KiB`, `32MiB` in bytes; undefined for another form. */
export function size(text: string): number | undefined {
  const found = /^(\d+)(B|KiB|MiB|GiB)$/.exec(text)
  return found ? Number(found[1]) * (SIZES[found[2] as string] as number) : undefined
}

/** The same for a text that a grammar has checked. */
export function milliseconds(text: string): number {
  return duration(text) as number
}

/** The same for a text that a grammar has checked. */
export function bytes(text: string): number {
  return size(text) as number
}
