// Durations and sizes in the data.

import { duration } from '../../engine/core/durations.js'

const SIZES: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

/** `512KiB`, `32MiB` in bytes; undefined for another form. */
export function size(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+)(B|KiB|MiB|GiB)$/.exec(text) ?? []
  const size = SIZES[unit]
  return size === undefined ? undefined : Number(count) * size
}

/** A duration in milliseconds, for a text that a grammar has checked. */
export function milliseconds(text: string): number {
  return duration(text) as number
}

/** The same for a text that a grammar has checked. */
export function bytes(text: string): number {
  return size(text) as number
}
