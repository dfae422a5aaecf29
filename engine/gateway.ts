// START HERE. A request's whole life, in order. Nothing in this folder knows a dialect, a provider, a model or a path.

import { noteLabels } from './control/labels.js'
import { GatewayError } from './core/errors.js'
import type { Exchange } from './core/exchange.js'
import { notFound } from './snapshot/near-path.js'
import type { Route, Snapshot } from './snapshot/snapshot.js'
import { admit } from './stages/admit.js'
import { answer, estimate } from './stages/answer.js'
import { choose } from './stages/choose.js'
import { read } from './stages/read.js'
import { reply } from './stages/reply.js'
import { send } from './stages/send.js'

export async function handle(route: Route, exchange: Exchange, snapshot: Snapshot): Promise<void> {
  const admitted = admit(route, exchange, snapshot)
  const key = admitted instanceof Promise ? await admitted : admitted
  if (route.fail)
    throw route.fail === 'not_found'
      ? notFound(exchange, snapshot)
      : new GatewayError(route.fail, FAILURES[route.fail] ?? 'This cannot be served.')
  if (route.relay) throw new GatewayError('invalid_request', 'This route is a socket: connect to it with the WebSocket protocol.')
  if (route.answer) return answer(route, key, exchange, snapshot)
  const input = await read(route, exchange, snapshot)
  if (snapshot.store) noteLabels(route, input, exchange, snapshot)
  const choice = choose(route, input, key, exchange, snapshot)
  if (choice.bindings.length === 0 && route.estimate) return estimate(route, input, exchange)
  const result = await send(choice, input, route, exchange, snapshot)
  return reply(route, choice, result, exchange, snapshot)
}

const FAILURES: Partial<Record<string, string>> = {
  not_implemented: 'This API is not implemented.',
}
