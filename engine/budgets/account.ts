// What this process has of one budget in one window. Money is handed to it in advance, in slices, and is spent without asking:
// granted = free + reserved + settled, in whole nano-units, at every moment. `free` is below zero where more was spent than
// was reserved: what comes next pays for that first.

import { Asking } from '../limits/shared.js'

/** What is asked of whoever hands money out. */
export interface MoneyAsked {
  account: string
  limit: number
  /** When the window ends: milliseconds since 1970, Infinity for never. */
  until: number
  /** What this process wants to have been granted altogether, and what it needs at least. Less than it has gives the rest back. */
  wanted: number
  least: number
  /** This process has begun to count anew: what it wants is beside what it had spent before. */
  isFresh: boolean
}

export interface MoneyGranted {
  /** What this process has been granted altogether. */
  granted: number
  /** What of it had been spent before, where this process has begun to count anew. */
  before: number
  /** What nobody has been granted; below zero after more was spent than there was. */
  left: number
  /** What others have been granted and have not spent, as far as is known. */
  held: number
}

/** Who hands money out. It rejects when nobody can tell how much there is. */
export interface Treasury {
  grant(asked: MoneyAsked): Promise<MoneyGranted>
}

/** Why there was no more: it is spent, others hold it and may give it back, or nobody can tell. */
export type Denial = 'spent' | 'held' | 'away'

/** Milliseconds of use that a slice is to last. */
const AHEAD = 2_000
/** Milliseconds without use after which what is free goes back. */
const IDLE = 2_000
/** Milliseconds for which nobody asks again after a denial. */
const DENIED = 200

export class Account {
  granted = 0
  reserved = 0
  settled = 0
  /** What nobody had been granted when that was last told. */
  left: number
  denial: Denial | undefined
  /** Whether whoever hands money out knows what this process has. */
  isTold = true
  /** Whether nothing has been heard yet of what this process was granted. */
  isFresh = true
  private deniedUntil = 0
  private used = 0
  private usedAt = 0
  private since: number
  private readonly asking = new Asking((wanted, isTelling) => this.ask(wanted, isTelling))

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

  /** Whether nothing of it has been used for so many milliseconds. */
  isIdle(time: number): boolean {
    return this.isTold && this.reserved === 0 && this.clock() > this.usedAt + time
  }

  /** Takes so much, whether it is there or not. */
  reserve(amount: number): void {
    this.reserved += amount
    this.used += amount
    this.usedAt = this.clock()
  }

  /** What was reserved for an exchange goes back, and what it has cost is spent. */
  settle(reserved: number, spent: number): void {
    this.reserved -= reserved
    this.settled += spent
  }

  /** Why there is no more than what is free; nothing where that may be asked for. */
  denied(): Denial | undefined {
    return this.clock() < this.deniedUntil ? this.denial : undefined
  }

  /** Asks for so much more than is taken now; resolves when there is an answer, whatever it is. */
  more(amount: number): Promise<void> {
    return this.asking.more(amount)
  }

  /** Every so often: gives back what nobody uses, and pays what is owed. */
  tick(): void {
    if ((this.free < 0 || !this.isTold) && this.denied() === undefined) void this.tell()
    else if (this.free > 0 && this.clock() > this.usedAt + IDLE) this.giveBack()
  }

  /** What is free goes back now. It is gone here before that is told, so that nobody takes it meanwhile. */
  giveBack(): void {
    const { free } = this
    if (free <= 0) return
    this.granted -= free
    void this.tell()
  }

  /** Tells whoever hands money out what this process has: after a break, what was told may have been lost. */
  async tell(): Promise<void> {
    await this.asking.more(0, true)
  }

  private async ask(wanted: number, isTelling: boolean): Promise<void> {
    const short = Math.max(0, wanted - this.free)
    if (short === 0 && !isTelling) return
    const time = this.clock()
    const steady = short === 0 ? 0 : Math.ceil((this.used * AHEAD) / Math.max(1, time - this.since))
    const least = this.granted + short
    if (short > 0) {
      this.since = time
      this.used = 0
    }
    try {
      const treasury = this.treasury()
      if (treasury === undefined) throw new Error('nobody hands money out')
      const { id: account, limit, until } = this
      const { isFresh } = this
      const { granted, before, left, held } = await treasury.grant({ account, limit, until, wanted: least + steady, least, isFresh })
      this.isFresh = false
      this.isTold = true
      this.granted = granted
      this.settled += before
      this.left = Math.max(0, left)
      // Others may have taken what was free before: who is short by that asks again, and finds what is left.
      if (granted >= least + before) this.denial = undefined
      else this.deny(left + held + this.reserved + Math.max(0, this.free) >= wanted ? 'held' : 'spent')
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
