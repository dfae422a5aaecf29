// What can go wrong with a stream, as the client is told of it.

import { GatewayError } from '../../core/errors.js'
import type { Json } from '../../plan.js'
import type { Binding } from '../../snapshot/model.js'

/** The longest event that is held while the rest of it comes: bytes. */
export const EVENT_LIMIT = 32 * 1024 * 1024

/** The body ended, and no event proved that the answer had. */
export function cutOff(): GatewayError {
  return new GatewayError('upstream', 'The upstream broke its answer off before it was complete.')
}

export function notJson(binding: Binding): GatewayError {
  return new GatewayError('upstream', 'The upstream sent something that is not valid.', {
    cause: `${binding.target.name}: an event is not JSON`,
  })
}

/** What went wrong while an answer was read: what cannot be read or translated is the upstream's fault. */
export function asStreamError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof RangeError) return new GatewayError('upstream', 'The upstream sent an event that is too long.', { cause: error })
  return new GatewayError('upstream', 'The upstream sent an event that could not be translated.', { cause: error })
}

/** Says an event as its schema does, in place; gives what is wrong with it where that cannot be. */
export function misunderstanding(event: Json, normalise: (event: Json) => Json): GatewayError | undefined {
  try {
    normalise(event)
    return undefined
  } catch (error) {
    return asStreamError(error)
  }
}
