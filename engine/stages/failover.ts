// Tries one target after the other until one of them answers. Nothing has been sent to the client before, so after a
// failure the next target can answer.

import { now } from '../core/deadlines.js'
import { GatewayError, unsupportedModel } from '../core/errors.js'
import type { LogEntry } from '../core/exchange.js'
import { factsOf } from '../core/log.js'
import { describeCause } from '../core/source-map.js'
import type { Binding, Target } from '../snapshot/model.js'
import { DEFAULT_RETRY } from '../snapshot/retry.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { backOff } from './back-off.js'
import { CROWDED, callTarget, enterTarget } from './call-target.js'
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
  const { input, choice, exchange } = request
  const { log } = exchange
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
      if (tooSmall > 0 && !isLarger(binding, tooSmall)) continue
      const refusal = binding.media && refusalOf(binding.media, input)
      if (refusal) {
        // Passed over, as its answer is known.
        if (bindings.length > 1) noteFailure(log, target.name, refusal)
        refused ??= refusal
        continue
      }
      if (failure !== undefined) {
        if (tries === retry.attempts) throw failure
        if (failed !== undefined) {
          if (retry.budget?.take() === false) throw outOfBudget(failure, failed, log)
          noteFailure(log, failed.name, failure)
          failed = undefined
        }
      }
      const entering = enterTarget(target, request, mayWait)
      const entry = entering instanceof Promise ? await entering : entering
      if (entry === CROWDED) {
        crowded ??= []
        crowded.push(binding)
        continue
      }
      if (entry instanceof GatewayError) {
        if (exchange.isAborted) throw entry
        // Skipped like an ejected target, but it did not fail.
        noteFailure(log, target.name, entry)
        if (full === undefined || retryAfter(entry) < retryAfter(full)) full = entry
        continue
      }
      tries++
      try {
        return await callTarget(binding, entry, request, attempt)
      } catch (thrown) {
        failure = thrown as GatewayError
        failed = target
        const { context = 0 } = target
        const isTooLong = failure.more.isTooLong === true && context > 0 && bindings.some(other => isLarger(other, context))
        if (isTooLong) tooSmall = context
        if (!(retry.on.has(failure.kind) || isTooLong) || !maySendAgain(request)) throw failure
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

/** Not if the client has gone, a part of a form was sent already, or the time limit of the exchange is over. */
function maySendAgain({ input, exchange, route }: ClientRequest): boolean {
  const { total } = route.limits
  return !exchange.isAborted && input.form?.isWhole !== false && (total === null || now() < exchange.began + total)
}

/** Whether a target is known to take more than `tokens`. */
function isLarger({ target: { context } }: Binding, tokens: number): boolean {
  return context !== undefined && context > tokens
}

/** Seconds after which the refusal says that there is room. */
function retryAfter({ more }: GatewayError): number {
  return Number(more.retryAfter)
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
