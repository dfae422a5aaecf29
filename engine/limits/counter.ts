// Counts limits for several processes, in the process that started them.

import { Bucket } from './bucket.js'
import { SOON } from './meter.js'
import type { Grant, HeldSlots } from './shared.js'

/** Milliseconds in which a chunk may be spent: a chunk kept longer would add to a bucket that is full again. */
const HOLDS = 1_000

/** Milliseconds. A limit that nobody has used for its window and this long is forgotten: it is full. */
const FORGET = 1_800_000

interface Counted {
  bucket: Bucket
  askedAt: number
}

export class LocalCounter {
  private readonly rates = new Map<string, Counted>()
  /** By limit, the slots of each holder. */
  private readonly slots = new Map<string, Map<unknown, number>>()
  private sweptAt = 0

  constructor(private readonly clock: () => number) {}

  take(id: string, limit: number, window: number, amount: number): Grant {
    const time = this.clock()
    this.sweep(time)
    let counted = this.rates.get(id)
    if (counted === undefined) {
      counted = { bucket: new Bucket(limit, window, time), askedAt: time }
      this.rates.set(id, counted)
    }
    const { bucket } = counted
    counted.askedAt = time
    bucket.resize(limit, time)
    const granted = Math.min(amount, Math.max(0, bucket.left(time)))
    bucket.take(granted)
    const missing = Math.min(amount - granted, limit)
    return {
      amount: granted,
      left: Math.max(0, bucket.left(time)),
      retry: missing === 0 ? 0 : bucket.wait(missing, time),
      reset: bucket.full(time),
      holds: HOLDS,
      period: 0,
    }
  }

  give(id: string, amount: number): void {
    const counted = this.rates.get(id)
    counted?.bucket.wait(0, this.clock())
    counted?.bucket.take(-amount)
  }

  hold(id: string, limit: number, wanted: number, holder: unknown): HeldSlots {
    let holders = this.slots.get(id)
    if (holders === undefined) {
      holders = new Map()
      this.slots.set(id, holders)
    }
    let others = 0
    for (const [one, count] of holders) if (one !== holder) others += count
    const held = Math.max(0, Math.min(wanted, limit - others))
    if (held > 0) holders.set(holder, held)
    else holders.delete(holder)
    if (holders.size === 0) this.slots.delete(id)
    return { held, left: Math.max(0, limit - others - held) }
  }

  /** Returns what a holder held, when the holder is gone. */
  leave(holder: unknown): void {
    for (const [id, holders] of this.slots) {
      holders.delete(holder)
      if (holders.size === 0) this.slots.delete(id)
    }
  }

  private sweep(time: number): void {
    if (time < this.sweptAt + SOON) return
    this.sweptAt = time
    for (const [id, { bucket, askedAt }] of this.rates) if (time > askedAt + FORGET && bucket.full(time) === 0) this.rates.delete(id)
  }
}
