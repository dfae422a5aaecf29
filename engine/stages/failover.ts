// One target after the other, until one of them answers. Nothing has been sent to the client by then, so a failure may go
// to the next target.

import type { Concurrency } from '../balance/concurrency.js'
import { countsAgainstTarget } from '../balance/health.js'
import type { Latency } from '../balance/latency.js'
import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError, unsupportedModel } from '../core/errors.js'
import type { Exchange, LogEntry } from '../core/exchange.js'
import { factsOf } from '../core/log.js'
import { describeCause } from '../core/source-map.js'
import type { Binding, Target } from '../snapshot/model.js'
import { UNSAID } from '../snapshot/retry.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { backOff } from './back-off.js'
import { enter } from './fund.js'
import { giveBack, occupy, settleWhenOver } from './limit.js'

/**
 * The first result that an attempt gives, in the order of the bindings; a target that has no place free is waited for when no
 * other is left. Throws the last failure where none gives one.
 * @param queue the bindings that are left, where others take of them, too
 */
export async function failover<Result>(
  request: ClientRequest,
  bindings: readonly Binding[],
  attempt: (attempt: Attempt) => Promise<Result>,
  queue: Iterable<Binding> = bindings,
): Promise<Result> {
  const { route, input, choice, exchange, snapshot, lease, hold } = request
  const retry = choice.model?.retry ?? UNSAID
  let failure: GatewayError | undefined
  /** Who failed last, while the log does not say so: of the very last one it says it elsewhere. */
  let failed: Target | undefined
  let full: GatewayError | undefined
  let tooSmall = 0
  let tries = 0
  let crowded: Binding[] | undefined
  let mayWait = false
  if (retry.budget) retry.budget.requests++
  for (let round: Iterable<Binding> | undefined = queue; round !== undefined; ) {
    for (const binding of round) {
      const { target } = binding
      const { concurrency, health } = target
      if (tooSmall > 0 && !isLarger(binding, tooSmall)) continue
      if (failure !== undefined) {
        if (tries === retry.attempts) throw failure
        if (failed !== undefined) {
          if (retry.budget?.take() === false) throw outOfBudget(failure, failed, exchange.log)
          noteFailure(exchange.log, failed.name, failure)
          failed = undefined
        }
      }
      if (concurrency !== undefined && !concurrency.enter()) {
        if (!mayWait) {
          crowded ??= []
          crowded.push(binding)
          continue
        }
        const refusal = await concurrency.wait(exchange).then(none, asGatewayError)
        if (exchange.isAborted && refusal) throw refusal
        if (refusal) {
          noteFailure(exchange.log, target.name, refusal)
          full ??= refusal
          continue
        }
      }
      const occupied = occupy(target, route, input, snapshot)
      const targetLease = occupied instanceof Promise ? await occupied : occupied
      if (targetLease instanceof GatewayError) {
        concurrency?.leave()
        // Passed over like a target that was ejected, but nobody has failed.
        noteFailure(exchange.log, target.name, targetLease)
        if (full === undefined || Number(targetLease.more.retryAfter) < Number(full.more.retryAfter)) full = targetLease
        continue
      }
      const spent = target.budgets.length === 0 ? undefined : await enter(hold, target.budgets)
      if (spent) {
        giveBack(targetLease, exchange)
        concurrency?.leave()
        noteFailure(exchange.log, target.name, spent)
        full ??= spent
        continue
      }
      exchange.log.target = target.name
      exchange.log.upstreamDialect = binding.to.name
      exchange.log.attempts++
      // Who goes away meanwhile may have to pay for what was begun.
      exchange.log.price = target.cost
      tries++
      const limits = target.limits ? { ...route.limits, ...target.limits } : route.limits
      const isTrial = health.begin()
      const began = target.latency === undefined ? 0 : now()
      try {
        const result = await attempt({ route, input, choice, exchange, snapshot, lease, hold, binding, limits, targetLease })
        health.succeed(isTrial)
        if (target.latency !== undefined) observe(target.latency, input.stream, began)
        choice.stick?.(target)
        settleWhenOver(targetLease, exchange)
        if (concurrency !== undefined) leaveWhenOver(concurrency, exchange)
        return result
      } catch (thrown) {
        giveBack(targetLease, exchange)
        concurrency?.leave()
        if (!exchange.isAborted) {
          exchange.log.price = undefined
          hold?.leave(target.budgets)
        }
        failure = asGatewayError(thrown instanceof RangeError ? tooDeep(thrown) : thrown)
        failed = target
        const { context = 0 } = target
        const isTooLong = failure.more.isTooLong === true && context > 0 && bindings.some(other => isLarger(other, context))
        if (exchange.isAborted || !saysOfTarget(failure, target)) health.leave(isTrial)
        else health.fail(isTrial, waitOf(failure))
        if (exchange.isAborted || !(retry.on.has(failure.kind) || isTooLong)) throw failure
        if (isTooLong) tooSmall = context
        // What has been sent of a form is gone, and the time that the exchange may take altogether is over.
        if (input.form?.isWhole === false || (limits.total !== null && now() >= exchange.began + limits.total)) throw failure
      }
    }
    round = crowded
    if (round !== undefined) {
      crowded = undefined
      mayWait = true
    } else if (
      failure !== undefined &&
      bindings.length === 1 &&
      tries < (retry.attempts ?? 1) &&
      (await backOff(retry, tries, failure, request))
    ) {
      round = bindings
    }
  }
  throw failure ?? full ?? unsupportedModel(input.model)
}

/** What one caller's own account has used up, or may not, says nothing of a target that others have accounts with, too. */
function saysOfTarget({ kind }: GatewayError, { isCallers }: Target): boolean {
  return countsAgainstTarget(kind) && !(isCallers && (kind === 'rate_limit' || kind === 'billing'))
}

function observe(latency: Latency, isStream: boolean, began: number): void {
  const time = now()
  latency[isStream ? 'stream' : 'whole'].observe(time - began, time)
}

/** Its place is taken for as long as its answer lasts. */
function leaveWhenOver(concurrency: Concurrency, exchange: Exchange): void {
  exchange.onOver(() => concurrency.leave())
}

const none = (): undefined => undefined

/** Whether a target is known to take more tokens than so many. */
function isLarger({ target: { context } }: Binding, tokens: number): boolean {
  return context !== undefined && context > tokens
}

/** Milliseconds that a refusal asks to be left alone for, where it does. */
function waitOf({ more: { retryAfter } }: GatewayError): number | undefined {
  const wait = Number(retryAfter) * 1_000
  return wait > 0 ? wait : undefined
}

/** The failure stays what it was; the log says why nobody else was asked. */
function outOfBudget(failure: GatewayError, target: Target, log: LogEntry): GatewayError {
  log.failed ??= []
  log.failed.push({ target: target.name, kind: failure.kind, cause: 'the retry budget of the model is spent, so nobody else was asked' })
  return failure
}

/** Notes who failed, with what there is to be said of the last call. */
export function noteFailure(log: LogEntry, target: string, { kind, cause, message }: GatewayError): void {
  log.failed ??= []
  log.failed.push({ target, kind, cause: describeCause(cause ?? message), ...(log.call && factsOf(log.call)) })
  // What is said of the next target is not this one's call.
  log.call = undefined
}

/** Where the stack ends while a request is translated. An upstream's answer is judged before it gets here. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}
