// What a limit counts, and how much of it is left: in this process alone, or of a share that others have handed out.

import { Bucket } from './bucket.js'

/** What a limit counts. The numbers are places in lists of amounts. */
export const REQUESTS = 0
export const INPUT = 1
export const OUTPUT = 2
export const TOKENS = 3
export const IN_FLIGHT = 4
export type Kind = typeof REQUESTS | typeof INPUT | typeof OUTPUT | typeof TOKENS | typeof IN_FLIGHT

/** More has to be asked for before it is known whether there is any. */
export const ASK = -1

export interface Meter {
  readonly id: string
  readonly kind: Kind
  /** Whose it is, in words for callers: 'this API key'. */
  readonly owner: string
  limit: number
  /** Milliseconds; 0 for what is in flight. */
  readonly window: number
  /** Milliseconds until so many may be there: 0 where they are, `ASK` where `more` has to be waited for. */
  wait(amount: number, time: number): number
  /** Takes so many that were there. Gives the period that they were taken of, for `give`. */
  take(amount: number, time: number): number
  /** Takes back so many of a period that were taken and not used; below zero, what was used on top. */
  give(amount: number, period: number): void
  /** How many are left; never below zero. */
  left(time: number): number
  /** Milliseconds until it is whole again. */
  reset(time: number): number
  /** Another limit, from now on. */
  resize(limit: number, time: number): void
  /** Asks for so many more; resolves when there is an answer, whatever it is. */
  more?(amount: number): Promise<void>
}

/** Milliseconds after which it is worth to ask again for what others hold: they may be done at any time. */
export const SOON = 1_000

/** A rate that this process alone counts. */
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

/** How many may be under way at a time, in this process alone. */
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
