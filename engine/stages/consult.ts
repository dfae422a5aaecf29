// Consults an external service about a request. The possible answers are a closed list; any other answer is a failure of
// the service.

import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError } from '../core/errors.js'
import type { Consulted, Exchange } from '../core/exchange.js'
import { isObject } from '../core/members.js'
import { describeCause } from '../core/source-map.js'
import type { Json, Kind, Limits } from '../plan.js'
import type { ExchangeView, LinkedCall } from '../snapshot/model.js'
import { call, collect, type UpstreamResponse } from '../upstream/call.js'
import { releaseDigits } from '../wire/json/digits.js'
import { Branch } from './branch.js'
import type { Replacements } from './replaced.js'

/** The longest answer that is read: bytes. */
const LARGEST_ANSWER = 32 * 1024 * 1024
/** Characters of a message to the client and of a fact in the log, and the number of facts. */
const LONGEST_WORDS = 1_000
const LONGEST_FACT = 256
const MOST_FACTS = 32

/** What the services have answered so far, beside refusals. */
export interface Said {
  /** Makes the changes of one service; absent where nothing can be changed. Throws if they cannot be made. */
  change?(replacements: Replacements): void
  target: ChosenTarget | undefined
}

/** A target of the model, or an upstream, and the service that chose it. */
export interface ChosenTarget {
  name: string
  service: LinkedCall
}

/** What the client gets where a service failed that the request must not continue without. */
function unavailable({ name }: LinkedCall, cause: string): GatewayError {
  return new GatewayError('unavailable', 'A check of this request cannot be made at the moment.', {
    retryAfter: '1',
    cause: `the call ${name} failed: ${cause}`,
  })
}

/** Notes that a service chose a target that the model does not have. Throws if the request must not continue without the service. */
export function noSuchTarget({ name, service }: ChosenTarget, { log }: Exchange): void {
  const cause = `target names ${named(name)}, which the model does not have, or which does not serve the request`
  for (const one of log.consulted ?? []) if (one.call === service.name) Object.assign(one, { result: 'failed', cause })
  if (service.refusesOnFail) throw unavailable(service, cause)
}

/**
 * Calls a service. Adds its answer to `said`, and its facts to the log.
 * Throws its refusal in its own words, and `unavailable` if it fails and the request must not continue without it: changes that
 * cannot be made are a failure of the service, too.
 */
export async function consult(
  service: LinkedCall,
  view: ExchangeView,
  exchange: Exchange,
  kinds: ReadonlySet<string>,
  said: Said,
): Promise<void> {
  const { log } = exchange
  const began = now()
  const note = (result: Consulted['result'], cause?: string): void => {
    log.consulted ??= []
    log.consulted.push({
      call: service.name,
      result,
      total: Math.round((now() - began) * 100) / 100,
      ...(cause !== undefined && { cause }),
    })
  }
  let answer: Answer
  try {
    answer = understood(await ask(service, view, exchange), service, kinds)
    if (answer.replace && !answer.refuse) said.change?.(answer.replace)
  } catch (thrown) {
    if (exchange.isEnded) throw asGatewayError(thrown)
    const cause = thrown instanceof GatewayError ? thrown.message : describeCause(thrown)
    note('failed', cause)
    if (!service.refusesOnFail) return
    throw unavailable(service, cause)
  }
  const { refuse, replace, target, facts } = answer
  if (facts) log.facts = { ...log.facts, ...facts }
  if (refuse) {
    note('refused')
    throw new GatewayError(refuse.kind, refuse.message, {
      cause: `refused by the call ${service.name}`,
      ...(refuse.code !== undefined && { code: refuse.code }),
      // An immediate retry would be refused again.
      headers: { 'x-should-retry': 'false' },
    })
  }
  if (target !== undefined) said.target = { name: target, service }
  note(replace || target !== undefined ? 'changed' : 'passed')
}

