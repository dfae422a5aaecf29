// The money that an exchange holds of its budgets: reserved of all of them or of none, in steps while a stream runs, and
// settled once, at the end.

import { now } from '../core/deadlines.js'
import type { Held, LogEntry } from '../core/exchange.js'
import type { Usage } from '../plan.js'
import type { Account, Denial } from './account.js'
import type { Budget } from './budgets.js'
import { estimated, isUnreported } from './estimate.js'
import { TokenCounter } from './token-counter.js'

/** What is known of an exchange before it is sent. Tokens; `most` is the longest possible answer. */
export interface Terms {
  input: number
  most: number
  /** Output tokens that are reserved before the answer begins, whatever is left. */
  first: number
  /** Output tokens of each further step of a stream; undefined: the answer does not stream and is reserved as a whole. */
  step?: number | undefined
  /** Whether the answer is text, whose tokens the provider counts. */
  isText: boolean
  /** How to charge an exchange whose usage was not reported. */
  partial: 'seen' | 'reserved' | 'none'
  /** The highest charge of so many tokens among the possible targets: nano-units. */
  price(input: number, output: number): number
}

/** A budget that an exchange is charged to. */
interface Entry {
  budget: Budget
  account: Account
  taken: number
  /** It is spent, but the exchange continues all the same. */
  isForced: boolean
}

/** Why nothing could be reserved. */
export interface Shortage {
  budget: Budget
  denial: Denial
  /** What the exchange needs to begin, and what is left for it, if anything is: nano-units. Not of one that has begun. */
  missing?: { needed: number; left: number }
}

/** The smallest step of a stream, and how many steps the rest of a budget is divided into: tokens. */
const LEAST_STEP = 16
const STEPS_LEFT = 64
/** Milliseconds that a stream may continue without a reservation while it asks for more and little is left. */
const PATIENCE = 250
/** Attempts to get more money before an exchange is refused: other exchanges may take it first each time. */
const MOST_ROUNDS = 8

/** The text of the last accounts that began with an account: most exchanges of a key are charged to the same ones. */
const purses = new WeakMap<Account, { accounts: readonly Account[]; text: string }>()

function isSame(accounts: readonly Account[], entries: readonly Entry[]): boolean {
  if (accounts.length !== entries.length) return false
  for (let index = 0; index < accounts.length; index++) if (accounts[index] !== entries[index]?.account) return false
  return true
}

export class Hold implements Held {
  readonly entries: Entry[]
  /** Output tokens that are reserved, and output tokens that have been seen. */
  output = 0
  seen = 0
  /** Frames of an answer that a socket has seen since the last report. */
  unreported = 0
  /** The reservation in each account that is not forced: nano-units. */
  private amount = 0
  private isOver = false
  private isExtending = false
  private outSince: number | undefined
  private shortage: Shortage | undefined
  /** Only streams are counted as they come. */
  private counter: TokenCounter | undefined

  constructor(
    budgets: readonly Budget[],
    readonly terms: Terms,
    /** When the exchange began, which decides its windows: milliseconds since 1970. */
    private readonly time: number,
    /** Runs when a stream has used up its reservation and there is no more money. */
    private readonly onSpent: (shortage: Shortage) => void,
  ) {
    this.entries = budgets.map(budget => ({ budget, account: budget.at(time), taken: 0, isForced: false }))
  }

  /** The accounts that the exchange is charged to, as a JSON list for the ledger. */
  get purse(): string {
    const { entries } = this
    const first = entries[0]?.account
    const known = first && purses.get(first)
    if (known !== undefined && isSame(known.accounts, entries)) return known.text
    const accounts = entries.map(({ account }) => account)
    const text = JSON.stringify(accounts.map(({ id }) => id))
    if (first) purses.set(first, { accounts, text })
    return text
  }

  /** The usage, reported by the provider or estimated from what was seen. */
  usage(log: LogEntry): Usage | undefined {
    const { input, isText, partial, step } = this.terms
    const { usage, status } = log
    if (partial === 'none' || !isUnreported(log, isText)) return usage
    const seen = Math.max(this.seen, this.counter?.total() ?? 0)
    // A whole answer is not watched: it may have used everything that was reserved.
    const isWhole = step === undefined && status >= 200 && status < 400
    return estimated(log, input, partial === 'seen' && !isWhole ? seen : Math.max(this.output, seen))
  }

  /** Reserves what the exchange needs to begin; a promise if it has to ask for more. */
  begin(): Shortage | undefined | Promise<Shortage | undefined> {
    const { terms } = this
    const step = terms.step === undefined ? 0 : this.stepOf(terms.step)
    const output = Math.min(terms.most, Math.max(terms.first, step))
    return this.reach(output)
  }

  /** A smaller step if little is left, so that exchanges share the rest. */
  private stepOf(step: number): number {
    const { price, input } = this.terms
    const cost = price(input, step) - price(input, 0)
    if (cost <= 0) return step
    let part = 1
    for (const { account, isForced } of this.entries) {
      if (!isForced) part = Math.min(part, (account.free + account.left) / (cost * STEPS_LEFT))
    }
    return part >= 1 ? step : Math.max(Math.min(LEAST_STEP, step), Math.floor(step * part))
  }

  /** Reserves what is missing for `output` tokens. */
  private reach(output: number): Shortage | undefined | Promise<Shortage | undefined> {
    const amount = this.terms.price(this.terms.input, output)
    const result = this.takeNow(amount)
    if (result !== undefined) {
      if (result !== true) return result
      this.output = output
      return undefined
    }
    return this.take(amount).then(shortage => {
      if (shortage === undefined) this.output = output
      return shortage
    })
  }

