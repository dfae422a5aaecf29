// The output of a reducer, as events.

import { released } from './fixtures.js'

/** Parses kinds and JSON in turn. Fails where a kind is not what the event says at `line`, where that is given. */
export function told(out: readonly string[], line?: string): unknown[] {
  const events: unknown[] = []
  for (let index = 0; index < out.length; index += 2) {
    const event = JSON.parse(released(out[index + 1] as string)) as Record<string, unknown>
    if (line !== undefined && out[index] !== String(event[line]))
      throw new Error(`an event of the kind ${String(event[line])} is written as ${out[index]}`)
    events.push(event)
  }
  return events
}
