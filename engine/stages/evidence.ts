// What an answer's end says of its target. Whether an answer begins well is known to the fail-over; but a stream, or bytes that
// pass, may break off long after.

import { countsAgainstTarget } from '../balance/health.js'
import type { GatewayError } from '../core/errors.js'
import type { Target } from '../snapshot/model.js'
import type { Attempt } from './attempt.js'

/** A caller's own exhausted or forbidden account is no evidence against a target that other callers use, too. */
export function countsAgainst({ isCallers }: Target, { kind }: GatewayError): boolean {
  return countsAgainstTarget(kind) && !(isCallers && (kind === 'rate_limit' || kind === 'billing'))
}

/** Milliseconds for which the refusal asks to receive no requests, if it does. */
export function waitOf({ more: { retryAfter } }: GatewayError): number | undefined {
  const wait = Number(retryAfter) * 1_000
  return wait > 0 ? wait : undefined
}

/** The target broke off an answer that had begun well: its session, if it has one, looks for another target. */
export function hasBrokenOff({ binding: { target }, choice }: Attempt, failure: GatewayError): void {
  if (!countsAgainst(target, failure)) return
  target.health.fail('healthy', waitOf(failure))
  choice.stick?.(undefined)
}
