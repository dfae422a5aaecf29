// The pieces that a stream writes: texts of new events, and bytes that pass.

export type Piece = Buffer | string

/** Joins pieces; the result is text if all of them are. Bytes of one read that follow one another are not copied. */
export function joined(all: readonly Piece[]): Piece {
  const pieces = all.filter(piece => piece.length > 0)
  if (pieces.length <= 1) return pieces[0] ?? ''
  if (pieces.every(piece => typeof piece === 'string')) return pieces.join('')
  return neighbours(pieces) ?? Buffer.concat(pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}

/** Pieces that lie one behind the other in memory, as one; undefined if they do not. */
function neighbours(pieces: readonly Piece[]): Buffer | undefined {
  const first = pieces[0] as Piece
  if (typeof first === 'string') return undefined
  const { buffer, byteOffset } = first
  let end = byteOffset + first.length
  for (let index = 1; index < pieces.length; index++) {
    const piece = pieces[index] as Piece
    if (typeof piece === 'string' || piece.byteOffset !== end || piece.buffer !== buffer) return undefined
    end += piece.length
  }
  return Buffer.from(buffer, byteOffset, end - byteOffset)
}
