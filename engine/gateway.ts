// START HERE. A request's whole life, in order. Nothing in this folder knows a dialect, a provider, a model or a path.

import { admit } from './admit.js'
import { answer, estimate } from './answer.js'
import { choose } from './choose.js'
import { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import { nowhere } from './nowhere.js'
import { read } from './read.js'
import { reply } from './reply.js'
import { send } from './send.js'
import type { Route, World } from './world.js'

export async function handle(route: Route, call: Exchange, world: World): Promise<void> {
  const admitted = admit(route, call, world)
  const key = admitted instanceof Promise ? await admitted : admitted
  if (route.fail)
    throw route.fail === 'not_found' ? nowhere(call, world) : new GatewayError(route.fail, FAILURES[route.fail] ?? 'This cannot be served.')
  if (route.relay) throw new GatewayError('invalid_request', 'This route is a socket: connect to it with the WebSocket protocol.')
  if (route.answer) return answer(route, key, call, world)
  const input = await read(route, call, world)
  const choice = choose(route, input, key, call, world)
  if (choice.ways.length === 0 && route.estimate) return estimate(route, input, call)
  const result = await send(choice, input, route, call, world)
  return reply(route, choice, result, call, world)
}

const FAILURES: Partial<Record<string, string>> = {
  not_implemented: 'This API is not implemented.',
}
