// One target after the other, until one of them answers. Nothing has been sent to the client by then, so a failure may go
// to the next target.

import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError, unsupportedModel } from '../core/errors.js'
import type { LogEntry } from '../core/exchange.js'
import { factsOf } from '../core/log.js'
import { describeCause } from '../core/source-map.js'
import type { Binding } from '../snapshot/model.js'
import { eject, isRetryable, recordSuccess } from '../upstream/outlier-ejection.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { enter } from './fund.js'
import { giveBack, occupy, settleWhenOver } from './limit.js'

/** The first result that an attempt gives, in the order of the bindings. Throws the last failure where none gives one. */
export async function failover<Result>(
  request: ClientRequest,
  bindings: readonly Binding[],
  attempt: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const { route, input, choice, exchange, snapshot, lease, hold } = request
  let failure: GatewayError | undefined
  let full: GatewayError | undefined
  let tooSmall = 0
  for (const binding of bindings) {
    const { target } = binding
    if (tooSmall > 0 && !isLarger(binding, tooSmall)) continue
    const occupied = occupy(target, route, input, snapshot)
    const targetLease = occupied instanceof Promise ? await occupied : occupied
    if (targetLease instanceof GatewayError) {
      // Passed over like a target that was ejected, but nobody has failed.
      noteFailure(exchange.log, target.name, targetLease)
      if (full === undefined || Number(targetLease.more.retryAfter) < Number(full.more.retryAfter)) full = targetLease
      continue
    }
    const spent = target.budgets.length === 0 ? undefined : await enter(hold, target.budgets)
    if (spent) {
      giveBack(targetLease, exchange)
      noteFailure(exchange.log, target.name, spent)
      full ??= spent
      continue
    }
    exchange.log.target = target.name
    exchange.log.upstreamDialect = binding.to.name
    exchange.log.attempts++
    // Who goes away meanwhile may have to pay for what was begun.
    exchange.log.price = target.cost
    const limits = target.limits ? { ...route.limits, ...target.limits } : route.limits
    try {
      const result = await attempt({ route, input, choice, exchange, snapshot, lease, hold, binding, limits, targetLease })
      recordSuccess(target)
      settleWhenOver(targetLease, exchange)
      return result
    } catch (thrown) {
      giveBack(targetLease, exchange)
      if (!exchange.isAborted) {
        exchange.log.price = undefined
        hold?.leave(target.budgets)
      }
      failure = asGatewayError(thrown instanceof RangeError ? tooDeep(thrown) : thrown)
      const { context = 0 } = target
      const isTooLong = failure.more.isTooLong === true && context > 0 && bindings.some(other => isLarger(other, context))
      if (exchange.isAborted || !(isRetryable(failure) || isTooLong)) throw failure
      // A target that is too small for one request is well.
      if (isTooLong) tooSmall = context
      else eject(target, failure)
      if (isTooLong || binding !== bindings.at(-1)) noteFailure(exchange.log, target.name, failure)
      // What has been sent of a form is gone, and the time that the exchange may take altogether is over.
      if (input.form?.isWhole === false || (limits.total !== null && now() >= exchange.began + limits.total)) throw failure
    }
  }
  throw failure ?? full ?? unsupportedModel(input.model)
}

/** Whether a target is known to take more tokens than so many. */
function isLarger({ target: { context } }: Binding, tokens: number): boolean {
  return context !== undefined && context > tokens
}

function noteFailure(log: LogEntry, target: string, { kind, cause, message }: GatewayError): void {
  log.failed ??= []
  log.failed.push({ target, kind, cause: describeCause(cause ?? message), ...(log.call && factsOf(log.call)) })
  // What is said of the next target is not this one's call.
  log.call = undefined
}

/** Where the stack ends while a request is translated. An upstream's answer is judged before it gets here. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}
