// Limits that several processes count together. Each process takes chunks in advance from a shared counter, a few times a
// second at most, and spends them without asking. While the counter is away, each process counts its own part of the limit.

import { ASK, IN_FLIGHT, type Kind, LocalRate, type Meter, SOON } from './meter.js'

/** A chunk of a rate limit. */
export interface Grant {
  amount: number
  /** The amount that nobody has taken, and milliseconds until there is more, and until the full limit is available. */
  left: number
  retry: number
  reset: number
  /** Milliseconds from the request in which it may be spent. */
  holds: number
  /** Chunks of one period add up; a new period makes older chunks void. */
  period: number
}

/** The slots that this process holds. */
export interface HeldSlots {
  held: number
  left: number
}

/** The shared counter. Its promises reject if it is away, or does not answer within a fraction of a second. */
export interface Counter {
  /** The number of processes that share the limits, this one included. */
  processes(): number
  /** Takes up to `amount` of a rate limit. */
  take(id: string, limit: number, window: number, amount: number): Promise<Grant>
  /** Returns a part of what was taken in a period. */
  give(id: string, window: number, amount: number, period: number): Promise<void>
  /** Asks to hold `slots` slots in place of those held now. */
  hold(id: string, limit: number, slots: number): Promise<HeldSlots>
  /** Resolves if the counter answers. */
  probe(): Promise<void>
}

/** Milliseconds of use that a chunk should last, and the smallest chunk that is worth a call. */
const AHEAD = 200
const LEAST_CHUNK = 8
/** A chunk is at most this part of what is left, for each process: so no process takes everything. */
const PART = 4
/** Milliseconds without use after which the rest of a chunk is returned. */
const IDLE = 5_000
const IDLE_PLACES = 1_000
/** Milliseconds between checks of idle chunks, and between renewals of slots. */
const TICK = 250
const RENEW = 3_000

/** The period of an amount that was taken while the counter was away: the counter does not know of it. */
const NO_PERIOD = -1

/** Callbacks when the counter is away, and when it is back. */
export interface Told {
  away(error: unknown): void
  back(): void
}

/** The meters of a process that a shared counter counts. */
export class Sharing {
  isAway = false
  private readonly meters = new Set<SharedRate | SharedSlots>()
  private timer: NodeJS.Timeout | undefined
  private isProbing = false

  constructor(
    readonly counter: Counter,
    private readonly told: Told,
    readonly clock: () => number,
  ) {}

  /** Starts the periodic checks. */
  start(): void {
    this.timer ??= setInterval(() => this.tick(), TICK)
    this.timer.unref()
  }

  rate(id: string, kind: Kind, owner: string, limit: number, window: number): Meter {
    return this.with(new SharedRate(this, id, kind, owner, limit, window))
  }

  slots(id: string, owner: string, limit: number): Meter {
    return this.with(new SharedSlots(this, id, owner, limit))
  }

  private with<One extends SharedRate | SharedSlots>(meter: One): One {
    this.meters.add(meter)
    return meter
  }

  /** Removes a meter: no new exchange uses it. */
  drop(meter: Meter): void {
    this.meters.delete(meter as SharedRate)
    ;(meter as SharedRate).back()
  }

  /** Returns what it can, and stops the checks. */
  close(): void {
    clearInterval(this.timer)
    for (const meter of this.meters) meter.back()
  }

  failed(error: unknown): void {
    if (this.isAway) return
    this.isAway = true
    this.told.away(error)
  }

  /** This process's part of a limit. */
  part(limit: number): number {
    return Math.max(1, Math.floor(limit / Math.max(1, this.counter.processes())))
  }

  /** Call it periodically. */
  tick(): void {
    if (this.isAway) void this.probe()
    else for (const meter of this.meters) meter.tick(this.clock())
  }

  private async probe(): Promise<void> {
    if (this.isProbing) return
    this.isProbing = true
    try {
      await this.counter.probe()
      this.isAway = false
      for (const meter of this.meters) meter.begin()
      this.told.back()
    } catch {
      // Still away.
    } finally {
      this.isProbing = false
    }
  }
}

