// Whether the cost of an exchange can be known: what is counted of it must have a price. A missing price is not 0.

import { type Count, METERS } from '../core/meters.js'
import type { Cost, Dialect, RoutePlan, Usage } from '../plan.js'
import type { Binding } from '../snapshot/model.js'

/**
 * Whether the cost of a request on a route can be known if a binding serves it.
 * @param asked what is counted in the request itself; undefined: nothing
 */
export function isPriced(binding: Binding, { asks }: RoutePlan, time: number, asked: Usage | undefined): boolean {
  const { cost } = binding.target
  if (cost === undefined) return false
  const known = knownAt(binding, cost, time)
  if (known.isFree || known.hasTokens || (asked !== undefined && cost(asked, time) !== undefined)) return true
  // The cost of a text is that of its tokens.
  return asks === undefined && known.hasUnits
}

/** Whether a target costs nothing: its price multiplies no quantity, whatever the usage. */
export function isFree(binding: Binding, time: number): boolean {
  const { cost } = binding.target
  return cost !== undefined && knownAt(binding, cost, time).isFree
}

/** What is known of the prices of a binding in a minute. */
interface Known {
  minute: number
  isFree: boolean
  /** Whether tokens have a price, and whether another unit has one. */
  hasTokens: boolean
  hasUnits: boolean
}

/** Each request with a budget asks for that of its bindings. */
const knownOnes = new WeakMap<Binding, Known>()

/** Prices change at full minutes at the most often: each is from a day on, or for hours that have minutes. */
const MINUTE = 60_000

function knownAt(binding: Binding, cost: Cost, time: number): Known {
  const minute = Math.floor(time / MINUTE)
  let known = knownOnes.get(binding)
  if (known?.minute !== minute) {
    const has = (usage: Usage): boolean => cost(usage, time) !== undefined
    const { tokens, units } = countedOf(binding)
    known = { minute, isFree: cost(WHATEVER, time) === 0, hasTokens: tokens !== undefined && has(tokens), hasUnits: units.some(has) }
    knownOnes.set(binding, known)
  }
  return known
}

/** What is counted of exchanges of a binding: one of each kind of tokens together, and one of each other unit. */
interface Counted {
  tokens: Usage | undefined
  units: readonly Usage[]
}

function countedOf({ from, to }: Binding): Counted {
  const { told, asked } = to.meters ?? NOTHING
  const tokens = [...TOKENS, `${from.takes}_input`, `${from.gives}_output`].filter(name => told.includes(name))
  const units = [...told, ...asked].filter(name => UNITS.has(name))
  return { tokens: tokens.length === 0 ? undefined : usageOf(tokens), units: units.map(name => usageOf([name])) }
}

/** The same for some request, in which everything is counted that the client's dialect counts. */
export function mayBePriced(binding: Binding, route: RoutePlan, time: number): boolean {
  const asked = binding.from.meters?.asked
  return isPriced(binding, route, time, asked && usageOf(asked))
}

/** Whether an exchange's answer may report output tokens. */
export function tellsOutput({ to }: Binding): boolean {
  return to.meters?.told.includes(OUTPUT) === true
}

/** Whether an exchange's answer reports input tokens alone, which its request decides. */
export function tellsInputOnly(binding: Binding): boolean {
  return binding.to.meters?.told.includes(INPUT) === true && !tellsOutput(binding)
}

const INPUT = 'input'
const OUTPUT = 'output'
const TOKENS = [INPUT, OUTPUT]
const NOTHING: Dialect['meters'] & object = { told: [], asked: [] }
/** Some models are priced by one of these alone. */
const UNITS: ReadonlySet<string> = new Set(
  Object.entries(METERS).flatMap(([name, { parent }]) => (parent === undefined && !TOKENS.includes(name) ? [name] : [])),
)
const WHATEVER: Usage = { input: 1_000_000, output: 1_000_000, cached: 1, cacheWrite: 1, reasoning: 1 }

/** One unit of each meter. */
function usageOf(meters: readonly string[]): Usage {
  const usage: Partial<Record<Count, number>> = {}
  for (const name of meters) {
    const meter = METERS[name]
    if (meter !== undefined) usage[meter.member] = 1
  }
  return usage
}
