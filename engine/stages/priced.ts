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
  const has = (usage: Usage): boolean => cost(usage, time) !== undefined
  if (isFree(cost, time) || (asked !== undefined && has(asked))) return true
  let counted = known.get(binding)
  if (counted === undefined) known.set(binding, (counted = countedOf(binding)))
  if (counted.tokens !== undefined && has(counted.tokens)) return true
  // The cost of a text is that of its tokens.
  return asks === undefined && counted.units.some(has)
}

/** What is counted of exchanges of a binding: one of each kind of tokens together, and one of each other unit. */
interface Counted {
  tokens: Usage | undefined
  units: readonly Usage[]
}

/** Each request with a budget asks for that of its bindings. */
const known = new WeakMap<Binding, Counted>()

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

/** A price that multiplies no quantity is free, whatever the usage. */
export function isFree(cost: Cost | undefined, time: number): boolean {
  return cost?.(WHATEVER, time) === 0
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