/** Sends one request at a time: what is wanted meanwhile goes into the next request. */
export class Asking {
  private wanted = 0
  private smallest = Number.POSITIVE_INFINITY
  private isTelling = false
  private waiting: Promise<void> | undefined
  private current: Promise<void> = Promise.resolve()

  /** @param ask asks for what all who wait want together; `smallest` is the least that one of them wants, Infinity if nobody wants anything */
  constructor(private readonly ask: (wanted: number, smallest: number, isTelling: boolean) => Promise<void>) {}

  /** `isTelling`: asks even if nothing is wanted. */
  more(amount: number, isTelling = false): Promise<void> {
    this.wanted += amount
    if (amount > 0) this.smallest = Math.min(this.smallest, amount)
    this.isTelling ||= isTelling
    this.waiting ??= this.current.then(() => {
      const { wanted, smallest, isTelling: tells } = this
      this.wanted = 0
      this.smallest = Number.POSITIVE_INFINITY
      this.isTelling = false
      this.waiting = undefined
      this.current = this.ask(wanted, smallest, tells)
      return this.current
    })
    return this.waiting
  }
}

export class SharedRate implements Meter {
  /** What is left of the chunks of this period; below zero: the debt. */
  private level = 0
  private until = 0
  private period = NO_PERIOD
  private deniedUntil = 0
  private retryAt = 0
  /** The counter's last report of what is left. */
  private rest: number
  private resetAt = 0
  /** When `used` was last reset to 0. */
  private since = 0
  private used = 0
  private usedAt = 0
  /** The level below which the next chunk is requested in advance. */
  private low = 0
  /** Counts while the counter is away; it always knows the use of this process. */
  private readonly own: LocalRate
  private readonly asking = new Asking(wanted => this.ask(wanted))

  constructor(
    private readonly sharing: Sharing,
    readonly id: string,
    readonly kind: Kind,
    readonly owner: string,
    public limit: number,
    readonly window: number,
  ) {
    this.rest = limit
    this.own = new LocalRate(id, kind, owner, limit, window, sharing.clock())
  }

  wait(amount: number, time: number): number {
    if (this.sharing.isAway) {
      this.own.resize(this.sharing.part(this.limit), time)
      return this.own.wait(Math.min(amount, this.own.limit), time)
    }
    if (time >= this.until) this.back()
    if (this.level >= amount) return 0
    return time < this.deniedUntil ? Math.max(1, this.retryAt - time) : ASK
  }

  take(amount: number, time: number): number {
    this.own.take(amount)
    this.usedAt = time
    if (this.sharing.isAway) return NO_PERIOD
    this.level -= amount
    this.used += amount
    if (this.level < this.low && time >= this.deniedUntil) {
      this.low = 0
      void this.asking.more(0)
    }
    return this.period
  }

  give(amount: number, period: number): void {
    this.own.give(amount)
    // Unused amounts of an earlier period are void; additional use is owed now.
    if (!this.sharing.isAway && (amount < 0 || period === this.period)) this.level += amount
  }

  left(time: number): number {
    if (this.sharing.isAway) return this.own.left(time)
    return Math.max(0, Math.min(this.limit, this.rest + this.level))
  }

  reset(time: number): number {
    return this.sharing.isAway ? this.own.reset(time) : Math.max(0, this.resetAt - time)
  }

  resize(limit: number, time: number): void {
    this.limit = limit
    this.rest = Math.min(this.rest, limit)
    this.deniedUntil = 0
    this.own.resize(this.sharing.part(limit), time)
  }

  more(amount: number): Promise<void> {
    return this.asking.more(amount)
  }

  /** Runs periodically: settles a debt, and returns unused chunks. */
  tick(time: number): void {
    if (time >= this.until) this.back()
    if (this.level < 0) void this.asking.more(0)
    else if (this.level > 0 && time > this.usedAt + IDLE) this.back()
  }

  /** The counter is back, and may have lost everything. */
  begin(): void {
    this.level = Math.min(0, this.level)
    this.until = 0
    this.deniedUntil = 0
  }

