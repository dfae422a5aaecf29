// What a limit counts, and how much of it is left: in this process alone, or of a chunk that a shared counter has granted.

import { Bucket } from './bucket.js'

/** What a limit counts. The numbers are indexes in lists of amounts. */
export const REQUESTS = 0
export const INPUT = 1
export const OUTPUT = 2
export const TOKENS = 3
export const IN_FLIGHT = 4
export type Kind = typeof REQUESTS | typeof INPUT | typeof OUTPUT | typeof TOKENS | typeof IN_FLIGHT

/** The meter has to ask for more before it can say whether there is any. */
export const ASK = -1

export interface Meter {
  readonly id: string
  readonly kind: Kind
  /** The owner in messages: 'this API key'. */
  readonly owner: string
  limit: number
  /** Milliseconds; 0 for requests under way. */
  readonly window: number
  /** Milliseconds until it holds the amount: 0 if it does, `ASK` if the caller has to await `more`. */
  wait(amount: number, time: number): number
  /** Takes an available amount. Returns the period that it came from, for `give`. */
  take(amount: number, time: number): number
  /** Returns an unused amount to its period; a negative amount is an additional use. */
  give(amount: number, period: number): void
  /** The amount left; never below zero. */
  left(time: number): number
  /** Milliseconds until the full limit is available. */
  reset(time: number): number
  /** Sets another limit; it holds from now on. */
  resize(limit: number, time: number): void
  /** Asks for an amount more; resolves with any answer, also a refusal. */
  more?(amount: number): Promise<void>
}

/** Milliseconds after which to ask again for slots that others hold: they may be free at any time. */
export const SOON = 1_000

/** A rate limit that this process counts alone. */
export class LocalRate implements Meter {
  private readonly bucket: Bucket

  constructor(
    readonly id: string,
    readonly kind: Kind,
    readonly owner: string,
    public limit: number,
    readonly window: number,
    time: number,
  ) {
    this.bucket = new Bucket(limit, window, time)
  }

  wait(amount: number, time: number): number {
    return this.bucket.wait(amount, time)
  }

  take(amount: number): number {
    this.bucket.take(amount)
    return 0
  }

  give(amount: number): void {
    this.bucket.take(-amount)
  }

  left(time: number): number {
    return Math.max(0, this.bucket.left(time))
  }

  reset(time: number): number {
    return this.bucket.full(time)
  }

  resize(limit: number, time: number): void {
    this.limit = limit
    this.bucket.resize(limit, time)
  }
}

/** A limit on requests under way that this process counts alone. */
export class LocalSlots implements Meter {
  readonly kind = IN_FLIGHT
  readonly window = 0
  private used = 0

  constructor(
    readonly id: string,
    readonly owner: string,
    public limit: number,
  ) {}

  wait(amount: number): number {
    return this.used + amount <= this.limit ? 0 : SOON
  }

  take(amount: number): number {
    this.used += amount
    return 0
  }

  give(amount: number): void {
    this.used -= amount
  }

  left(): number {
    return Math.max(0, this.limit - this.used)
  }

  reset(): number {
    return 0
  }

  resize(limit: number): void {
    this.limit = limit
  }
}
