// Makes and runs streams for the properties.

import fc from 'fast-check'
import type { Context, Json, Reducer } from '../../engine/plan.js'
import { frozen, wire } from '../fixtures.js'
import { told } from '../recorded.js'
import type { Client, Cut, Provider, Said, Values } from './dialects/table.js'

/** Pieces of random lengths, in the middle of a character, too, and now and then an empty one. */
export const cuts: fc.Arbitrary<Cut> = fc.array(fc.nat(9), { maxLength: 6 }).map(lengths => {
  const cut: Cut = text => {
    const pieces: string[] = []
    let start = 0
    for (let turn = 0; start < text.length; turn++) {
      // Without lengths all of it at once; only empty pieces would never end.
      const length =
        lengths.length === 0 || (turn > 0 && turn % lengths.length === 0 && start === 0)
          ? text.length
          : (lengths[turn % lengths.length] as number)
      pieces.push(text.slice(start, start + length))
      start += length
    }
    return pieces
  }
  return Object.assign(cut, {
    [fc.toStringMethod]: () => `cuts of ${JSON.stringify(lengths)}`,
    toJSON: () => `cuts of ${JSON.stringify(lengths)}`,
  })
})

/** What a reducer makes of a stream that is proven to have ended, and what went wrong, where a step says so. */
export function reduce(reducer: Reducer, events: readonly Json[], ctx: Context, carry: Json): { events: Values[]; failure: Json } {
  const state = reducer.start()
  const out: string[] = []
  let failure: Json
  for (const event of events) failure ??= reducer.event(state, frozen(wire(event)), ctx, carry, out)
  failure ??= reducer.done(state, ctx, carry, out)
  return { events: told(out) as Values[], failure }
}

/** How a provider interleaves the parts of its answer: which open part continues, each time. */
export const weaves: fc.Arbitrary<number[]> = fc.array(fc.nat(9), { minLength: 1, maxLength: 12 })

/** The events of a stream with its parts woven. They begin in the order that they had. */
export function woven(events: readonly Values[], picks: readonly number[], { strand }: Provider): Values[] {
  const result: Values[] = []
  let strands: { name: string; events: Values[] }[] = []
  let turn = 0
  const weave = (): void => {
    let begun = 0
    while (strands.length > 0) {
      const pick = (picks[turn++ % picks.length] as number) % Math.min(begun + 1, strands.length)
      if (pick === begun) begun++
      const { events: rest } = strands[pick] as { events: Values[] }
      result.push(rest.shift() as Values)
      if (rest.length > 0) continue
      strands.splice(pick, 1)
      begun--
    }
    strands = []
  }
  for (const event of events) {
    const name = strand(event)
    if (name === undefined) {
      weave()
      result.push(event)
      continue
    }
    const its = strands.find(other => other.name === name)
    if (its) its.events.push(event)
    else strands.push({ name, events: [event] })
  }
  weave()
  return result.map((event, index) => (event.sequence_number === undefined ? event : { ...event, sequence_number: index }))
}

/** The same with calls before the text, and the reasoning between: for a dialect whose parts have no index. */
export function turned(events: readonly Values[], { strand }: Provider): Values[] {
  const rank = (event: Values): number => {
    const name = strand(event)
    return name?.startsWith('call') ? 0 : name === 'thought' ? 1 : name === 'text' ? 2 : -1
  }
  const moved = events.filter(event => rank(event) >= 0).sort((one, other) => rank(one) - rank(other))
  return events.map(event => (rank(event) >= 0 ? (moved.shift() as Values) : event))
}

/** What is said, as far as a client's dialect has words for what an answer meant. */
export function sayable(said: Said, meant: Said, { cannot }: Client): Said {
  const lacks = new Set(cannot)
  const { text, reasoning, signatures, calls, stop, usage } = said
  return {
    text,
    reasoning: lacks.has('reasoning') ? '' : reasoning,
    signatures: lacks.has('signatures') ? [] : signatures,
    calls: lacks.has('calls') ? [] : lacks.has('calls.cut') ? calls.filter(call => !call.mayBeCut) : calls,
    stop: meant.stop === 'refused' && lacks.has('refused') ? 'end' : stop,
    usage: {
      ...usage,
      cached: lacks.has('usage.cached') ? 0 : usage.cached,
      reasoning: lacks.has('usage.reasoning') ? 0 : usage.reasoning,
    },
  }
}
