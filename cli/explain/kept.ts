// What a gateway keeps, in an explanation: nothing is read of its store, so a request that continues something is shown as if that were
// empty.

import type { Exchange } from '../../engine/core/exchange.js'
import type { Route, Snapshot, Store } from '../../engine/snapshot/model.js'
import type { Choice } from '../../engine/stages/choose.js'
import { restore } from '../../engine/stages/kept.js'
import type { Input } from '../../engine/stages/read.js'

/** A store that has everything that a request continues, without content. */
const EMPTY = {
  ask: async (name: string, { id }: { id: string }) => (name === 'kept' ? [{ id, input: '[]', answer: '{}' }] : []),
} as unknown as Store

/** The request as it is sent on, and the id of what it continues. */
export async function continued(
  input: Input,
  choice: Choice,
  route: Route,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<{ input: Input; id?: string | undefined }> {
  if (route.keep === undefined) return { input }
  const whole = await restore(route.keep, input, choice, route, exchange, Object.create(snapshot, { store: { value: EMPTY } }))
  return { input: whole, id: whole.turn?.conversation ?? whole.turn?.previous }
}
