// The meters of a process by what they count for. A reload finds those that are there already, so nothing that was used is
// forgotten, and what is still under way goes back to where it was taken.

import { INPUT, type Kind, LocalRate, LocalSlots, type Meter, OUTPUT, REQUESTS, TOKENS } from './meter.js'
import type { Sharing } from './shared.js'

/** So many in a window of so many milliseconds. */
export interface Rate {
  amount: number
  window: number
}

/** What limits somebody, as it is written: several windows of one kind hold side by side. */
export interface RateLimits {
  requests?: readonly Rate[]
  inputTokens?: readonly Rate[]
  outputTokens?: readonly Rate[]
  tokens?: readonly Rate[]
  inFlight?: number
}

const KINDS: readonly [Exclude<keyof RateLimits, 'inFlight'>, Kind][] = [
  ['requests', REQUESTS],
  ['inputTokens', INPUT],
  ['outputTokens', OUTPUT],
  ['tokens', TOKENS],
]

export class Meters {
  private known = new Map<string, Meter>()
  private linked: Map<string, Meter> | undefined

  /** @param sharing absent where this process counts alone */
  constructor(
    private readonly clock: () => number,
    readonly sharing?: Sharing,
  ) {}

  /** Links a configuration: the meters that it does not ask for with `of` are dropped, unless it throws. */
  link<Result>(build: () => Result): Result {
    const linked = new Map<string, Meter>()
    this.linked = linked
    try {
      const result = build()
      for (const [id, meter] of this.known) if (!linked.has(id)) this.sharing?.drop(meter)
      this.known = linked
      return result
    } finally {
      this.linked = undefined
    }
  }

  /**
   * The meters for what limits somebody.
   * @param scope whose limits they are, such as `key:ci`: no one else has the same
   * @param owner the same in words for callers, such as `this API key`
   */
  of(scope: string, owner: string, limits: RateLimits | undefined): readonly Meter[] {
    if (limits === undefined) return []
    const meters: Meter[] = []
    for (const [name, kind] of KINDS)
      for (const { amount, window } of limits[name] ?? [])
        meters.push(this.meter(`${scope}:${name}:${window}`, amount, id => this.rate(id, kind, owner, amount, window)))
    const { inFlight } = limits
    if (inFlight !== undefined) meters.push(this.meter(`${scope}:inFlight`, inFlight, id => this.slots(id, owner, inFlight)))
    return meters
  }

  private meter(id: string, limit: number, make: (id: string) => Meter): Meter {
    const meter = this.linked?.get(id) ?? this.known.get(id) ?? make(id)
    meter.resize(limit, this.clock())
    this.linked?.set(id, meter)
    return meter
  }

  private rate(id: string, kind: Kind, owner: string, limit: number, window: number): Meter {
    return this.sharing?.rate(id, kind, owner, limit, window) ?? new LocalRate(id, kind, owner, limit, window, this.clock())
  }

  private slots(id: string, owner: string, limit: number): Meter {
    return this.sharing?.slots(id, owner, limit) ?? new LocalSlots(id, owner, limit)
  }
}
