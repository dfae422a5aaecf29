// The bytes of a body while it arrives. Small pieces go into blocks, so that a body sent byte by byte takes no more memory
// than one sent at once; and what all bodies of the process hold together is bounded.

/** The size of a block, and the most that is taken at once because it was announced: what is announced need not come. */
const BLOCK = 64 * 1024
const MOST_ANNOUNCED = 1024 * 1024

const NOTHING = Buffer.alloc(0)

/** What all bodies together may hold in this process, and what they hold now: bytes. */
export interface BodyMemory {
  readonly most: number
  held: number
}

export class HeldBody {
  private length = 0
  /** The memory that the blocks take, which is never less than `length`. */
  private taken = 0
  private blocks: Buffer[] | undefined
  private last = NOTHING
  private filled = 0

  constructor(private readonly memory: BodyMemory) {}

  /** Takes a copy of a piece; false where the process holds too much already. `announced` is the length of the whole, or 0. */
  add(piece: ArrayBuffer, announced: number): boolean {
    let bytes = new Uint8Array(piece)
    if (bytes.length === 0) return true
    const room = this.last.length - this.filled
    if (room < bytes.length) {
      if (room > 0) {
        this.last.set(bytes.subarray(0, room), this.filled)
        this.filled += room
        this.length += room
        bytes = bytes.subarray(room)
      }
      if (!this.grow(bytes.length, announced)) return false
    }
    this.last.set(bytes, this.filled)
    this.filled += bytes.length
    this.length += bytes.length
    return true
  }

  private grow(least: number, announced: number): boolean {
    const rest = announced - this.length
    // The first piece of a body of unknown length is most often all of it; later pieces share blocks.
    const size = rest >= least && rest <= MOST_ANNOUNCED ? rest : this.taken === 0 ? least : Math.max(least, BLOCK)
    if (this.memory.held + size > this.memory.most) return false
    this.memory.held += size
    this.taken += size
    if (this.last.length > 0) {
      this.blocks ??= []
      this.blocks.push(this.last)
    }
    this.last = Buffer.allocUnsafe(size)
    this.filled = 0
    return true
  }

  /** All of it as one; what it held counts until `free`. */
  whole(): Buffer {
    const { blocks, last, filled } = this
    const end = filled === last.length ? last : last.subarray(0, filled)
    return blocks === undefined ? end : Buffer.concat([...blocks, end])
  }

  /** Lets go of the bytes. */
  drop(): void {
    this.blocks = undefined
    this.last = NOTHING
    this.filled = 0
  }

  /** Nobody holds the bytes any more. */
  free(): void {
    this.drop()
    this.memory.held -= this.taken
    this.taken = 0
  }
}
