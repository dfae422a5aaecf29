// A request at one target: it takes a slot and some of the target's limits and budgets, is sent, and gives back what it took.

import { countsAgainstTarget } from '../balance/health.js'
import type { Latency } from '../balance/latency.js'
import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Lease } from '../limits/lease.js'
import type { Binding, Target } from '../snapshot/model.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { enter } from './fund.js'
import { giveBack, occupy, settleWhenOver } from './limit.js'

/** What a request took of a target's limits; undefined if it has none. */
export type Entry = Lease | undefined

/** All slots of the target are taken. */
export const CROWDED = Symbol('crowded')

/** Enters a target, or says why the request cannot. With `mayWait` it waits for a slot. */
export function enterTarget(
  target: Target,
  request: ClientRequest,
  mayWait: boolean,
): Entry | GatewayError | typeof CROWDED | Promise<Entry | GatewayError> {
  const { concurrency } = target
  if (concurrency === undefined || concurrency.enter()) return takeOf(target, request)
  if (!mayWait) return CROWDED
  const { log } = request.exchange
  const began = now()
  const noted = (): void => {
    log.queued = (log.queued ?? 0) + now() - began
  }
  return concurrency
    .wait(request.exchange)
    .finally(noted)
    .then(() => takeOf(target, request), asGatewayError)
}

/** Takes what the request needs of the target's limits and budgets; leaves the slot if there is too little. */
function takeOf(target: Target, request: ClientRequest): Entry | GatewayError | Promise<Entry | GatewayError> {
  const { route, input, snapshot } = request
  const taken = occupy(target, route, input, snapshot)
  if (taken instanceof Promise || target.budgets.length > 0) return takeLater(target, request, taken)
  if (taken instanceof GatewayError) target.concurrency?.leave()
  return taken
}

async function takeLater(
  { concurrency, budgets }: Target,
  { exchange, hold }: ClientRequest,
  taking: ReturnType<typeof occupy>,
): Promise<Entry | GatewayError> {
  const lease = await taking
  if (lease instanceof GatewayError) {
    concurrency?.leave()
    return lease
  }
  const spent = await enter(hold, budgets)
  if (spent === undefined) return lease
  giveBack(lease, exchange)
  concurrency?.leave()
  return spent
}

/** The result of an attempt at a target that the request has entered. Rejects with a GatewayError. */
export async function callTarget<Result>(
  binding: Binding,
  lease: Entry,
  request: ClientRequest,
  attempt: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const { target } = binding
  const { concurrency, health, latency } = target
  const { route, input, choice, exchange, snapshot, hold } = request
  const { log } = exchange
  log.target = target.name
  log.upstreamDialect = binding.to.name
  log.attempts++
  // If the client goes away now, it may have to pay for this call.
  log.price = target.cost
  const limits = target.limits ? { ...route.limits, ...target.limits } : route.limits
  const isTrial = health.begin()
  const began = latency === undefined ? 0 : now()
  try {
    const result = await attempt({
      route,
      input,
      choice,
      exchange,
      snapshot,
      lease: request.lease,
      hold,
      binding,
      limits,
      targetLease: lease,
    })
    health.succeed(isTrial)
    if (latency !== undefined) observe(latency, input.stream, began)
    choice.stick?.(target)
    settleWhenOver(lease, exchange)
    // The slot is held for as long as the answer lasts.
    if (concurrency !== undefined) exchange.onOver(() => concurrency.leave())
    return result
  } catch (thrown) {
    giveBack(lease, exchange)
    concurrency?.leave()
    if (!exchange.isAborted) {
      log.price = undefined
      hold?.leave(target.budgets)
    }
    const failure = asGatewayError(thrown instanceof RangeError ? tooDeep(thrown) : thrown)
    if (exchange.isAborted || !saysOfTarget(failure, target)) health.leave(isTrial)
    else health.fail(isTrial, waitOf(failure))
    throw failure
  }
}

/** A caller's own exhausted or forbidden account is no evidence against a target that other callers use, too. */
function saysOfTarget({ kind }: GatewayError, { isCallers }: Target): boolean {
  return countsAgainstTarget(kind) && !(isCallers && (kind === 'rate_limit' || kind === 'billing'))
}

function observe(latency: Latency, isStream: boolean, began: number): void {
  const time = now()
  latency[isStream ? 'stream' : 'whole'].observe(time - began, time)
}

/** Milliseconds for which the refusal asks to receive no requests, if it does. */
function waitOf({ more: { retryAfter } }: GatewayError): number | undefined {
  const wait = Number(retryAfter) * 1_000
  return wait > 0 ? wait : undefined
}

/** The stack overflowed while a request was translated. Upstream answers are checked for depth before. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}
