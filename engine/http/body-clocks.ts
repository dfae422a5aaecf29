// How long a client may take to send its body, and how much of it is read after the answer.

import { type Deadline, now, unwatch } from '../core/deadlines.js'

/** After an answer that came before the end of a long body, so much of the rest is read and thrown away: bytes, milliseconds. */
const MOST_LINGERED = 64 * 1024 * 1024
const LONGEST_LINGER = 30_000
const LONGEST_PAUSE = 2_000
/** A body goes on as long as so many bytes of it come in the time that `limits.upload` gives. */
const LEAST_PROGRESS = 16 * 1024

/** Looks from time to time whether a body still comes fast enough. */
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

/** Counts what is thrown away of a body after its answer, until it is over, has been enough, or comes no more. */
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

  /** A client that sends no more can read the end of its answer. */
  fire(): void {
    this.over(false)
  }

  private over(isTooMuch: boolean): void {
    if (this.slot < 0) return
    unwatch(this)
    this.end(isTooMuch)
  }
}
