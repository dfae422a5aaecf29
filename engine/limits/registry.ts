// The meters of a process by owner. A reload keeps them, so that no use is forgotten, and an exchange under way settles
// with the meter that it took from.

import { Changes } from '../core/changes.js'
import { INPUT, type Kind, LocalRate, LocalSlots, type Meter, OUTPUT, REQUESTS, TOKENS } from './meter.js'
import type { Sharing } from './shared.js'

/** An amount in a window of so many milliseconds. */
export interface Rate {
  amount: number
  window: number
}

/**
 * The limits of an owner in the configuration: several windows of one kind hold side by side; null lifts the limit of a
 * kind that a wider scope sets.
 */
export interface RateLimits {
  requests?: readonly Rate[] | null
  inputTokens?: readonly Rate[] | null
  outputTokens?: readonly Rate[] | null
  tokens?: readonly Rate[] | null
  inFlight?: number | null
}

const KINDS: readonly [Exclude<keyof RateLimits, 'inFlight'>, Kind][] = [
  ['requests', REQUESTS],
  ['inputTokens', INPUT],
  ['outputTokens', OUTPUT],
  ['tokens', TOKENS],
]

/** Merges limits: for each kind the first entry that has one counts. Undefined if no entry limits anything. */
export function mergeRateLimits(written: readonly (RateLimits | undefined)[]): RateLimits | undefined {
  const limits: Record<string, RateLimits[keyof RateLimits]> = {}
  for (const name of ['requests', 'inputTokens', 'outputTokens', 'tokens', 'inFlight'] as const) {
    const said = written.find(one => one?.[name] !== undefined)?.[name]
    if (said !== undefined && said !== null) limits[name] = said
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** Meters kept for keys that are in no file. */
const MOST_KEPT = 200_000

export class Meters {
  private known = new Map<string, Meter>()
  private linked: Map<string, Meter> | undefined
  /** The meters of keys that come and go under one configuration, oldest first. */
  private readonly kept = new Map<string, Meter>()
  private readonly changes = new Changes()

  /** @param sharing undefined: this process counts alone */
  constructor(
    private readonly clock: () => number,
    readonly sharing?: Sharing,
  ) {}

  /** Whether anybody has a limit. */
  get hasAny(): boolean {
    return this.known.size > 0 || this.kept.size > 0
  }

  /** Links a configuration. Drops the meters that it does not ask for with `of`; if `build` throws, all stay as they were. */
  link<Result>(build: () => Result): Result {
    const linked = new Map<string, Meter>()
    this.linked = linked
    try {
      const result = this.changes.during(build)
      for (const [id, meter] of this.known) if (!linked.has(id)) this.sharing?.drop(meter)
      // A meter is in one place only: what is dropped from there is found nowhere.
      for (const id of linked.keys()) this.kept.delete(id)
      this.known = linked
      return result
    } catch (error) {
      for (const [id, meter] of linked) if (!this.known.has(id) && !this.kept.has(id)) this.sharing?.drop(meter)
      throw error
    } finally {
      this.linked = undefined
    }
  }

  /**
   * The meters of an owner. Outside of `link` the owner is one that no configuration names.
   * @param scope the owner's unique id, such as `key:ci`
   * @param owner the owner in messages, such as `this API key`
   */
  of(scope: string, owner: string, limits: RateLimits | undefined): readonly Meter[] {
    if (limits === undefined) return []
    const meters: Meter[] = []
    for (const [name, kind] of KINDS)
      for (const { amount, window } of limits[name] ?? [])
        meters.push(this.meter(`${scope}:${name}:${window}`, amount, id => this.rate(id, kind, owner, amount, window)))
    const { inFlight } = limits
    if (inFlight !== undefined && inFlight !== null)
      meters.push(this.meter(`${scope}:inFlight`, inFlight, id => this.slots(id, owner, inFlight)))
    return meters
  }

  private meter(id: string, limit: number, make: (id: string) => Meter): Meter {
    const meter = this.linked?.get(id) ?? this.known.get(id) ?? this.kept.get(id) ?? make(id)
    this.changes.make(() => meter.resize(limit, this.clock()))
    if (this.linked) this.linked.set(id, meter)
    else if (!this.known.has(id)) this.keep(id, meter)
    return meter
  }

  private keep(id: string, meter: Meter): void {
    this.kept.delete(id)
    this.kept.set(id, meter)
    if (this.kept.size <= MOST_KEPT) return
    const [oldest, other] = this.kept.entries().next().value as [string, Meter]
    this.kept.delete(oldest)
    this.sharing?.drop(other)
  }

  private rate(id: string, kind: Kind, owner: string, limit: number, window: number): Meter {
    return this.sharing?.rate(id, kind, owner, limit, window) ?? new LocalRate(id, kind, owner, limit, window, this.clock())
  }

  private slots(id: string, owner: string, limit: number): Meter {
    return this.sharing?.slots(id, owner, limit) ?? new LocalSlots(id, owner, limit)
  }
}
