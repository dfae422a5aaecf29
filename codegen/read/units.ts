// Durations and sizes in the data.

import { duration } from '../../engine/core/durations.js'

const SIZES: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** `512KiB`, `32MiB` in bytes; undefined for another form. */
export function size(text: string): number | undefined {
  const found = /^(\d+)(B|KiB|MiB|GiB)$/.exec(text)
  return found ? Number(found[1]) * (SIZES[found[2] as string] as number) : undefined
}

/** A duration in milliseconds, for a text that a grammar has checked. */
export function milliseconds(text: string): number {
  return duration(text) as number
}

/** The same for a text that a grammar has checked. */
export function bytes(text: string): number {
  return size(text) as number
}
