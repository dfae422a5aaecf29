// How streams are made and run by the properties.

import fc from 'fast-check'
import type { Context, Json, Reducer } from '../../engine/plan.js'
import { frozen, wire } from '../given.js'
import { told } from '../told.js'
import type { Cut, Values } from './dialects/table.js'

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

/** What a reducer makes of a stream that is proven to have ended. */
export function reduce(reducer: Reducer, events: readonly Json[], ctx: Context, carry: Json): Values[] {
  const state = reducer.start()
  const out: string[] = []
  for (const event of events) reducer.event(state, frozen(wire(event)), ctx, carry, out)
  reducer.done(state, ctx, carry, out)
  return told(out) as Values[]
}
