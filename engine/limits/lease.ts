// What an exchange takes of its limits: all together or nothing, settled once, at the end.

import type { Usage } from '../plan.js'
import { ASK, IN_FLIGHT, INPUT, type Meter, OUTPUT, REQUESTS, SOON } from './meter.js'

/**
 * The amounts that an exchange takes, by the kind of meter: a request, input tokens, output tokens, both, and a slot among
 * the requests under way.
 */
export type Amounts = readonly [number, number, number, number, number]

/** The amounts of an exchange with so many expected tokens. */
export function amountsOf(input: number, output: number): Amounts {
  return [1, input, output, input + output, 1]
}

/** Why nothing was taken: this meter is the last to have enough, in so many milliseconds. */
export interface Refusal {
  meter: Meter
  wait: number
}

export class Lease {
  private isSettled = false

  constructor(
    readonly meters: readonly Meter[],
    /** The amount taken of each meter, and its period. */
    private readonly taken: number[],
    private readonly periods: readonly number[],
  ) {}

  /** The usage so far, of an exchange that continues: what exceeds the expectation counts from now on. */
  note(usage: Usage): void {
    if (this.isSettled) return
    for (let index = 0; index < this.meters.length; index++) {
      const meter = this.meters[index] as Meter
      const taken = this.taken[index] as number
      const used = usedOf(meter, usage) ?? 0
      if (used <= taken) continue
      meter.give(taken - used, this.periods[index] as number)
      this.taken[index] = used
    }
  }

  /**
   * Settles the lease when the exchange has ended. Unused expected tokens are returned, additional ones become a debt.
   * Without a reported usage the expectation counts. Further calls do nothing.
   */
  settle(usage: Usage | undefined): void {
    if (this.isSettled) return
    this.isSettled = true
    for (let index = 0; index < this.meters.length; index++) {
      const meter = this.meters[index] as Meter
      const taken = this.taken[index] as number
      if (meter.kind === IN_FLIGHT) meter.give(taken, this.periods[index] as number)
      else if (usage !== undefined) {
        const used = usedOf(meter, usage) ?? taken
        if (used !== taken) meter.give(taken - used, this.periods[index] as number)
      }
    }
  }
}

/** The part of a usage that a meter counts; undefined if it does not count tokens. */
function usedOf(meter: Meter, { input = 0, output = 0 }: Usage): number | undefined {
  if (meter.kind === REQUESTS || meter.kind === IN_FLIGHT) return undefined
  return meter.kind === INPUT ? input : meter.kind === OUTPUT ? output : input + output
}

/**
 * Takes from all meters or from none, if that can be decided at once; undefined if one of them has to ask first.
 * @param time on the clock of deadlines
 */
export function takeNow(meters: readonly Meter[], amounts: Amounts, time: number): Lease | Refusal | undefined {
  let refusal: Refusal | undefined
  let isAsking = false
  for (let index = 0; index < meters.length; index++) {
    const meter = meters[index] as Meter
    const wait = meter.wait(amountOf(meter, amounts), time)
    if (wait === 0) continue
    if (wait === ASK) isAsking = true
    else if (refusal === undefined || wait > refusal.wait) refusal = { meter, wait }
  }
  if (refusal) return refusal
  if (isAsking) return undefined
  const taken: number[] = new Array(meters.length)
  const periods: number[] = new Array(meters.length)
  for (let index = 0; index < meters.length; index++) {
    const meter = meters[index] as Meter
    const amount = amountOf(meter, amounts)
    taken[index] = amount
    periods[index] = meter.take(amount, time)
  }
  return new Lease(meters, taken, periods)
}

/** An amount above the whole limit waits for a full bucket, not for ever. */
function amountOf(meter: Meter, amounts: Amounts): number {
  return Math.min(amounts[meter.kind], meter.limit)
}

/** Attempts to get more before an exchange is refused: other exchanges may take it first each time. */
const MOST_ROUNDS = 8

/** Like `takeNow`, but waits for meters that have to ask. */
export async function take(meters: readonly Meter[], amounts: Amounts, clock: () => number): Promise<Lease | Refusal> {
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const result = takeNow(meters, amounts, clock())
    if (result) return result
    const time = clock()
    const asking = meters.filter(meter => meter.wait(amountOf(meter, amounts), time) === ASK)
    await Promise.all(asking.map(meter => meter.more?.(amountOf(meter, amounts))))
  }
  return { meter: meters[0] as Meter, wait: SOON }
}
