// START HERE. The stages of a request, and of a socket, in order. Nothing in this folder names a dialect, a provider, a
// model or a path.

import { noteLabels } from './control/labels.js'
import { GatewayError } from './core/errors.js'
import type { Exchange } from './core/exchange.js'
import type { SocketRelay } from './http/sockets.js'
import type { Key, Model, Route, Snapshot } from './snapshot/model.js'
import { admit } from './stages/admit.js'
import { answer, estimate } from './stages/answer.js'
import type { ClientRequest } from './stages/attempt.js'
import { choose } from './stages/choose.js'
import { answerConversation } from './stages/conversation.js'
import { tellDocument } from './stages/document.js'
import { failure } from './stages/fail.js'
import { failover } from './stages/failover.js'
import { fund } from './stages/fund.js'
import { formTexts, GuardedAnswers, guardAdmission, guardRequest, narrowed, socketGuard } from './stages/guard.js'
import { handOn } from './stages/hand-on.js'
import { hedge } from './stages/hedge.js'
import { joinLists } from './stages/join-lists.js'
import { answerKept, restore } from './stages/kept.js'
import { limit, refuseEarly } from './stages/limit.js'
import { mirror } from './stages/mirror.js'
import { sendPage } from './stages/page.js'
import { read } from './stages/read.js'
import { openRelay, readHandshake } from './stages/relay.js'
import { reply } from './stages/reply.js'
import { send } from './stages/send.js'

/** Answers a request. Throws the error that the client gets; the server writes it. */
export async function handle(route: Route, own: Exchange, snapshot: Snapshot): Promise<void> {
  const admitted = admit(route, own, snapshot)
  const key = admitted instanceof Promise ? await admitted : admitted
  const { guards } = route
  if (guards) await guardAdmission(guards, route, key, own, snapshot)
  if (route.isApart) return apart(route, key, own, snapshot)
  const answers = guards && new GuardedAnswers(guards, route, key, own, snapshot)
  const exchange = answers ? answers.exchange : own
  if (snapshot.hasLimits()) refuseEarly(route, key, snapshot)
  if (route.kept && snapshot.store && (await answerKept(route, key, exchange, snapshot))) return
  const asked = await read(route, exchange, snapshot, guards && formTexts(guards, route, key, exchange, snapshot))
  const changed = guards && (await guardRequest(guards, asked, route, key, exchange, snapshot))
  const said = changed ? changed.input : asked
  answers?.expect(said)
  if (snapshot.store) noteLabels(route, said, exchange, snapshot)
  if (route.conversation) return answerConversation(route, said, key, exchange, snapshot)
  const all = choose(route, said, key, exchange, snapshot)
  const choice = changed?.target === undefined ? all : narrowed(all, changed.target, exchange)
  const whole = route.keep && snapshot.store ? restore(route.keep, said, choice, route, exchange, snapshot) : said
  const input = whole instanceof Promise ? await whole : whole
  // First, because a spent budget may choose another model, whose limits count then.
  const funded = snapshot.hasBudgets() || snapshot.store ? fund(route, input, key, choice, exchange, snapshot) : { choice }
  const { choice: chosen, hold } = funded instanceof Promise ? await funded : funded
  const limited = snapshot.hasLimits() ? limit(route, input, key, chosen.model, exchange, snapshot) : undefined
  const lease = limited instanceof Promise ? await limited : limited
  if (chosen.bindings.length === 0 && route.estimate) return estimate(route, input, exchange)
  const request = { route, input, choice: chosen, exchange, snapshot, lease, hold }
  const { bindings, model } = chosen
  if (route.joinLists && bindings.length > 1) return reply(await joinLists(request, route.joinLists, send))
  const answered = model && isHedged(model, request) ? hedge(request, bindings, model.hedgeAfter, send) : failover(request, bindings, send)
  if (model?.mirror) mirror(request, model.mirror)
  return reply(await answered)
}

/** A form that has been sent cannot be sent again. */
function isHedged(model: Model, { choice, input }: ClientRequest): model is Model & { hedgeAfter: number } {
  return model.hedgeAfter !== undefined && choice.bindings.length > 1 && !input.form
}

/** Routes without a model: refusals, the gateway's own answers, and requests that are passed through unchanged. */
function apart(route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): void | Promise<void> {
  if (route.fail) throw failure(route, exchange, snapshot)
  if (route.relay) throw new GatewayError('invalid_request', 'This route is a socket: connect to it with the WebSocket protocol.')
  if (route.made) return sendPage(route.made, exchange)
  if (route.answer) return answer(route, key, exchange, snapshot)
  if (route.document !== undefined) return tellDocument(route, exchange, snapshot)
  return handOn(route, key, exchange, snapshot)
}

/**
 * Connects a socket to an upstream before the client's handshake is answered: until then a refusal is an ordinary HTTP
 * answer.
 */
export async function connect(route: Route, exchange: Exchange, snapshot: Snapshot): Promise<SocketRelay> {
  const key = await admit(route, exchange, snapshot)
  if (route.guards) await guardAdmission(route.guards, route, key, exchange, snapshot)
  const input = readHandshake(route, exchange, snapshot)
  const choice = choose(route, input, key, exchange, snapshot)
  const { choice: chosen, hold } = await fund(route, input, key, choice, exchange, snapshot)
  const lease = await limit(route, input, key, chosen.model, exchange, snapshot)
  const guard = route.guards && socketGuard(route.guards, route, key, input, exchange, snapshot)
  return openRelay({ route, input, choice: chosen, exchange, snapshot, lease, hold }, guard)
}