  /** True if all of it could be reserved, undefined if more has to be asked for. */
  private takeNow(amount: number): true | Shortage | undefined {
    const more = Math.max(0, amount - this.amount)
    let isAsking = false
    for (const { account, budget, isForced } of this.entries) {
      if (isForced || account.free >= more) continue
      const denial = account.denied(more)
      if (denial !== undefined) {
        const left = account.rest
        return { budget, denial, ...(left > 0 && { missing: { needed: more, left } }) }
      }
      isAsking = true
    }
    if (isAsking) return undefined
    for (const entry of this.entries) {
      if (entry.isForced) continue
      entry.account.reserve(more)
      entry.taken += more
    }
    this.amount += more
    return true
  }

  private async take(amount: number): Promise<Shortage | undefined> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const more = Math.max(0, amount - this.amount)
      const short = this.entries.filter(({ account, isForced }) => !isForced && account.free < more)
      await Promise.all(short.map(({ account }) => account.more(more)))
      if (this.isOver) return undefined
      const result = this.takeNow(amount)
      if (result !== undefined) return result === true ? undefined : result
    }
    return { budget: (this.entries[0] as Entry).budget, denial: 'held' }
  }

  /** Lets this exchange continue although a budget is spent; its cost still counts there. */
  force(budget: Budget): void {
    for (const entry of this.entries) if (entry.budget === budget) entry.isForced = true
  }

  /** Replaces the budgets of one model by those of another. Call it while nothing is reserved. */
  exchange(before: readonly Budget[], after: readonly Budget[]): void {
    const kept = this.entries.filter(({ budget }) => !before.includes(budget))
    const added = after.map(budget => ({ budget, account: budget.at(this.time), taken: 0, isForced: false }))
    this.entries.splice(0, Number.POSITIVE_INFINITY, ...kept, ...added)
  }

  /** Adds the budgets of the chosen target. Reserves nothing if one of them has too little. */
  async enter(budgets: readonly Budget[]): Promise<Shortage | undefined> {
    const own = new Hold(budgets, this.terms, this.time, this.onSpent)
    for (;;) {
      const shortage = await own.take(this.amount)
      if (shortage === undefined) break
      if (shortage.denial === 'away' || shortage.budget.config.whenSpent === 'refuse') return shortage
      own.force(shortage.budget)
    }
    // What is entered after the end would never be settled.
    if (this.isOver) for (const { account, taken } of own.entries) account.settle(taken, 0)
    else this.entries.push(...own.entries)
    return undefined
  }

  /** Releases the budgets of a target that has failed: each once, as a hedge may have entered the same ones. */
  leave(budgets: readonly Budget[]): void {
    if (this.isOver) return
    for (const budget of budgets) {
      const index = this.entries.findLastIndex(entry => entry.budget === budget)
      const [entry] = index < 0 ? [] : this.entries.splice(index, 1)
      entry?.account.settle(entry.taken, 0)
    }
  }

  /** Counts the events of a stream as they arrive, and reserves the next step in time. */
  note(block: Buffer): void {
    this.counter ??= new TokenCounter()
    this.seen = Math.max(this.seen, this.counter.count(block))
    const { step, most } = this.terms
    if (step === undefined || this.isOver || this.output >= most) return
    if (this.isExtending) {
      if (this.seen >= this.output) this.outOfMoney(step)
      return
    }
    if (this.seen < this.output - Math.min(step, this.output) / 2) return
    this.extend(Math.min(most, Math.max(this.output, this.seen) + this.stepOf(step)))
  }

  /**
   * The whole reservation has been used, and an answer about more is outstanding. With little left the stream waits only
   * briefly.
   */
  private outOfMoney(step: number): void {
    const time = now()
    this.outSince ??= time
    const [entry] = this.entries
    if (entry !== undefined && time > this.outSince + PATIENCE && this.stepOf(step) < step)
      this.onSpent({ budget: entry.budget, denial: 'away' })
  }

  private extend(output: number): void {
    const result = this.reach(output)
    if (!(result instanceof Promise)) {
      this.extended(result)
      return
    }
    this.isExtending = true
    void result.then(shortage => {
      this.isExtending = false
      this.outSince = undefined
      if (!this.isOver) this.extended(shortage)
    })
  }

  private extended(shortage: Shortage | undefined): void {
    if (shortage !== undefined && shortage.denial !== 'away' && shortage.budget.config.whenSpent !== 'refuse') {
      this.force(shortage.budget)
      this.shortage = undefined
      return
    }
    // The stream itself holds the money, so waiting for it to come back is useless.
    this.shortage = shortage && { budget: shortage.budget, denial: shortage.denial === 'held' ? 'spent' : shortage.denial }
    if (this.shortage !== undefined && this.seen >= this.output) this.onSpent(this.shortage)
  }

  /** A frame of a socket with some of an answer: a token, until a report tells how many there were. */
  noteFrame(): void {
    this.unreported++
    this.seen++
  }

  /** The output of the frames since the last report is in a report now. */
  noteReport(): void {
    this.seen -= this.unreported
    this.unreported = 0
  }

  /** Usage so far, of an exchange that continues: the rest is reserved anew. */
  used(usage: Usage): void {
    const { step } = this.terms
    if (step === undefined || this.isOver) return
    this.terms.input = Math.max(this.terms.input, usage.input ?? 0)
    this.seen = Math.max(this.seen, usage.output ?? 0)
    this.extend(this.seen + this.stepOf(step))
    if (this.shortage !== undefined) this.onSpent(this.shortage)
  }

  /** The exchange has ended and was charged this much. Further calls do nothing. */
  settle(charge: number | undefined): void {
    if (this.isOver) return
    this.isOver = true
    for (const { account, taken } of this.entries) account.settle(taken, charge ?? 0)
  }
}
