// The budgets of a process by whose they are. A reload finds those that are there already, so nothing that was spent is forgotten.

import { Account, type Treasury } from './account.js'
import { type BudgetConfig, wordsOf } from './definition.js'
import { type Window, windowAt } from './window.js'

/** Whose a budget is: `key:demo`, the same in words for callers, and whether they may be told its figures. */
export interface Owner {
  scope: string
  words: string
  isTold: boolean
}

/** How a budget fares in this process, which metrics tell of: nano-units. */
export interface BudgetGauge {
  budget: string
  account: string
  limit: number
  reserved: number
}

/** How many are remembered: one for each end user may be. */
const MOST = 100_000
/** How many metrics tell of. */
const MOST_METERED = 1_000
/** Milliseconds. */
const TICK = 500
/** Milliseconds after which everything that was spent has long been written down. */
const UNUSED = 60_000

export class Budget {
  private window: Window = { start: 0, end: 0 }
  private account: Account | undefined

  constructor(
    readonly id: string,
    readonly owner: Owner,
    public config: BudgetConfig,
    /** Limit and window for people. */
    public words: string,
    private readonly open: (id: string, limit: number, until: number) => Account,
  ) {}

  /** The account of the window that a moment is in: milliseconds since 1970. */
  at(time: number): Account {
    if (this.account !== undefined && time < this.window.end && time >= this.window.start) return this.account
    this.account?.giveBack()
    this.window = windowAt(this.config.every, this.config.zone, time)
    const { start, end } = this.window
    const name = start === 0 ? 'ever' : `${new Date(start).toISOString().slice(0, 16)}Z`
    this.account = this.open(`${this.id}@${name}`, this.config.limit, end)
    return this.account
  }

  /** When the present window ends: milliseconds since 1970. */
  get until(): number {
    return this.window.end
  }

  change(config: BudgetConfig, words: string): void {
    this.words = words
    const isOther = config.limit !== this.config.limit
    this.config = config
    if (!isOther || this.account === undefined) return
    this.account.limit = config.limit
    this.account.left = config.limit
    // More may be out than there is now.
    this.account.giveBack()
  }

  /** Lets go of it, and gives the account that is let go of; nothing while it is in use. */
  close(): string | undefined {
    if (this.account === undefined) return ''
    if (!this.account.isIdle(UNUSED)) return undefined
    this.account.giveBack()
    return this.account.id
  }
}

export class Budgets {
  /** Who hands money out; absent: nobody, and every budget is refused. */
  treasury: Treasury | undefined
  private readonly all = new Map<string, Budget>()
  /** Those that metrics tell of, and those that are being linked. */
  private metered = new Set<Budget>()
  /** Accounts that are in use; those of windows that are over go when nothing of them is left. */
  private readonly accounts = new Map<string, Account>()
  private timer: NodeJS.Timeout | undefined

  constructor(private readonly clock: () => number) {}

  /** Links a configuration: metrics tell of the budgets that it asks for, unless it throws, and of those that are asked for later. */
  link<Result>(build: () => Result): Result {
    const before = this.metered
    this.metered = new Set()
    try {
      return build()
    } catch (error) {
      this.metered = before
      throw error
    }
  }

  /** How those fare that metrics tell of, in the windows that a moment is in: milliseconds since 1970. */
  gauges(time: number): BudgetGauge[] {
    return [...this.metered].map(budget => {
      const { id: account, limit, reserved } = budget.at(time)
      return { budget: budget.id, account, limit, reserved }
    })
  }

  /** The budgets of somebody. `currency` is for what people are told. */
  of(owner: Owner, configs: readonly BudgetConfig[] | undefined, currency: string): readonly Budget[] {
    return (configs ?? []).map(config => {
      const id = `${owner.scope}/${config.every}${config.zone === 'UTC' ? '' : `/${config.zone}`}`
      const words = wordsOf(config, currency)
      const known = this.all.get(id)
      if (known) {
        known.change(config, words)
        return this.meter(known)
      }
      const budget = new Budget(id, owner, config, words, (name, limit, until) => this.open(name, limit, until))
      this.all.set(id, budget)
      if (this.all.size > MOST) this.forgetOne()
      return this.meter(budget)
    })
  }

  private meter(budget: Budget): Budget {
    if (budget.config.isMetered && this.metered.size < MOST_METERED) this.metered.add(budget)
    return budget
  }

  private forgetOne(): void {
    const [id, budget] = this.all.entries().next().value as [string, Budget]
    this.all.delete(id)
    this.metered.delete(budget)
    const account = budget.close()
    // One that is in use is as new: it is looked at again when all others have been.
    if (account === undefined) this.all.set(id, this.meter(budget))
    else this.accounts.delete(account)
  }

  private open(id: string, limit: number, until: number): Account {
    let account = this.accounts.get(id)
    if (account === undefined) {
      account = new Account(id, limit, until, () => this.treasury, this.clock)
      this.accounts.set(id, account)
      if (this.timer === undefined) {
        this.timer = setInterval(() => this.tick(), TICK)
        this.timer.unref()
      }
    }
    account.limit = limit
    return account
  }

  private tick(): void {
    const time = Date.now()
    for (const [id, account] of this.accounts) {
      account.tick()
      if (account.until <= time && account.isTold && account.reserved === 0 && account.free <= 0) this.accounts.delete(id)
    }
  }

  /** Others want what this process has free of an account. */
  recall(account: string): void {
    this.accounts.get(account)?.giveBack()
  }

  /** There was a break: what was told last may have been lost. */
  resume(): void {
    for (const account of this.accounts.values()) if (!account.isTold || account.granted > account.settled) void account.tell()
  }

  close(): void {
    clearInterval(this.timer)
    for (const account of this.accounts.values()) account.giveBack()
  }
}
