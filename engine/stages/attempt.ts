// The objects that the stages pass on, from the choice of targets to the answer.

import type { Hold } from '../budgets/hold.js'
import type { Exchange } from '../core/exchange.js'
import type { Lease } from '../limits/lease.js'
import type { Limits } from '../plan.js'
import type { Binding, Route, Snapshot } from '../snapshot/model.js'
import type { Choice } from './choose.js'
import type { Input } from './read.js'

/** A client's request after it was read, and the bindings that may serve it. */
export interface ClientRequest {
  route: Route
  input: Input
  choice: Choice
  exchange: Exchange
  snapshot: Snapshot
  /** What the request took of the limits of its key, groups and model, if they have any. */
  lease: Lease | undefined
  /** What the request holds of budgets, if it has any. */
  hold: Hold | undefined
}

/** The request for one binding, with the limits of that binding. */
export interface Attempt extends ClientRequest {
  binding: Binding
  limits: Limits
  /** What the request took of the upstream's limits, if it has any. */
  targetLease: Lease | undefined
}
