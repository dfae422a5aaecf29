// What an exchange holds of the budgets that it counts in: reserved of all of them or of none, in steps while a stream goes on,
// and settled once, when it is over.

import { now } from '../core/deadlines.js'
import type { Held, LogEntry } from '../core/exchange.js'
import { hasRare, markRare } from '../core/meters.js'
import type { Usage } from '../plan.js'
import type { Account, Denial } from './account.js'
import type { Budget } from './budgets.js'
import { TokenCounter } from './token-counter.js'

/** What is known of an exchange before it is asked. Tokens; `most` is what an answer may have. */
export interface Terms {
  input: number
  most: number
  /** What is paid for before it begins, whatever is left. */
  first: number
  /** Whether the answer comes bit by bit, so that it can be paid for in steps of so many tokens; absent: it cannot. */
  step?: number | undefined
  /** What an exchange costs of whose usage nobody told. */
  partial: 'seen' | 'reserved' | 'none'
  /** What so many tokens are charged at most, by the targets that may be asked: nano-units. */
  price(input: number, output: number): number
}

/** A budget that an exchange counts in. */
interface Entry {
  budget: Budget
  account: Account
  taken: number
  /** It is spent, and that does not keep the exchange from going on. */
  isForced: boolean
}

/** Why nothing was reserved. */
export interface Shortage {
  budget: Budget
  denial: Denial
}

/** The least that a stream is given at a time, and how many such steps what is left is divided into: tokens. */
const LEAST_STEP = 16
const STEPS_LEFT = 64
/** Milliseconds for which a stream goes on while more is asked for and little is left. */
const PATIENCE = 250
/** How often more is asked for before an exchange is refused: others may be faster each time. */
const MOST_ROUNDS = 8

const purses = new WeakMap<Account, { accounts: readonly Account[]; text: string }>()

export class Hold implements Held {
  readonly entries: Entry[]
  /** Tokens of output that are paid for, and those that were seen. */
  output = 0
  seen = 0
  /** Nano-units that are reserved of each account which is not forced. */
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
    /** When the exchange began: it counts in the windows of that moment. Milliseconds since 1970. */
    private readonly time: number,
    /** Runs when a stream has used up what was reserved, and there is no more. */
    private readonly onSpent: (shortage: Shortage) => void,
  ) {
    this.entries = budgets.map(budget => ({ budget, account: budget.at(time), taken: 0, isForced: false }))
  }

  /** What the ledger is told: the accounts that it counts in, as a list of JSON. */
  get purse(): string {
    const { entries } = this
    const first = entries[0]?.account
    const known = first && purses.get(first)
    // Most exchanges of a key count in the same accounts as its last one.
    if (known?.accounts.length === entries.length && known.accounts.every((account, index) => account === entries[index]?.account))
      return known.text
    const accounts = entries.map(({ account }) => account)
    const text = JSON.stringify(accounts.map(({ id }) => id))
    if (first) purses.set(first, { accounts, text })
    return text
  }

  /** What has been used, also where nobody told. */
  usage({ usage, isPartial, status }: LogEntry): Usage | undefined {
    const { input, partial } = this.terms
    if (usage !== undefined && !isPartial) return usage
    // A failure that the caller was told of before the answer began costs nothing; who went away may have cost something.
    if (partial === 'none' || (usage === undefined && status >= 400 && status !== GONE)) return usage
    // Nothing is seen of an answer that comes as a whole: it may have as much as was paid for.
    const isWhole = this.terms.step === undefined && status >= 200 && status < 400
    const output = partial === 'seen' && !isWhole ? this.seen : this.output
    const seen = { ...usage, input: usage?.input ?? input, output: Math.max(usage?.output ?? 0, output) }
    if (usage !== undefined && hasRare(usage)) markRare(seen)
    return seen
  }

  /** Reserves what the exchange needs to begin; a promise where more has to be asked for. */
  begin(): Shortage | undefined | Promise<Shortage | undefined> {
    const { terms } = this
    const step = terms.step === undefined ? 0 : this.stepOf(terms.step)
    const output = Math.min(terms.most, Math.max(terms.first, step))
    return this.reach(output)
  }

  /** A smaller step where little is left, so that the last of it is shared and not refused. */
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

  /** Reserves what is missing for so many tokens of output. */
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

  /** True where all of it was there, nothing where more has to be asked for. */
  private takeNow(amount: number): true | Shortage | undefined {
    const more = Math.max(0, amount - this.amount)
    let isAsking = false
    for (const { account, budget, isForced } of this.entries) {
      if (isForced || account.free >= more) continue
      const denial = account.denied()
      if (denial !== undefined) return { budget, denial }
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

  /** From now on a budget that is spent does not keep this exchange from going on; it counts there all the same. */
  force(budget: Budget): void {
    for (const entry of this.entries) if (entry.budget === budget) entry.isForced = true
  }

  /** Counts in the budgets of another model in place of those of the first. To be called while nothing is reserved. */
  exchange(before: readonly Budget[], after: readonly Budget[]): void {
    const kept = this.entries.filter(({ budget }) => !before.includes(budget))
    const added = after.map(budget => ({ budget, account: budget.at(this.time), taken: 0, isForced: false }))
    this.entries.splice(0, Number.POSITIVE_INFINITY, ...kept, ...added)
  }

  /** Counts in more budgets from now on: those of the target that is asked. Nothing is taken where they have not enough. */
  async enter(budgets: readonly Budget[]): Promise<Shortage | undefined> {
    const own = new Hold(budgets, this.terms, this.time, this.onSpent)
    for (;;) {
      const shortage = await own.take(this.amount)
      if (shortage === undefined) break
      if (shortage.denial === 'away' || shortage.budget.config.whenSpent === 'refuse') return shortage
      own.force(shortage.budget)
    }
    this.entries.push(...own.entries)
    return undefined
  }

  /** The target has failed: what was reserved of its budgets goes back. */
  leave(budgets: readonly Budget[]): void {
    for (let index = this.entries.length - 1; index >= 0; index--) {
      const entry = this.entries[index] as Entry
      if (!budgets.includes(entry.budget)) continue
      entry.account.settle(entry.taken, 0)
      this.entries.splice(index, 1)
    }
  }

  /** Notes events of a stream as they come, and reserves the next step in time. */
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

  /** All that was reserved has been seen, and whether there is more is not known yet: where little is left, that is not waited for long. */
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
    // What a stream has begun with is its own: there is nothing to wait for.
    this.shortage = shortage?.denial === 'held' ? { ...shortage, denial: 'spent' } : shortage
    if (this.shortage !== undefined && this.seen >= this.output) this.onSpent(this.shortage)
  }

  /** So much has been used so far, by an exchange that is not over: what it goes on with is reserved anew. */
  used(usage: Usage): void {
    const { step } = this.terms
    if (step === undefined || this.isOver) return
    this.terms.input = Math.max(this.terms.input, usage.input ?? 0)
    this.seen = Math.max(this.seen, usage.output ?? 0)
    this.extend(this.seen + this.stepOf(step))
    if (this.shortage !== undefined) this.onSpent(this.shortage)
  }

  /** It is over, and was charged so much. Only the first call does anything. */
  settle(charge: number | undefined): void {
    if (this.isOver) return
    this.isOver = true
    for (const { account, taken } of this.entries) account.settle(taken, charge ?? 0)
  }
}

const GONE = 499
