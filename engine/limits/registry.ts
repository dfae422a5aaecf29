// The meters of a process by what they count for. A reload finds those that are there already, so nothing that was used is
// forgotten, and what is still under way goes back to where it was taken.

import { INPUT, type Kind, LocalRate, LocalSlots, type Meter, OUTPUT, REQUESTS, TOKENS } from './meter.js'
import type { Sharing } from './shared.js'

/** So many in a window of so many milliseconds. */
export interface Rate {
  amount: number
  window: number
}

/** What limits somebody, as it is written: several windows of one kind hold side by side; null lifts what others say of a kind. */
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

/** Of several that say something, the first one counts, kind by kind; nothing where none limits anything. */
export function firstSaid(written: readonly (RateLimits | undefined)[]): RateLimits | undefined {
  const limits: Record<string, RateLimits[keyof RateLimits]> = {}
  for (const name of ['requests', 'inputTokens', 'outputTokens', 'tokens', 'inFlight'] as const) {
    const said = written.find(one => one?.[name] !== undefined)?.[name]
    if (said !== undefined && said !== null) limits[name] = said
  }
  return Object.keys(limits).length === 0 ? undefined : limits
}

/** How many meters are kept of keys that are in no file. */
const MOST_KEPT = 200_000

export class Meters {
  private known = new Map<string, Meter>()
  private linked: Map<string, Meter> | undefined
  /** Those of keys that come and go while one configuration holds, the oldest first. */
  private readonly kept = new Map<string, Meter>()

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
   * The meters for what limits somebody. Outside of `link` it is somebody whom no configuration names.
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
    if (inFlight !== undefined && inFlight !== null)
      meters.push(this.meter(`${scope}:inFlight`, inFlight, id => this.slots(id, owner, inFlight)))
    return meters
  }

  private meter(id: string, limit: number, make: (id: string) => Meter): Meter {
    const meter = this.linked?.get(id) ?? this.known.get(id) ?? this.kept.get(id) ?? make(id)
    meter.resize(limit, this.clock())
    if (this.linked) this.linked.set(id, meter)
    else this.keep(id, meter)
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
