// What a stream writes: texts of events that were made, and bytes that pass.

/** Pieces as one: text stays text where all of them are. */
export function joined(pieces: readonly (Buffer | string)[]): Buffer | string {
  if (pieces.length === 1) return pieces[0] as Buffer | string
  if (pieces.every(piece => typeof piece === 'string')) return pieces.join('')
  return Buffer.concat(pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
