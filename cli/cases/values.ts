// The inputs of mappings outside of an exchange, and their outputs as they would be sent.

import type { Schema } from '../../codegen/read/schemas.js'
import type { Body, Context, Dialect } from '../../engine/plan.js'
import { releaseDigits } from '../../engine/wire/json/digits.js'

/** The `$ctx` that cases begin with, from the defaults of their grammar. */
export function usualContext(grammars: ReadonlyMap<string, Schema>): Context {
  const { $defs } = grammars.get('case') as { $defs: { ctx: { properties: Record<string, { default?: unknown }> } } }
  return Object.fromEntries(
    Object.entries($defs.ctx.properties).flatMap(([name, key]) => ('default' in key ? [[name, key.default]] : [])),
  ) as unknown as Context
}

/** A value after serialisation: undefined members are gone. */
export function wire<Value>(value: Value): Value {
  return value === undefined ? value : (JSON.parse(releaseDigits(JSON.stringify(value))) as Value)
}

/** The value, deeply frozen: a mapping that changes its input fails at that point. */
export function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) frozen(item)
  }
  return value
}

/**
 * The events in a reducer's output of alternating kinds and JSON. Throws if a kind differs from the event's member `line`,
 * when given.
 */
export function eventsOf(out: readonly string[], line?: string): Record<string, unknown>[] {
  const events: Record<string, unknown>[] = []
  for (let index = 0; index < out.length; index += 2) {
    const event = JSON.parse(releaseDigits(out[index + 1] as string)) as Record<string, unknown>
    if (line !== undefined && out[index] !== String(event[line]))
      throw new Error(`an event of the kind ${String(event[line])} is written as ${out[index]}`)
    events.push(event)
  }
  return events
}

/** Normalises a request as its dialect does before a mapping. */
export function seenBy(normalise: Dialect['normaliseRequest']): (body: unknown) => Record<string, unknown> {
  return body => (normalise?.(structuredClone(body) as Body) ?? body) as Record<string, unknown>
}