  /** Returns the rest of a chunk; a debt stays. */
  back(): void {
    if (this.level <= 0) return
    const amount = this.level
    this.level = 0
    if (!this.sharing.isAway)
      this.sharing.counter.give(this.id, this.window, amount, this.period).catch(error => this.sharing.failed(error))
  }

  private async ask(wanted: number): Promise<void> {
    const { sharing, limit } = this
    if (sharing.isAway) return
    const asked = sharing.clock()
    const steady = Math.ceil((this.used * AHEAD) / Math.max(1, asked - this.since))
    const part = Math.floor(this.rest / (PART * Math.max(1, sharing.counter.processes())))
    const chunk = Math.min(Math.max(steady, LEAST_CHUNK), part)
    const least = wanted - Math.min(0, this.level)
    this.since = asked
    this.used = 0
    try {
      const grant = await sharing.counter.take(this.id, limit, this.window, Math.max(1, least, chunk))
      if (grant.period !== this.period) this.back()
      this.period = grant.period
      this.level += grant.amount
      this.until = asked + grant.holds
      this.rest = grant.left
      this.resetAt = asked + grant.reset
      if (grant.amount < Math.max(1, least)) {
        this.retryAt = asked + grant.retry
        this.deniedUntil = Math.min(this.retryAt, asked + SOON)
      }
      // A light user asks when the chunk is empty; a heavy user must not wait for it.
      this.low = steady >= LEAST_CHUNK ? Math.ceil(grant.amount / 2) : 0
    } catch (error) {
      sharing.failed(error)
    }
  }
}

export class SharedSlots implements Meter {
  readonly kind = IN_FLIGHT
  readonly window = 0
  private used = 0
  /** The slots that this process holds, and the free ones. */
  private held = 0
  private rest: number
  private deniedUntil = 0
  private peak = 0
  private peakAt = 0
  private renewedAt = 0
  private readonly asking = new Asking(wanted => this.ask(this.used + wanted))

  constructor(
    private readonly sharing: Sharing,
    readonly id: string,
    readonly owner: string,
    public limit: number,
  ) {
    this.rest = limit
  }

  wait(amount: number, time: number): number {
    if (this.sharing.isAway) return this.used + amount <= this.sharing.part(this.limit) ? 0 : SOON
    if (this.used + amount <= this.held) return 0
    return time < this.deniedUntil ? SOON : ASK
  }

  take(amount: number, time: number): number {
    this.used += amount
    if (this.used >= this.peak) {
      this.peak = this.used
      this.peakAt = time
    }
    return 0
  }

  give(amount: number): void {
    this.used -= amount
  }

  left(): number {
    return Math.max(0, this.rest + this.held - this.used)
  }

  reset(): number {
    return 0
  }

  resize(limit: number): void {
    this.limit = limit
    this.deniedUntil = 0
  }

  more(amount: number): Promise<void> {
    return this.asking.more(amount)
  }

  /** Runs periodically: returns slots that were not needed lately, and renews the others. */
  tick(time: number): void {
    if (time > this.peakAt + IDLE_PLACES) {
      this.peak = this.used
      this.peakAt = time
      if (this.held > this.used) {
        // Removes the slots here before it sends, so that no exchange takes them meanwhile.
        this.held = this.used
        void this.asking.more(0)
        return
      }
    }
    if (this.held > 0 && time > this.renewedAt + RENEW) void this.asking.more(0)
  }

  begin(): void {
    this.held = 0
    this.deniedUntil = 0
  }

  back(): void {
    this.held = Math.min(this.held, this.used)
    if (!this.sharing.isAway) void this.asking.more(0)
  }

  private async ask(wanted: number): Promise<void> {
    const { sharing } = this
    if (sharing.isAway) return
    const time = sharing.clock()
    this.renewedAt = time
    const want = Math.max(wanted, this.held)
    try {
      const { held, left } = await sharing.counter.hold(this.id, this.limit, want)
      this.held = held
      this.rest = left
      if (held < want) this.deniedUntil = time + TICK
    } catch (error) {
      sharing.failed(error)
    }
  }
}
