// Sends the outcome to the client: bytes in the same dialect, a mapped body in another, a stream as a stream.

import { now } from '../core/deadlines.js'
import { askedUsage, chargeOf, mergeUsage, NANO, readUsage } from '../core/usage.js'
import { atEndOfTurn } from '../core/write-batch.js'
import { rateLimitHeaders } from '../limits/headers.js'
import { estimator } from './estimator.js'
import { keeperOf } from './kept.js'
import type { Outcome } from './outcome.js'
import { ownIdsOf } from './own-ids.js'
import { understood } from './read-answer.js'
import { relayBytes } from './relay-bytes.js'
import { requestedNameOf } from './requested-name.js'
import { inTurn, type Rewriter } from './rewriter.js'
import { idSealerOf } from './seal-ids.js'
import { relayStream } from './stream/relay.js'
import { toldTurnOf } from './told-turn.js'

/**
 * Resolves when a stream, or bytes, have been passed on; a whole body leaves at the end of the event loop's turn, or when it is part of
 * its conversation.
 */
export function reply(outcome: Outcome): Promise<void> | undefined {
  const { binding, exchange, snapshot, route, choice, input } = outcome.attempt
  const ownIds = input.turn && ownIdsOf(outcome.attempt)
  const isSealed = outcome.kind === 'joined' && outcome.isSealed === true
  const ids = ownIds ?? ((route.sealedIds || choice.task) && !isSealed ? idSealerOf(outcome.attempt) : undefined)
  const named = ids ?? (binding.from.answerModel && requestedNameOf(outcome.attempt))
  const rewriter = input.turn ? inTurn(named, toldTurnOf(outcome.attempt)) : named
  const headers = headersOf(outcome)
  exchange.log.isStream = outcome.kind === 'stream'
  noteAsked(outcome)
  if (outcome.kind === 'stream') return relayStream(outcome, headers, rewriter)
  if (outcome.kind === 'bytes') return relayBytes(outcome.response, headers, outcome.attempt)
  if (outcome.kind === 'whole') {
    const usage = mergeUsage(exchange.log.usage, readUsage(binding.to.usage, outcome.body))
    if (usage) exchange.log.usage = usage
    if (binding.to.estimated) estimator(outcome.attempt)?.(Buffer.from(outcome.text))
  }
  const charge = snapshot.exposes?.cost ? chargeOf(exchange) : undefined
  if (charge !== undefined) headers['x-sluice-cost'] = String(charge / NANO)
  const text = rewriter ? understood(() => rewritten(outcome.text, rewriter)) : outcome.text
  const kept = input.turn && keeperOf(outcome.attempt)?.(understood(() => JSON.parse(text.toString())))
  if (outcome.kind === 'whole' || !outcome.isUnasked) binding.target.health.succeed()
  const status = outcome.kind === 'whole' && binding.mapping === undefined ? outcome.response.status : 200
  headers['content-type'] = 'application/json'
  const leave = (): void => atEndOfTurn(() => exchange.send(status, headers, text))
  if (kept) return kept.then(leave)
  leave()
  return undefined
}

/** Adds the usage that only the request tells, the client's or what a mapping made of it: how many characters, or pictures. */
function noteAsked({ attempt: { binding, exchange, input }, rendered }: Outcome): void {
  const usage = mergeUsage(mergeUsage(exchange.log.usage, askedUsage(binding.from, input)), rendered.asked)
  if (usage) exchange.log.usage = usage
}

function rewritten(body: Buffer | string, rewriter: Rewriter): string {
  return rewriter.whole(typeof body === 'string' ? body : body.toString('utf8'))
}

function headersOf(outcome: Outcome): Record<string, string> {
  const headers: Record<string, string> = {}
  const { rendered } = outcome
  const { binding, route, exchange, lease } = outcome.attempt
  if (rendered.dropped.length > 0) {
    headers['x-sluice-dropped'] = rendered.dropped.join(', ')
    exchange.log.dropped = rendered.dropped
    if (rendered.unnamed && rendered.unnamed.length > 0) exchange.log.unnamed = rendered.unnamed
  }
  if (binding.mapping === undefined && outcome.kind !== 'joined') {
    for (const name of route.mirror) {
      const value = outcome.response.header(name)
      if (value !== undefined) headers[name] = value
    }
  }
  if (binding.target.passes && outcome.kind !== 'joined') Object.assign(headers, outcome.response.headersThat(binding.target.passes))
  // The caller meets its own limits before those of the provider's account.
  const { rateLimits } = binding.from
  if (lease && rateLimits) Object.assign(headers, rateLimitHeaders(rateLimits, lease.meters, now()))
  if (exchange.log.told) Object.assign(headers, exchange.log.told)
  const { requestIdHeader } = binding.from.error
  if (requestIdHeader !== undefined) headers[requestIdHeader] ??= exchange.id
  return headers
}
