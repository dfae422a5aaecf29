// What travels together from the choice of targets to the answer.

import type { Exchange } from '../core/exchange.js'
import type { Lease } from '../limits/lease.js'
import type { Limits } from '../plan.js'
import type { Binding, Route, Snapshot } from '../snapshot/model.js'
import type { Choice } from './choose.js'
import type { Input } from './read.js'

/** A client's request that has been read, and the bindings that may serve it. */
export interface ClientRequest {
  route: Route
  input: Input
  choice: Choice
  exchange: Exchange
  snapshot: Snapshot
  /** What it holds of the limits of its key, groups and model, where they have some. */
  lease: Lease | undefined
}

/** The request as one binding is asked to serve it, and the limits that hold there. */
export interface Attempt extends ClientRequest {
  binding: Binding
  limits: Limits
  /** What it holds of the limits of the upstream, where it has some. */
  targetLease: Lease | undefined
}
