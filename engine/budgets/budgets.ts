// The budgets of a process by owner. A reload keeps them, so no spending is forgotten.

import { Changes } from '../core/changes.js'
import { Account, type Treasury } from './account.js'
import { type BudgetConfig, moneyOf, wordsOf } from './definition.js'
import { type Window, windowAt } from './window.js'

/** The owner of a budget: `key:demo`, its name in messages, and whether callers may see the figures. */
export interface Owner {
  scope: string
  words: string
  isTold: boolean
}

/** The state of a budget in this process, for metrics: nano-units. */
export interface BudgetGauge {
  budget: string
  account: string
  limit: number
  reserved: number
}

/** Budgets remembered: each end user may have one. */
const MOST = 100_000
/** Budgets that metrics report. */
const MOST_METERED = 1_000
/** Milliseconds. */
const TICK = 500
/** Milliseconds after which all spending has certainly reached the ledger. */
const UNUSED = 60_000

export class Budget {
  private window: Window = { start: 0, end: 0 }
  private account: Account | undefined

  constructor(
    readonly id: string,
    readonly owner: Owner,
    public config: BudgetConfig,
    /** For messages. */
    public currency: string,
    private readonly open: (id: string, limit: number, until: number) => Account,
  ) {}

  /** The account of the window that contains a moment: milliseconds since 1970. */
  at(time: number): Account {
    if (this.account !== undefined && time < this.window.end && time >= this.window.start) return this.account
    this.account?.giveBack()
    this.window = windowAt(this.config.every, this.config.zone, time)
    const { start, end } = this.window
    const name = start === 0 ? 'ever' : `${new Date(start).toISOString().slice(0, 16)}Z`
    this.account = this.open(`${this.id}@${name}`, this.config.limit, end)
    return this.account
  }

  /** When the current window ends: milliseconds since 1970. */
  get until(): number {
    return this.window.end
  }

  /** Limit and window, for messages. */
  get words(): string {
    return wordsOf(this.config, this.currency)
  }

  /** An amount of nano-units, for messages. */
  money(nano: number): string {
    return moneyOf(nano, this.currency)
  }

  change(config: BudgetConfig, currency: string): void {
    this.currency = currency
    const isOther = config.limit !== this.config.limit
    this.config = config
    if (!isOther || this.account === undefined) return
    this.account.change(config.limit)
    // Returns free money in case the new limit is below the grants.
    this.account.giveBack()
  }

  /** Closes the account and returns its id; undefined while exchanges use it. Who still has this budget opens it again. */
  close(): string | undefined {
    const { account } = this
    if (account === undefined) return ''
    if (!account.isIdle(UNUSED)) return undefined
    account.giveBack()
    this.account = undefined
    return account.id
  }
}

export class Budgets {
  /** Grants money; undefined: every budget is refused. */
  treasury: Treasury | undefined
  private readonly all = new Map<string, Budget>()
  /** The budgets that metrics report, and those of the configuration that is being linked. */
  private metered = new Set<Budget>()
  private readonly changes = new Changes()
  /** Accounts in use. An account whose window is over is removed when nothing of it is reserved. */
  private readonly accounts = new Map<string, Account>()
  private timer: NodeJS.Timeout | undefined

  constructor(private readonly clock: () => number) {}

  /** Whether anybody has a budget. */
  get hasAny(): boolean {
    return this.all.size > 0
  }

  /** Links a configuration. Metrics report the budgets that it asks for, and later ones; if `build` throws, all stay as they were. */
  link<Result>(build: () => Result): Result {
    const before = this.metered
    this.metered = new Set()
    try {
      return this.changes.during(build)
    } catch (error) {
      this.metered = before
      throw error
    }
  }

  /** The state of the reported budgets in the windows that contain a moment: milliseconds since 1970. */
  gauges(time: number): BudgetGauge[] {
    return [...this.metered].map(budget => {
      const { id: account, limit, reserved } = budget.at(time)
      return { budget: budget.id, account, limit, reserved }
    })
  }

  /** The budgets of an owner. `currency` is for messages. */
  of(owner: Owner, configs: readonly BudgetConfig[] | undefined, currency: string): readonly Budget[] {
    return (configs ?? []).map(config => {
      const id = `${owner.scope}/${config.every}${config.zone === 'UTC' ? '' : `/${config.zone}`}`
      const known = this.all.get(id)
      if (known) {
        this.changes.make(() => known.change(config, currency))
        return this.meter(known, config)
      }
      const budget = new Budget(id, owner, config, currency, (name, limit, until) => this.open(name, limit, until))
      this.all.set(id, budget)
      if (this.all.size > MOST) this.forgetOne()
      return this.meter(budget, config)
    })
  }

  private meter(budget: Budget, { isMetered }: BudgetConfig): Budget {
    if (isMetered && this.metered.size < MOST_METERED) this.metered.add(budget)
    return budget
  }

  private forgetOne(): void {
    const [id, budget] = this.all.entries().next().value as [string, Budget]
    this.all.delete(id)
    const account = this.metered.has(budget) ? undefined : budget.close()
    // A budget in use moves to the end of the order, so that removal tries all others first.
    if (account === undefined) this.all.set(id, budget)
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
    account.change(limit)
    return account
  }

  private tick(): void {
    const time = Date.now()
    for (const [id, account] of this.accounts) {
      account.tick()
      if (account.until <= time && account.isTold && account.reserved === 0 && account.free <= 0) this.accounts.delete(id)
    }
  }

  /** Returns what this process has free of an account, because another process wants it. */
  recall(account: string): void {
    this.accounts.get(account)?.giveBack()
  }

  /** The connection broke and is back: the last reports may be lost. */
  resume(): void {
    for (const account of this.accounts.values()) if (!account.isTold || account.granted > account.settled) void account.tell()
  }

  close(): void {
    clearInterval(this.timer)
    for (const account of this.accounts.values()) account.giveBack()
  }
}
