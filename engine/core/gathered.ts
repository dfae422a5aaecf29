// Bytes that wait in the pieces in which they came. Whoever sends them decides how small the pieces are, and a buffer takes a
// hundred bytes of memory beside its own: so small pieces share blocks.

const NOTHING = Buffer.alloc(0)
/** Bytes. A piece of this length stays as it is, and need not wait for others. */
export const LARGE = 4096
/** The sizes of blocks, which grow with what waits: bytes. */
const LEAST_BLOCK = 1024
const MOST_BLOCK = 64 * 1024

export class Gathered {
  /** The last one may be replaced by a longer one with the same beginning. */
  readonly pieces: Buffer[] = []
  length = 0
  /** The block whose beginning is the last piece; empty if that is no block. */
  private block = NOTHING

  /** Keeps the first piece and large ones as they are, and copies the others. */
  push(piece: Buffer): void {
    const { pieces, block } = this
    const filled = pieces.at(-1)?.length ?? 0
    this.length += piece.length
    if (block.length >= filled + piece.length) {
      piece.copy(block, filled)
      pieces[pieces.length - 1] = block.subarray(0, filled + piece.length)
    } else if (pieces.length === 0 || piece.length >= LARGE) {
      pieces.push(piece)
      this.block = NOTHING
    } else this.open(piece)
  }

  private open(piece: Buffer): void {
    this.block = Buffer.allocUnsafe(Math.min(Math.max(this.length, LEAST_BLOCK), MOST_BLOCK))
    piece.copy(this.block)
    this.pieces.push(this.block.subarray(0, piece.length))
  }

  /** Takes the first piece; undefined if there is none. */
  shift(): Buffer | undefined {
    const piece = this.pieces.shift()
    this.length -= piece?.length ?? 0
    if (this.pieces.length === 0) this.block = NOTHING
    return piece
  }

  /** Takes all of it, as one piece. */
  take(): Buffer {
    const pieces = this.pieces.splice(0)
    this.length = 0
    this.block = NOTHING
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }
}
