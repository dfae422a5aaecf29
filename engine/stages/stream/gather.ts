// Gathers pieces of a stream that cost less when they are handled together.

import { joined, type Piece } from './pieces.js'

/** Bytes, or characters of text, that are gathered at most. */
const MOST = 64 * 1024

export interface Gathering<Kind extends Piece> {
  add(piece: Kind): void
  /** What has been gathered, as one piece; undefined if there is nothing. */
  take(): Kind | undefined
}

/** Calls `handle`, which takes what there is, when `later` says, and at once when it is much. */
export function gathering<Kind extends Piece>(later: (run: () => void) => void, handle: () => void): Gathering<Kind> {
  let pieces: Kind[] = []
  let length = 0
  return {
    add(piece) {
      length += piece.length
      const count = pieces.push(piece)
      if (length > MOST) handle()
      else if (count === 1) later(handle)
    },
    take() {
      const whole = joined(pieces)
      pieces = []
      length = 0
      return whole
    },
  }
}
