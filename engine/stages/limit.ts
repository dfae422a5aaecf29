// Checks the limits of an exchange, and of its target. What it takes is settled when the exchange has ended.

import { now } from '../core/deadlines.js'
import { GatewayError } from '../core/errors.js'
import { type Exchange, GONE } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import { durationText, rateLimitHeaders } from '../limits/headers.js'
import { type Amounts, amountsOf, Lease, type Refusal, take, takeNow } from '../limits/lease.js'
import { IN_FLIGHT, INPUT, type Meter, OUTPUT as OUTPUT_TOKENS, REQUESTS, TOKENS } from '../limits/meter.js'
import type { Dialect, Usage } from '../plan.js'
import type { Key, Model, Route, Snapshot, Target } from '../snapshot/model.js'
import type { Input } from './read.js'

/** Bytes of a request for each token, before a provider has counted. A longer body may hold media, which cost less. */
const BYTES_PER_TOKEN = 4
const MOST_INPUT = 65_536
/** Output tokens that an answer is expected to have if it may have as many. */
const OUTPUT = 1_024

/**
 * Takes an exchange's needs from the limits of its key, the key's groups and its model; undefined if they have none.
 * Throws `rate_limit`, with the headers of the caller's dialect, or rejects with it if a shared counter has to be asked.
 */
export function limit(
  route: Route,
  input: Input,
  key: Key | undefined,
  model: Model | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Lease | Promise<Lease> | undefined {
  const meters = both(metersOf(key, snapshot), model?.meters)
  if (meters === undefined) return undefined
  const dialect = snapshot.plan.dialects[route.dialect] as Dialect
  const amounts = expected(route, input, dialect)
  const admitted = (result: Lease | Refusal): Lease => {
    if (!(result instanceof Lease)) throw refusalOf(result, meters, dialect)
    exchange.onOver(() => result.settle(usageOf(exchange)))
    return result
  }
  const result = takeNow(meters, amounts, now())
  return result ? admitted(result) : take(meters, amounts, now).then(admitted)
}

function metersOf(key: Key | undefined, snapshot: Snapshot): readonly Meter[] | undefined {
  return key && snapshot.standingOf(key).meters
}

/** Refuses a caller without requests left before the body is read, so that a flood costs little. Takes nothing. */
export function refuseEarly(route: Route, key: Key | undefined, snapshot: Snapshot): void {
  const meters = metersOf(key, snapshot)
  if (meters === undefined || meters.length === 0) return
  const time = now()
  for (const meter of meters) {
    if (meter.kind !== REQUESTS && meter.kind !== IN_FLIGHT) continue
    const wait = meter.wait(1, time)
    if (wait > 0) throw refusalOf({ meter, wait }, meters, snapshot.plan.dialects[route.dialect] as Dialect)
  }
}

/**
 * Takes the same from a target's own limits; call it only if the target has limits. Returns the refusal, because another target may
 * have room. The caller settles the lease.
 */
export function occupy(
  target: Target,
  route: Route,
  input: Input,
  snapshot: Snapshot,
): Lease | GatewayError | Promise<Lease | GatewayError> {
  const { meters } = target
  const amounts = expected(route, input, snapshot.plan.dialects[route.dialect] as Dialect)
  const occupied = (result: Lease | Refusal): Lease | GatewayError => (result instanceof Lease ? result : fullOf(result))
  const result = takeNow(meters, amounts, now())
  return result ? occupied(result) : take(meters, amounts, now).then(occupied)
}

/** The target has answered: its lease is settled when the exchange has ended. */
export function settleWhenOver(lease: Lease, exchange: Exchange): void {
  exchange.onOver(() => lease.settle(usageOf(exchange)))
}

/** The target has failed without using tokens; if the exchange ended before, the usage is unknown. */
export function giveBack(lease: Lease | undefined, exchange: Exchange): void {
  lease?.settle(exchange.isEnded ? undefined : NONE)
}

const NONE: Usage = {}
const NOTHING: Usage = { input: 0, output: 0 }

function both(left: readonly Meter[] | undefined, right: readonly Meter[] | undefined): readonly Meter[] | undefined {
  if (left === undefined || left.length === 0) return right === undefined || right.length === 0 ? undefined : right
  return right === undefined || right.length === 0 ? left : [...left, ...right]
}

/** The expected usage of an exchange. Tokens count only in dialects that report them. */
function expected(route: Route, input: Input, dialect: Dialect): Amounts {
  if (!route.countsTokens) return amountsOf(0, 0)
  return amountsOf(expectedInput(input), dialect.stream === undefined ? 0 : Math.min(OUTPUT, requestedOutput(route, input)))
}

/** The most output tokens that the request allows, else `usual`; for all choices of an answer together. */
export function requestedOutput(route: Route, input: Input, usual = OUTPUT): number {
  const { asks } = route
  if (asks === undefined) return usual
  input.normalise?.()
  let asked: number | undefined
  for (const path of asks.output) if ((asked = numberAt(path, input)) !== undefined) break
  asked ??= usual
  return Math.ceil(asked) * (asks.answers === undefined ? 1 : Math.max(1, Math.ceil(numberAt(asks.answers, input) ?? 1)))
}

function numberAt(path: readonly string[], { outline }: Input): number | undefined {
  const value = memberAt(outline, path)
  return typeof value === 'number' && value >= 0 ? value : undefined
}

/** The input tokens of a request, estimated from its length. */
export function expectedInput(input: Input): number {
  return Math.min(MOST_INPUT, Math.ceil(input.bytes.length / BYTES_PER_TOKEN))
}

/** The usage of an exchange that has ended: nothing if it failed; undefined if it ended without a report. */
function usageOf({ log }: Exchange): Usage | undefined {
  const { usage } = log
  // A usage in other units means that there were no tokens.
  if (usage) return usage.input === undefined && usage.output === undefined ? NOTHING : usage
  // A client that went away may have cost the expected amount.
  return log.status >= 400 && log.status !== GONE ? NONE : undefined
}

function refusalOf({ meter, wait }: Refusal, meters: readonly Meter[], dialect: Dialect): GatewayError {
  const seconds = String(Math.max(1, Math.ceil(wait / 1_000)))
  return new GatewayError('rate_limit', `Rate limit reached for ${meter.owner}: ${wordsOf(meter)}. Try again in ${seconds}s.`, {
    retryAfter: seconds,
    reason: REASONS[meter.kind],
    cause: `the limit ${meter.id} is reached`,
    ...(dialect.rateLimits && { headers: rateLimitHeaders(dialect.rateLimits, meters, now()) }),
  })
}

/** What metrics call a limit that is reached, by its kind. */
const REASONS: Readonly<Record<Meter['kind'], string>> = {
  [REQUESTS]: 'rate',
  [INPUT]: 'tokens',
  [OUTPUT_TOKENS]: 'tokens',
  [TOKENS]: 'tokens',
  [IN_FLIGHT]: 'in_flight',
}

function fullOf({ meter, wait }: Refusal): GatewayError {
  const seconds = String(Math.max(1, Math.ceil(wait / 1_000)))
  return new GatewayError('rate_limit', `The upstreams of this model are at their limits. Try again in ${seconds}s.`, {
    retryAfter: seconds,
    reason: REASONS[meter.kind],
    cause: `${meter.owner} is at its limit: ${wordsOf(meter)}`,
  })
}

function wordsOf({ kind, limit: most, window }: Meter): string {
  if (kind === IN_FLIGHT) return `${most} requests at a time`
  return `${most} ${kind === REQUESTS ? 'requests' : 'tokens'} in ${durationText(window)}`
}
