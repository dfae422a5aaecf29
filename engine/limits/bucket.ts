// A token bucket in whole numbers: it holds at most `limit`, and refills continuously by `limit` for each window.

/** The largest number of shares in a bucket: half of the largest exact integer, because a debt needs the other half. */
const MOST_SHARES = 2 ** 52

export class Bucket {
  /** Milliseconds in a tick of its clock: more than one only if limit × window would not be exact. */
  private unit = 1
  /** The shares of one request, or token; each tick adds `limit` shares. So nothing is ever rounded. */
  private cost = 1
  /** The shares in the bucket; below zero if more was used than there was. */
  private shares = 0
  private tick = 0

  /**
   * Full at first.
   * @param limit the amount of a window: a whole number from 1
   * @param window milliseconds, a whole number
   * @param time now, on the clock of all its other calls: milliseconds
   */
  constructor(
    public limit: number,
    readonly window: number,
    time: number,
  ) {
    this.measure()
    this.shares = this.limit * this.cost
    this.tick = Math.floor(time / this.unit)
  }

  private measure(): void {
    this.unit = Math.max(1, Math.ceil((this.limit * this.window) / MOST_SHARES))
    this.cost = Math.ceil(this.window / this.unit)
  }

  private refill(time: number): void {
    const tick = Math.floor(time / this.unit)
    const ticks = tick - this.tick
    if (ticks <= 0) return
    this.tick = tick
    const missing = this.limit * this.cost - this.shares
    const gain = ticks * this.limit
    this.shares = gain >= missing ? this.limit * this.cost : this.shares + gain
  }

  /** Milliseconds until the bucket holds `amount`, which is at most `limit`: 0 if it does. */
  wait(amount: number, time: number): number {
    this.refill(time)
    const missing = amount * this.cost - this.shares
    if (missing <= 0) return 0
    return (this.tick + Math.ceil(missing / this.limit)) * this.unit - time
  }

  /** Takes an amount, even if the bucket falls below zero. A negative amount is returned. */
  take(amount: number): void {
    const shares = this.shares - amount * this.cost
    this.shares = Math.max(-MOST_SHARES, Math.min(shares, this.limit * this.cost))
  }

  /** The whole units in the bucket; below zero: the debt. */
  left(time: number): number {
    this.refill(time)
    return Math.floor(this.shares / this.cost)
  }

  /** Milliseconds until it is full. */
  full(time: number): number {
    return this.wait(this.limit, time)
  }

  /** Sets another limit; what was used stays used. */
  resize(limit: number, time: number): void {
    if (limit === this.limit) return
    this.refill(time)
    const used = (this.limit * this.cost - this.shares) / this.cost
    this.limit = limit
    this.measure()
    this.shares = this.limit * this.cost - Math.ceil(used * this.cost)
    this.tick = Math.floor(time / this.unit)
  }
}
