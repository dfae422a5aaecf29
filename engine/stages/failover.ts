// Tries one target after the other until one of them answers. Nothing has been sent to the client before, so after a
// failure the next target can answer. At each target a request takes a slot and some of the target's limits and budgets, is
// sent, and gives back what it took.

import type { Standing } from '../balance/health.js'
import type { Latency } from '../balance/latency.js'
import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError, nobodyWaits, unsupportedModel } from '../core/errors.js'
import type { LogEntry } from '../core/exchange.js'
import { factsOf } from '../core/log.js'
import { describeCause } from '../core/source-map.js'
import type { Lease } from '../limits/lease.js'
import type { Binding, Target } from '../snapshot/model.js'
import { DEFAULT_RETRY } from '../snapshot/retry.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { backOff } from './back-off.js'
import { countsAgainst, waitOf } from './evidence.js'
import { enter } from './fund.js'
import { giveBack, occupy, settleWhenOver } from './limit.js'
import { refusalOf } from './media.js'

/**
 * The first result of an attempt, in the order of the bindings. Waits for a target whose slots are all taken only if no
 * other target is left. Throws the last failure if no attempt has a result.
 * @param queue the remaining bindings; another fail-over may take from it, too
 */
export async function failover<Result extends object>(
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
      if (exchange.isEnded) throw nobodyWaits()
      const entering = enterTarget(target, request, mayWait)
      const entry = entering instanceof Promise ? await entering : entering
      if (entry === CROWDED) {
        crowded ??= []
        crowded.push(binding)
        continue
      }
      if (entry instanceof GatewayError) {
        if (exchange.isEnded) throw entry
        // Skipped like an ejected target, but it did not fail.
        noteFailure(log, target.name, entry)
        if (full === undefined || retryAfter(entry) < retryAfter(full)) full = entry
        continue
      }
      tries++
      const standing = target.health.begin()
      const began = target.latency === undefined ? 0 : now()
      const call = attemptOf(binding, entry, request)
      try {
        const result = await attempt(call)
        if ('isUnasked' in result) unasked(call, standing)
        else succeeded(call, standing, began)
        return result
      } catch (thrown) {
        failure = failedWith(thrown, call, standing)
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

/** The attempt at a target that the request has entered. */
function attemptOf(binding: Binding, targetLease: Entry, request: ClientRequest): Attempt {
  const { target } = binding
  const { route, input, choice, exchange, snapshot, lease, hold } = request
  const { log } = exchange
  log.target = target.name
  log.upstreamDialect = binding.to.name
  log.attempts++
  // If the client goes away now, it may have to pay for this call.
  log.price = target.cost
  const limits = target.limits ? { ...route.limits, ...target.limits } : route.limits
  return { route, input, choice, exchange, snapshot, lease, hold, binding, limits, targetLease }
}

function succeeded({ binding: { target }, choice, exchange, input, targetLease }: Attempt, standing: Standing, began: number): void {
  const { concurrency, health, latency } = target
  health.answer(standing)
  if (latency !== undefined) observe(latency, input.stream, began)
  choice.stick?.(target)
  if (targetLease) settleWhenOver(targetLease, exchange)
  // The slot is held for as long as the answer lasts.
  if (concurrency !== undefined) exchange.onOver(() => concurrency.leave())
}

/** The gateway knew the answer itself: the target is left as if there had been no attempt. */
function unasked({ binding: { target }, exchange, targetLease }: Attempt, standing: Standing): void {
  giveBack(targetLease, exchange)
  target.concurrency?.leave()
  target.health.leave(standing)
}

/** Gives back what the attempt took; returns its failure. */
function failedWith(thrown: unknown, { binding: { target }, exchange, hold, targetLease }: Attempt, standing: Standing): GatewayError {
  const { concurrency, health } = target
  giveBack(targetLease, exchange)
  concurrency?.leave()
  if (!exchange.isEnded) {
    // What it has used is not charged, and must not be mixed with the usage of the next target.
    const { log } = exchange
    log.price = undefined
    delete log.usage
    hold?.leave(target.budgets)
  }
  const failure = asGatewayError(thrown instanceof RangeError ? tooDeep(thrown) : thrown)
  if (exchange.isEnded || !countsAgainst(target, failure)) health.leave(standing)
  else health.fail(standing, waitOf(failure))
  return failure
}

function observe(latency: Latency, isStream: boolean, began: number): void {
  const time = now()
  latency[isStream ? 'stream' : 'whole'].observe(time - began, time)
}

/** The stack overflowed while a request was translated. Upstream answers are checked for depth before. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}

/** What a request took of a target's limits; undefined if it has none. */
type Entry = Lease | undefined

/** All slots of the target are taken. */
const CROWDED = Symbol('crowded')

/** Enters a target, or says why the request cannot. With `mayWait` it waits for a slot. */
function enterTarget(
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
  const taken = target.meters.length > 0 ? occupy(target, route, input, snapshot) : undefined
  if (taken instanceof Promise || target.budgets.length > 0) return takeLater(target, request, taken)
  if (taken instanceof GatewayError) target.concurrency?.leave()
  return taken
}

async function takeLater(
  { concurrency, budgets }: Target,
  { exchange, hold }: ClientRequest,
  taking: ReturnType<typeof occupy> | undefined,
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

/** Not if nobody waits any more, a part of a form was sent already, or the time limit of the exchange is over. */
function maySendAgain({ input, exchange, route }: ClientRequest): boolean {
  const { total } = route.limits
  return !exchange.isEnded && input.form?.isWhole !== false && (total === null || now() < exchange.began + total)
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
