// Two clocks of a request body: the slowest upload that is accepted, and how much of a body is read after its answer.

import { type Deadline, now, unwatch } from '../core/deadlines.js'

/**
 * When the answer leaves before the body has ended, at most this much of the rest is read and thrown away: bytes,
 * milliseconds.
 */
const MOST_LINGERED = 64 * 1024 * 1024
const LONGEST_LINGER = 30_000
const LONGEST_PAUSE = 2_000
/** A body must bring at least this many bytes within each period of `limits.upload`. */
const LEAST_PROGRESS = 16 * 1024

/** Checks at each period whether a body still arrives fast enough. */
export class UploadClock implements Deadline {
  slot = -1
  due: number
  private before = 0

  constructor(
    private readonly body: { progress(): number | undefined; tooSlow(): void },
    private readonly time: number,
  ) {
    this.due = now() + time
  }

  fire(): void {
    const length = this.body.progress()
    if (length !== undefined && length - this.before < LEAST_PROGRESS) {
      unwatch(this)
      this.body.tooSlow()
      return
    }
    this.before = length ?? this.before
    this.due = now() + this.time
  }
}

/** Reads the rest of a body after its answer, until the body ends, the limit is reached or nothing arrives any more. */
export class Linger implements Deadline {
  slot = -1
  due = now() + LONGEST_PAUSE
  private readonly began = now()
  private length = 0

  constructor(private readonly end: (isTooMuch: boolean) => void) {}

  onChunk(length: number, isLast: boolean): void {
    this.length += length
    this.due = now() + LONGEST_PAUSE
    if (isLast) this.over(false)
    else if (this.length > MOST_LINGERED || now() > this.began + LONGEST_LINGER) this.over(true)
  }

  /** Closes only the gateway's direction, so that a client that has stopped sending can still read the end of its answer. */
  fire(): void {
    this.over(false)
  }

  private over(isTooMuch: boolean): void {
    if (this.slot < 0) return
    unwatch(this)
    this.end(isTooMuch)
  }
}
