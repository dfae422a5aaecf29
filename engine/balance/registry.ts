// The state of targets and upstreams in this process, by name. A reload keeps the state, so an ejected target stays
// ejected, and a slot returns to the counter that it was taken from.

import { Changes } from '../core/changes.js'
import { now } from '../core/deadlines.js'
import { setLatest } from '../core/latest.js'
import { Concurrency, type ConcurrencyConfig } from './concurrency.js'
import { Health, type HealthConfig } from './health.js'
import { Latency } from './latency.js'
import { RetryBudget, type RetryBudgetConfig } from './retry-budget.js'
import { Sticky } from './sticky.js'

/** How many copies of a model's requests are under way to its mirror. */
export interface Copies {
  active: number
}

export class Balance {
  private healths = new Named<Health>()
  private concurrencies = new Named<Concurrency>()
  private retryBudgets = new Named<RetryBudget>()
  private latencies = new Named<Latency>()
  private stickies = new Named<Sticky>()
  private mirrored = new Named<Copies>()
  private readonly changes = new Changes()

  /**
   * Links a configuration. Forgets the state that it does not ask for; if `build` throws, all stays as it was. What a pattern
   * finds later is no part of that: the last of it stays.
   */
  link<Result>(build: () => Result): Result {
    const kinds = [this.healths, this.concurrencies, this.retryBudgets, this.latencies, this.stickies, this.mirrored]
    for (const kind of kinds) kind.begin()
    let isDone = false
    try {
      const result = this.changes.during(build)
      isDone = true
      return result
    } finally {
      for (const kind of kinds) kind.end(isDone)
    }
  }

  health(target: string, config: HealthConfig | undefined): Health {
    const health = this.healths.get(target, () => new Health(config))
    this.changes.make(() => {
      health.config = config
    })
    return health
  }

  /** The targets that are ejected or on trial. */
  aside(): { target: string; isOnTrial: boolean }[] {
    const time = now()
    const found: { target: string; isOnTrial: boolean }[] = []
    for (const [target, { ejectedUntil }] of this.healths.all())
      if (ejectedUntil !== 0) found.push({ target, isOnTrial: ejectedUntil <= time })
    return found
  }

  concurrency(upstream: string, config: ConcurrencyConfig | undefined): Concurrency {
    const concurrency = this.concurrencies.get(upstream, () => new Concurrency(upstream, config))
    this.changes.make(() => concurrency.configure(config))
    return concurrency
  }

  retryBudget(model: string, config: RetryBudgetConfig): RetryBudget {
    const budget = this.retryBudgets.get(model, () => new RetryBudget(config))
    this.changes.make(() => {
      budget.config = config
    })
    return budget
  }

  latency(target: string): Latency {
    return this.latencies.get(target, () => new Latency())
  }

  copies(model: string): Copies {
    return this.mirrored.get(model, () => ({ active: 0 }))
  }

  /** @param lasts milliseconds */
  sticky(model: string, lasts: number): Sticky {
    const sticky = this.stickies.get(model, () => new Sticky(lasts))
    this.changes.make(() => {
      sticky.lasts = lasts
    })
    return sticky
  }
}

/** Remembered states of one kind whose names no configuration has. */
const MOST_FOUND = 1_000

/** State of one kind by name. */
class Named<Thing> {
  private known = new Map<string, Thing>()
  /** What was asked for between configurations; the least recently used goes first. */
  private found = new Map<string, Thing>()
  private linked: Map<string, Thing> | undefined

  begin(): void {
    this.linked = new Map()
  }

  /** Those of the configuration: clients choose the names of others. */
  all(): Iterable<[string, Thing]> {
    return this.known
  }

  end(isDone: boolean): void {
    if (isDone && this.linked) this.known = this.linked
    this.linked = undefined
  }

  get(name: string, make: () => Thing): Thing {
    const known = this.linked?.get(name) ?? this.known.get(name)
    const thing = known ?? this.found.get(name) ?? make()
    if (this.linked) this.linked.set(name, thing)
    else if (known === undefined) setLatest(this.found, name, thing, MOST_FOUND)
    return thing
  }
}
