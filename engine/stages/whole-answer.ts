// A provider's whole answer → the client's body, before anything is sent: what cannot be made anything of is no answer, and
// the next target is asked.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import type { Json } from '../plan.js'
import type { Binding, Route } from '../snapshot/snapshot.js'
import { completed } from '../wire/json/complete.js'
import { releaseDigits } from '../wire/json/digits.js'
import { encodeLists, reshape } from '../wire/json/vectors.js'
import { type Input, valueAt } from './read.js'

/** Looks at what an upstream sent. That it cannot be understood is the upstream's failure, not the gateway's. */
export function understood<Result>(look: () => Result): Result {
  try {
    return look()
  } catch (error) {
    if (error instanceof GatewayError) throw error
    throw new GatewayError('upstream', 'The upstream sent something that is not valid.', { cause: error })
  }
}

/** The client's body where both speak alike: the provider's bytes. */
export function passedBody(bytes: Buffer, binding: Binding, input: Input, exchange: Exchange): Buffer {
  const { vectors } = binding.from
  return vectors ? reshape(bytes, vectors.path, isBase64(binding, input, exchange)) : bytes
}

/** The client's body, of what a mapping made. */
export function mappedBody(mapped: Json, binding: Binding, route: Route, input: Input, exchange: Exchange): string {
  if (mapped === undefined) throw new GatewayError('upstream', `The answer of the upstream could not be translated for ${route.name}.`)
  const { vectors, complete } = binding.from
  const whole = complete ? completed(mapped, complete.response) : mapped
  return releaseDigits(JSON.stringify(vectors && isBase64(binding, input, exchange) ? encodeLists(whole, vectors.path) : whole))
}

function isBase64({ from: { vectors } }: Binding, input: Input, exchange: Exchange): boolean {
  return vectors !== undefined && valueAt(vectors.form, input.outline, exchange) === 'base64'
}
