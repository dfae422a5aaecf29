// What an exchange holds of the limits that it counts in: taken all together or not at all, settled once, when it is over.

import type { Usage } from '../plan.js'
import { ASK, IN_FLIGHT, INPUT, type Meter, OUTPUT, REQUESTS, SOON } from './meter.js'

/** How much an exchange takes, by the kind of a meter: a request, tokens of input, of output and of both, a place among those under way. */
export type Amounts = readonly [number, number, number, number, number]

/** What an exchange takes of which so many tokens are expected. */
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
    /** What was taken of each, and of which period of it. */
    private readonly taken: number[],
    private readonly periods: readonly number[],
  ) {}

  /** So much has been used so far, and it is not over yet: what is more than was expected counts from now on. */
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
   * It is over, however it ended. Tokens that were expected and not used go back, those that were used on top are owed. Where
   * nobody said what was used, what was expected counts. Only the first call does anything.
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

/** What a usage is to a meter; nothing to one that does not count tokens. */
function usedOf(meter: Meter, { input = 0, output = 0 }: Usage): number | undefined {
  if (meter.kind === REQUESTS || meter.kind === IN_FLIGHT) return undefined
  return meter.kind === INPUT ? input : meter.kind === OUTPUT ? output : input + output
}

/** Takes of all meters or of none, where that can be said at once; nothing where one of them has to ask first. */
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

/** One that is larger than a whole limit waits for all of it, not for ever. */
function amountOf(meter: Meter, amounts: Amounts): number {
  return Math.min(amounts[meter.kind], meter.limit)
}

/** How often more is asked for before an exchange is refused: others may be faster each time. */
const MOST_ROUNDS = 8

/** The same where some of them may have to ask. */
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
