// May this exchange begin now, and on this target? What it takes of the limits is settled when it is over.

import { now } from '../core/deadlines.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import { durationText, rateLimitHeaders } from '../limits/headers.js'
import { type Amounts, amountsOf, Lease, type Refusal, take, takeNow } from '../limits/lease.js'
import { IN_FLIGHT, type Meter, REQUESTS } from '../limits/meter.js'
import type { Dialect, Usage } from '../plan.js'
import type { Key, Model, Route, Snapshot, Target } from '../snapshot/model.js'
import type { Input } from './read.js'

/** Bytes of a request for a token of it, before anybody has counted. A body that is longer may hold media, which cost less. */
const BYTES_PER_TOKEN = 4
const MOST_INPUT = 65_536
/** Tokens that an answer is expected to have, where it may have as many. */
const OUTPUT = 1_024

/**
 * Takes what an exchange needs of the limits of its key, the key's groups and its model; nothing where there are none.
 * Throws `rate_limit`, with the headers of the caller's dialect, or rejects with it where others have to be asked first.
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

/** Refuses who has no request left, before anything of theirs is read: a flood is to cost as little as it can. Takes nothing. */
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

/** Takes the same of a target's own limits; gives the refusal, since another target may have room. What is taken is for the asker to settle. */
export function occupy(
  target: Target,
  route: Route,
  input: Input,
  snapshot: Snapshot,
): Lease | GatewayError | Promise<Lease | GatewayError> | undefined {
  const { meters } = target
  if (meters === undefined || meters.length === 0) return undefined
  const amounts = expected(route, input, snapshot.plan.dialects[route.dialect] as Dialect)
  const occupied = (result: Lease | Refusal): Lease | GatewayError => (result instanceof Lease ? result : fullOf(result))
  const result = takeNow(meters, amounts, now())
  return result ? occupied(result) : take(meters, amounts, now).then(occupied)
}

/** A target has answered: what it holds is settled when the exchange is over. */
export function settleWhenOver(lease: Lease | undefined, exchange: Exchange): void {
  if (lease) exchange.onOver(() => lease.settle(usageOf(exchange)))
}

/** A target has failed, and has used no tokens; where the client went away instead, nobody knows. */
export function giveBack(lease: Lease | undefined, exchange: Exchange): void {
  lease?.settle(exchange.isAborted ? undefined : NONE)
}

const NONE: Usage = {}
const NOTHING: Usage = { input: 0, output: 0 }

function both(left: readonly Meter[] | undefined, right: readonly Meter[] | undefined): readonly Meter[] | undefined {
  if (left === undefined || left.length === 0) return right === undefined || right.length === 0 ? undefined : right
  return right === undefined || right.length === 0 ? left : [...left, ...right]
}

/** What an exchange is expected to use. Tokens are those of dialects that tell them. */
function expected(route: Route, input: Input, dialect: Dialect): Amounts {
  if (!route.countsTokens) return amountsOf(0, 0)
  return amountsOf(expectedInput(input), dialect.stream === undefined ? 0 : Math.min(OUTPUT, askedOutput(route, input)))
}

/** The tokens that an answer may have at most, where the request says so, and else `usual`; all answers together. */
export function askedOutput(route: Route, input: Input, usual = OUTPUT): number {
  const { asks } = route
  if (asks === undefined) return usual
  let asked: number | undefined
  for (const path of asks.output) if ((asked = numberAt(path, input)) !== undefined) break
  asked ??= usual
  return Math.ceil(asked) * (asks.answers === undefined ? 1 : Math.max(1, Math.ceil(numberAt(asks.answers, input) ?? 1)))
}

function numberAt(path: readonly string[], { outline }: Input): number | undefined {
  const value = memberAt(outline, path)
  return typeof value === 'number' && value >= 0 ? value : undefined
}

/** The tokens of a request, as far as its length tells. */
export function expectedInput(input: Input): number {
  return Math.min(MOST_INPUT, Math.ceil(input.bytes.length / BYTES_PER_TOKEN))
}

/** What an exchange has used, once it is over: nothing where it failed; not known where it ended without a word of it. */
function usageOf({ log }: Exchange): Usage | undefined {
  const { usage } = log
  // Where something else was told, there were no tokens.
  if (usage) return usage.input === undefined && usage.output === undefined ? NOTHING : usage
  // Who went away may have cost as much as was expected.
  return log.status >= 400 && log.status !== GONE ? NONE : undefined
}

const GONE = 499

function refusalOf({ meter, wait }: Refusal, meters: readonly Meter[], dialect: Dialect): GatewayError {
  const seconds = String(Math.max(1, Math.ceil(wait / 1_000)))
  return new GatewayError('rate_limit', `Rate limit reached for ${meter.owner}: ${wordsOf(meter)}. Try again in ${seconds}s.`, {
    retryAfter: seconds,
    cause: `the limit ${meter.id} is reached`,
    ...(dialect.rateLimits && { headers: rateLimitHeaders(dialect.rateLimits, meters, now()) }),
  })
}

function fullOf({ meter, wait }: Refusal): GatewayError {
  const seconds = String(Math.max(1, Math.ceil(wait / 1_000)))
  return new GatewayError('rate_limit', `The upstreams of this model are at their limits. Try again in ${seconds}s.`, {
    retryAfter: seconds,
    cause: `${meter.owner} is at its limit: ${wordsOf(meter)}`,
  })
}

function wordsOf({ kind, limit: most, window }: Meter): string {
  if (kind === IN_FLIGHT) return `${most} requests at a time`
  return `${most} ${kind === REQUESTS ? 'requests' : 'tokens'} in ${durationText(window)}`
}
