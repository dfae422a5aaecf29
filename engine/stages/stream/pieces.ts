// The pieces that a stream writes: texts of new events, and bytes that pass.

/** Joins pieces; the result is text if all of them are. */
export function joined(pieces: readonly (Buffer | string)[]): Buffer | string {
  if (pieces.length === 1) return pieces[0] as Buffer | string
  if (pieces.every(piece => typeof piece === 'string')) return pieces.join('')
  return Buffer.concat(pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
