// The pieces of a stream: bytes of an upstream, and texts of new events.

export type Piece = Buffer | string

/** Joins pieces; the result is text if all of them are. Bytes of one read that follow one another are not copied. */
export function joined<Kind extends Piece>(pieces: readonly Kind[]): Kind | undefined {
  if (pieces.length <= 1) return pieces[0]
  return (asText(pieces) ?? neighbours(pieces) ?? Buffer.concat(pieces.map(asBytes))) as Kind
}

function asText(pieces: readonly Piece[]): string | undefined {
  return pieces.every(piece => typeof piece === 'string') ? pieces.join('') : undefined
}

function asBytes(piece: Piece): Buffer {
  return typeof piece === 'string' ? Buffer.from(piece) : piece
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
