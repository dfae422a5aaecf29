// The bytes of a body while it arrives. Small pieces share blocks, so that a body sent byte by byte takes no more memory
// than one sent at once. The memory of all bodies in the process is bounded.

/** The size of a block, and the most that is allocated because of an announced length: the announced bytes may never arrive. */
const BLOCK = 64 * 1024
const MOST_ANNOUNCED = 1024 * 1024

const NOTHING = Buffer.alloc(0)

/** The memory that all bodies of the process may hold together, and the memory that they hold now: bytes. */
export interface BodyMemory {
  readonly most: number
  held: number
}

export class HeldBody {
  private length = 0
  /** The memory that the blocks take, and what was reserved; never less than `length`. */
  private taken = 0
  private blocks: Buffer[] | undefined
  private last = NOTHING
  private filled = 0

  constructor(private readonly memory: BodyMemory) {}

  /** Copies a piece; returns false if the process already holds too much. `announced` is the length of the whole body, or 0. */
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

  /** Counts memory of the same request that is not in its body; returns false if the process already holds too much. */
  reserve(size: number): boolean {
    if (this.memory.held + size > this.memory.most) return false
    this.memory.held += size
    this.taken += size
    return true
  }

  /** Stops counting a part of what was reserved. */
  release(size: number): void {
    this.memory.held -= size
    this.taken -= size
  }

  private grow(least: number, announced: number): boolean {
    const rest = announced - this.length
    // The first piece of a body of unknown length is usually the whole body, so it gets a block of its size; later pieces
    // share blocks.
    const size = rest >= least && rest <= MOST_ANNOUNCED ? rest : this.taken === 0 ? least : Math.max(least, BLOCK)
    if (!this.reserve(size)) return false
    if (this.last.length > 0) {
      this.blocks ??= []
      this.blocks.push(this.last)
    }
    this.last = Buffer.allocUnsafe(size)
    this.filled = 0
    return true
  }

  /** The whole body in one buffer. Its memory counts until `free`. */
  whole(): Buffer {
    const { blocks, last, filled } = this
    const end = filled === last.length ? last : last.subarray(0, filled)
    return blocks === undefined ? end : Buffer.concat([...blocks, end])
  }

  /** Drops the bytes; their memory still counts, because the caller of `whole` may hold them. */
  drop(): void {
    this.blocks = undefined
    this.last = NOTHING
    this.filled = 0
  }

  /** Stops counting the memory: nothing refers to the bytes any more. */
  free(): void {
    this.drop()
    this.memory.held -= this.taken
    this.taken = 0
  }
}
