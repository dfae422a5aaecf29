// A token bucket in whole numbers: it holds at most `limit`, and regains `limit` over one window, bit by bit.

/** The greatest number of shares that a bucket is divided into: half of what a number counts exactly, for what is owed. */
const MOST_SHARES = 2 ** 52

export class Bucket {
  /** Milliseconds in one tick of its clock: more than one only where limit × window would not be exact. */
  private unit = 1
  /** One request, or token, as shares; each tick brings `limit` shares. So nothing is ever rounded. */
  private cost = 1
  /** What is there, as shares; below zero where more was used than was there. */
  private shares = 0
  private tick = 0

  /**
   * Full at first.
   * @param limit how many are there in a window: a whole number from 1
   * @param window milliseconds, a whole number
   * @param time the moment, on the clock that all its other calls go by: milliseconds
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

  /** Milliseconds until `amount`, of at most `limit`, are there: 0 where they are. */
  wait(amount: number, time: number): number {
    this.refill(time)
    const missing = amount * this.cost - this.shares
    if (missing <= 0) return 0
    return (this.tick + Math.ceil(missing / this.limit)) * this.unit - time
  }

  /** Takes so many, whether they are there or not; what is not is owed. A negative amount goes back. */
  take(amount: number): void {
    const shares = this.shares - amount * this.cost
    this.shares = Math.max(-MOST_SHARES, Math.min(shares, this.limit * this.cost))
  }

  /** How many are there, whole ones; below zero what is owed. */
  left(time: number): number {
    this.refill(time)
    return Math.floor(this.shares / this.cost)
  }

  /** Milliseconds until it is full. */
  full(time: number): number {
    return this.wait(this.limit, time)
  }

  /** Another limit: what is used of it stays used. */
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