async function ask(service: LinkedCall, view: ExchangeView, exchange: Exchange): Promise<Json> {
  const { timeout } = service
  const body = releaseDigits(JSON.stringify(service.send(view) ?? null))
  // A branch keeps this call out of the exchange's log entry, which is about the upstream that answers.
  const branch = new Branch(exchange)
  const total = now() - exchange.began + timeout
  const limits: Limits = { body: 0, upload: timeout, connect: timeout, headers: timeout, first_event: timeout, idle: timeout, total }
  const headers = [...service.headers, 'x-request-id', exchange.id]
  const { pool: dispatcher, origin, path } = service
  const told = await call({ dispatcher, origin, method: 'POST', path, headers, body, name: service.name }, limits, branch)
    .then(bodyOf)
    .catch(unreachable)
  if (told === undefined) throw new GatewayError('upstream', 'its answer is too long')
  if (told.length === 0) return {}
  try {
    return JSON.parse(told.toString('utf8'))
  } catch {
    throw new GatewayError('upstream', 'its answer is not JSON')
  }
}

function bodyOf(response: UpstreamResponse): ReturnType<typeof collect> {
  if (response.status >= 300) {
    response.release()
    throw new GatewayError('internal', `it answered with status ${response.status}`)
  }
  response.startIdle()
  return collect(response, LARGEST_ANSWER)
}

/** Rethrows the failure of a call without its address, and without words about upstreams. */
function unreachable(thrown: unknown): never {
  const { kind } = asGatewayError(thrown)
  if (kind === 'timeout') throw wrong('it did not answer in time')
  throw kind === 'upstream' ? wrong('it cannot be reached, or closed the connection') : thrown
}

interface Answer {
  refuse?: { message: string; kind: Kind; code?: string }
  replace?: [string, Json][]
  target?: string
  facts?: Record<string, string | number | boolean>
}

/** A valid answer. Throws a message that quotes only names of the answer. */
function understood(json: Json, { may }: LinkedCall, kinds: ReadonlySet<string>): Answer {
  if (!isObject(json)) throw wrong('its answer is not an object')
  const answer: Answer = {}
  for (const [name, value] of Object.entries(json)) {
    if (value === null || value === undefined) continue
    if (!may.has(name)) throw wrong(`its answer has ${named(name)}, which is not permitted`)
    if (name === 'refuse') answer.refuse = refusalIn(value, kinds)
    else if (name === 'replace') {
      if (!isObject(value)) throw wrong('replace is not an object')
      answer.replace = Object.entries(value)
    } else if (name === 'target') {
      if (typeof value !== 'string') throw wrong('target is not a text')
      answer.target = value
    } else answer.facts = factsIn(value)
  }
  return answer
}

function refusalIn(value: Json, kinds: ReadonlySet<string>): NonNullable<Answer['refuse']> {
  if (!isObject(value)) throw wrong('refuse is not an object')
  const { message, kind = 'permission', code } = value
  if (typeof message !== 'string' || message === '') throw wrong('refuse has no message')
  if (typeof kind !== 'string' || !kinds.has(kind)) throw wrong('refuse has an unknown kind')
  if (code !== undefined && typeof code !== 'string') throw wrong('refuse has a code that is not a text')
  return { message: message.slice(0, LONGEST_WORDS), kind: kind as Kind, ...(code !== undefined && { code: code.slice(0, LONGEST_WORDS) }) }
}

function factsIn(value: Json): NonNullable<Answer['facts']> {
  if (!isObject(value)) throw wrong('facts is not an object')
  const entries = Object.entries(value).slice(0, MOST_FACTS)
  return Object.fromEntries(
    entries.map(([name, fact]) => {
      if (typeof fact !== 'string' && typeof fact !== 'number' && typeof fact !== 'boolean')
        throw wrong('a fact is not a text, number or boolean')
      return [name.slice(0, LONGEST_FACT), typeof fact === 'string' ? fact.slice(0, LONGEST_FACT) : fact]
    }),
  )
}

const wrong = (message: string): GatewayError => new GatewayError('upstream', message)
const named = (name: string): string => JSON.stringify(name.slice(0, 40))
