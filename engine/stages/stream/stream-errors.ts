// The errors of a stream, as the client gets them.

import { GatewayError } from '../../core/errors.js'
import type { Json } from '../../plan.js'
import type { Binding } from '../../snapshot/model.js'

/** The longest incomplete event that is held: bytes. */
export const EVENT_LIMIT = 32 * 1024 * 1024

/** The body ended, but no event proved that the answer was complete. */
export function cutOff(): GatewayError {
  return new GatewayError('upstream', 'The upstream broke its answer off before it was complete.')
}

export function notJson(binding: Binding): GatewayError {
  return new GatewayError('upstream', 'The upstream sent an invalid answer.', {
    cause: `${binding.target.name}: an event is not JSON`,
  })
}

/** The error for a failure while an answer was read: an answer that cannot be read or translated is the upstream's fault. */
export function asStreamError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof RangeError) return new GatewayError('upstream', 'The upstream sent an event that is too long.', { cause: error })
  return new GatewayError('upstream', 'The upstream sent an event that could not be translated.', { cause: error })
}

/** Normalises an event in place; returns the error if it does not satisfy its schema. */
export function misunderstanding(event: Json, normalise: (event: Json) => Json): GatewayError | undefined {
  try {
    normalise(event)
    return undefined
  } catch (error) {
    return asStreamError(error)
  }
}
