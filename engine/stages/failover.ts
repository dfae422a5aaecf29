// Tries one target after the other until one of them answers. Nothing has been sent to the client before, so after a
// failure the next target can answer.

import type { Concurrency } from '../balance/concurrency.js'
import { countsAgainstTarget } from '../balance/health.js'
import type { Latency } from '../balance/latency.js'
import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError, unsupportedModel } from '../core/errors.js'
import type { Exchange, LogEntry } from '../core/exchange.js'
import { factsOf } from '../core/log.js'
import { describeCause } from '../core/source-map.js'
import type { Binding, Target } from '../snapshot/model.js'
import { DEFAULT_RETRY } from '../snapshot/retry.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { backOff } from './back-off.js'
import { enter } from './fund.js'
import { giveBack, occupy, settleWhenOver } from './limit.js'
import { refusalOf } from './media.js'

/**
 * The first result of an attempt, in the order of the bindings. Waits for a target whose slots are all taken only if no
 * other target is left. Throws the last failure if no attempt has a result.
 * @param queue the remaining bindings; another fail-over may take from it, too
 */
export async function failover<Result>(
  request: ClientRequest,
  bindings: readonly Binding[],
  attempt: (attempt: Attempt) => Promise<Result>,
  queue: Iterable<Binding> = bindings,
): Promise<Result> {
  const { route, input, choice, exchange, snapshot, lease, hold } = request
  const retry = choice.model?.retry ?? DEFAULT_RETRY
  let failure: GatewayError | undefined
  /** The target that failed last and is not in the log yet; the log reports the very last failure elsewhere. */
  let failed: Target | undefined
  let full: GatewayError | undefined
  let refused: GatewayError | undefined
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
      const refusal = binding.media && refusalOf(binding.media, input)
      if (refusal) {
        // Passed over, as its answer is known.
        if (bindings.length > 1) noteFailure(exchange.log, target.name, refusal)
        refused ??= refusal
        continue
      }
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
        // Skipped like an ejected target, but it did not fail.
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
      // If the client goes away now, it may have to pay for this call.
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
        // The sent part of a form cannot be sent again, or the time limit of the exchange is over.
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
  throw failure ?? full ?? refused ?? unsupportedModel(input.model)
}

/** A caller's own exhausted or forbidden account is no evidence against a target that other callers use, too. */
function saysOfTarget({ kind }: GatewayError, { isCallers }: Target): boolean {
  return countsAgainstTarget(kind) && !(isCallers && (kind === 'rate_limit' || kind === 'billing'))
}

function observe(latency: Latency, isStream: boolean, began: number): void {
  const time = now()
  latency[isStream ? 'stream' : 'whole'].observe(time - began, time)
}

/** Holds the slot for as long as the answer lasts. */
function leaveWhenOver(concurrency: Concurrency, exchange: Exchange): void {
  exchange.onOver(() => concurrency.leave())
}

const none = (): undefined => undefined

/** Whether a target is known to take more than `tokens`. */
function isLarger({ target: { context } }: Binding, tokens: number): boolean {
  return context !== undefined && context > tokens
}

/** Milliseconds for which the refusal asks to receive no requests, if it does. */
function waitOf({ more: { retryAfter } }: GatewayError): number | undefined {
  const wait = Number(retryAfter) * 1_000
  return wait > 0 ? wait : undefined
}

/** Notes in the log that the retry budget prevented another attempt; returns the failure unchanged. */
function outOfBudget(failure: GatewayError, target: Target, log: LogEntry): GatewayError {
  log.failed ??= []
  log.failed.push({
    target: target.name,
    kind: failure.kind,
    cause: 'the retry budget of the model is spent, so no other target was called',
  })
  return failure
}

/** Notes the target that failed, with the facts of its call. */
export function noteFailure(log: LogEntry, target: string, { kind, cause, message }: GatewayError): void {
  log.failed ??= []
  log.failed.push({ target, kind, cause: describeCause(cause ?? message), ...(log.call && factsOf(log.call)) })
  // The call's facts must not appear as the next target's.
  log.call = undefined
}

/** The stack overflowed while a request was translated. Upstream answers are checked for depth before. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}
