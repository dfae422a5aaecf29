// Generated content of any length: always the same, and never wholly in memory.

import { createHash } from 'node:crypto'

const PERIOD = 65_536
const DIGEST = 32

/** Two periods, so that a piece may begin anywhere in the first. */
const pattern = Buffer.concat(
  Array.from({ length: (2 * PERIOD) / DIGEST }, (_, index) =>
    createHash('sha256')
      .update(String(index % (PERIOD / DIGEST)))
      .digest(),
  ),
)

/** Up to 64 KiB of the content from an offset. The bytes are shared: read-only. */
export function contentAt(from: number, length: number): Buffer {
  const start = from % PERIOD
  return pattern.subarray(start, start + Math.min(length, PERIOD))
}

/** The content in pieces. */
export function* content(length: number, from = 0): Generator<Buffer> {
  for (let at = from; at < from + length; at += PERIOD) yield contentAt(at, from + length - at)
}

/** The SHA-256 of the content of a length, computed piece by piece. */
export function digestOf(length: number): string {
  const hash = createHash('sha256')
  for (const piece of content(length)) hash.update(piece)
  return hash.digest('hex')
}

export type Range = { from: number; length: number }

/** The single byte range of a header. `whole` if the header is not understood, `none` if the range is behind the end. */
export function rangeOf(header: string, total: number): Range | 'whole' | 'none' {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'whole'
  const from = first === '' ? Math.max(total - Number(last), 0) : Number(first)
  const to = first === '' || last === '' ? total - 1 : Math.min(Number(last), total - 1)
  return from >= total || from > to ? 'none' : { from, length: to - from + 1 }
}
