// What mappings are handed outside of an exchange, and what they give as it would be on the wire.

import type { Schema } from '../../codegen/read/schemas.js'
import type { Body, Context, Dialect } from '../../engine/plan.js'
import { releaseDigits } from '../../engine/wire/json/digits.js'

/** The `$ctx` that cases begin with: what their grammar says. */
export function usualContext(grammars: ReadonlyMap<string, Schema>): Context {
  const { $defs } = grammars.get('case') as { $defs: { ctx: { properties: Record<string, { default?: unknown }> } } }
  return Object.fromEntries(
    Object.entries($defs.ctx.properties).flatMap(([name, key]) => ('default' in key ? [[name, key.default]] : [])),
  ) as unknown as Context
}

/** A value as it would be on the wire: what is absent is gone. */
export function wire<Value>(value: Value): Value {
  return value === undefined ? value : (JSON.parse(releaseDigits(JSON.stringify(value))) as Value)
}

/** The same value, frozen as deep as it goes: a mapping that changes what it is handed fails where it does. */
export function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const item of Object.values(value)) frozen(item)
  }
  return value
}

/**
 * The events that a reducer gave as kinds and JSON in turn. Throws where a kind is not what the event says at `line`, where that
 * is given.
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

/** A request as a mapping sees it: what its dialect's API reads leniently is said as the schema says it. */
export function seenBy(normalise: Dialect['normaliseRequest']): (body: unknown) => Record<string, unknown> {
  return body => (normalise?.(structuredClone(body) as Body) ?? body) as Record<string, unknown>
}
