// Bytes that are nobody's film: as many as are wanted, always the same, and never all of them in memory.

import { createHash } from 'node:crypto'

const PERIOD = 65_536
const DIGEST = 32

/** Twice the period, so that a piece may begin anywhere in it. */
const pattern = Buffer.concat(
  Array.from({ length: (2 * PERIOD) / DIGEST }, (_, index) =>
    createHash('sha256')
      .update(String(index % (PERIOD / DIGEST)))
      .digest(),
  ),
)

/** Up to 64 KiB of the content, from a place on. The bytes are shared: they are for reading. */
export function contentAt(from: number, length: number): Buffer {
  const start = from % PERIOD
  return pattern.subarray(start, start + Math.min(length, PERIOD))
}

/** The content in pieces. */
export function* content(length: number, from = 0): Generator<Buffer> {
  for (let at = from; at < from + length; at += PERIOD) yield contentAt(at, from + length - at)
}

/** What the SHA-256 of so many bytes is, without having them at once. */
export function digestOf(length: number): string {
  const hash = createHash('sha256')
  for (const piece of content(length)) hash.update(piece)
  return hash.digest('hex')
}

export type Range = { from: number; length: number }

/** What a range asks for: one of them, in bytes. `whole` where there is none that is understood, `none` where it lies behind the end. */
export function rangeOf(header: string, total: number): Range | 'whole' | 'none' {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'whole'
  const from = first === '' ? Math.max(total - Number(last), 0) : Number(first)
  const to = first === '' || last === '' ? total - 1 : Math.min(Number(last), total - 1)
  return from >= total || from > to ? 'none' : { from, length: to - from + 1 }
}
