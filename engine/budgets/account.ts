// The part of a budget's window that this process holds. The treasury grants money in advance, in slices, which the process
// spends without asking. In whole nano-units, at every moment: granted = free + reserved + settled. `free` is below zero if
// more was spent than reserved: the next grant pays the difference first.

import { Asking } from '../limits/shared.js'

/** A request to the treasury. */
export interface MoneyAsked {
  account: string
  limit: number
  /** When the window ends: milliseconds since 1970, Infinity for never. */
  until: number
  /** The total grant that this process wants, and the least that it needs. Less than it has returns the rest. */
  wanted: number
  least: number
  /** The total grant that lets the first of several exchanges begin: less is of no use to anybody. */
  useful: number
  /** This process has begun to count at 0: `wanted` does not include what it had spent before. */
  isFresh: boolean
}

export interface MoneyGranted {
  /** The total grant of this process. */
  granted: number
  /** The part of the grant that had been spent before, if this process has begun to count at 0. */
  before: number
  /** The part of the budget that is granted to nobody; below zero after an overdraft. */
  left: number
  /** What other processes were granted and have not spent, as far as the treasury knows. */
  held: number
}

/** Grants money. Rejects if the balance is unknown. */
export interface Treasury {
  grant(asked: MoneyAsked): Promise<MoneyGranted>
}

/**
 * Why there is no more money: the budget is spent, other processes hold the rest and may return it, or the treasury does
 * not answer.
 */
export type Denial = 'spent' | 'held' | 'away'

/** Milliseconds of spending that a slice should last. */
const AHEAD = 2_000
/** Milliseconds without spending after which free money is returned. */
const IDLE = 2_000
/** Milliseconds after a denial in which the process does not ask again. */
const DENIED = 200

export class Account {
  granted = 0
  reserved = 0
  settled = 0
  /** The ungranted part of the budget, as last reported. */
  left: number
  /** What other processes were granted and have not spent, as last reported. */
  held = 0
  denial: Denial | undefined
  /** Whether the treasury knows what this process holds. */
  isTold = true
  /** Whether the treasury has not answered yet. */
  isFresh = true
  private deniedUntil = 0
  private used = 0
  private usedAt = 0
  private since: number
  private readonly asking = new Asking((wanted, smallest, isTelling) => this.ask(wanted, smallest, isTelling))

  constructor(
    readonly id: string,
    public limit: number,
    readonly until: number,
    private readonly treasury: () => Treasury | undefined,
    private readonly clock: () => number,
  ) {
    this.left = limit
    this.since = clock()
  }

  get free(): number {
    return this.granted - this.reserved - this.settled
  }

  /** Whether nothing has been spent for `time` milliseconds. */
  isIdle(time: number): boolean {
    return this.isTold && this.reserved === 0 && this.clock() > this.usedAt + time
  }

  /** Reserves an amount, even if `free` falls below zero. */
  reserve(amount: number): void {
    this.reserved += amount
    this.used += amount
    this.usedAt = this.clock()
  }

  /** Releases the reservation of an exchange and spends its cost. */
  settle(reserved: number, spent: number): void {
    this.reserved -= reserved
    this.settled += spent
  }

  /** Takes another limit: what was denied under the one before may be granted. */
  change(limit: number): void {
    if (limit === this.limit) return
    this.limit = limit
    this.left = limit
    this.deniedUntil = 0
  }

  /** The part of the budget that nobody has spent or reserved, as far as this process knows. */
  get rest(): number {
    return Math.max(0, this.free) + this.left + Math.max(0, this.held)
  }

  /** Why an exchange that needs an amount gets no more than `free`; undefined if the process may ask for more. */
  denied(amount = 0): Denial | undefined {
    if (this.clock() >= this.deniedUntil) return undefined
    // It was denied to what needed more.
    return this.denial === 'spent' && amount > 0 && amount <= this.rest ? undefined : this.denial
  }

  /** Asks for `amount` more than is taken now; resolves with any answer, also a denial. */
  more(amount: number): Promise<void> {
    return this.asking.more(amount)
  }

  /** Runs periodically: returns unused money, and asks for what is overdrawn. */
  tick(): void {
    if ((this.free < 0 || !this.isTold) && this.denied() === undefined) void this.tell()
    else if (this.free > 0 && this.clock() > this.usedAt + IDLE) this.giveBack()
  }

  /** Returns the free money. Subtracts it before it sends, so that no exchange takes it meanwhile. */
  giveBack(): void {
    const { free } = this
    if (free <= 0) return
    this.granted -= free
    this.left += free
    void this.tell()
  }

  /** Reports to the treasury what this process holds: after a broken connection the last report may be lost. */
  async tell(): Promise<void> {
    await this.asking.more(0, true)
  }

  private async ask(wanted: number, smallest: number, isTelling: boolean): Promise<void> {
    const short = Math.max(0, wanted - this.free)
    if (short === 0 && !isTelling) return
    const time = this.clock()
    const steady = short === 0 ? 0 : Math.ceil((this.used * AHEAD) / Math.max(1, time - this.since))
    const least = this.granted + short
    const useful = short === 0 ? least : this.granted + Math.max(0, Math.min(smallest, wanted) - this.free)
    if (short > 0) {
      this.since = time
      this.used = 0
    }
    try {
      const treasury = this.treasury()
      if (treasury === undefined) throw new Error('no control process grants money')
      const { id: account, limit, until } = this
      const { isFresh } = this
      const asked: MoneyAsked = { account, limit, until, wanted: least + steady, least, useful, isFresh }
      const { granted, before, left, held } = await treasury.grant(asked)
      this.isFresh = false
      this.isTold = true
      this.granted = granted
      this.settled += before
      this.left = Math.max(0, left)
      this.held = held
      // Others may have taken what was free before: who is short by that asks again, and finds what is left.
      if (granted >= least + before) this.denial = undefined
      // An answer about a limit that has changed meanwhile denies nothing: who is short asks again.
      else if (limit === this.limit) this.deny(left + held + this.reserved + Math.max(0, this.free) >= wanted ? 'held' : 'spent')
    } catch {
      this.isTold = false
      this.deny('away')
    }
  }

  private deny(why: Denial): void {
    this.denial = why
    this.deniedUntil = this.clock() + DENIED
  }
}
