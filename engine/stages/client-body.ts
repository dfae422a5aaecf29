// Makes the client's body from a provider's whole answer.

import { GatewayError } from '../core/errors.js'
import { valueAt } from '../core/members.js'
import type { Dialect, Json } from '../plan.js'
import { completed } from '../wire/json/complete.js'
import { releaseDigits } from '../wire/json/digits.js'
import { encodeLists, reshape } from '../wire/json/vectors.js'
import type { Attempt } from './attempt.js'

type Vectors = NonNullable<Dialect['vectors']>

/**
 * The provider's bytes for a client of the same dialect, with vectors in the encoding that it asked for. Throws `upstream` if
 * there are fewer than it asked for: nobody knows which input has none.
 */
export function clientBytes(answer: Buffer, { path, form, wanted }: Vectors, { input, exchange }: Attempt): Buffer {
  const { bytes, count } = reshape(answer, path, valueAt(form, input.outline, exchange) === 'base64')
  const asked = count > 0 && wanted?.(input.outline)
  if (typeof asked === 'number' && count < asked)
    throw new GatewayError('upstream', `The upstream did not give one vector for each input: ${count} for ${asked}.`)
  return bytes
}

/** The text of a mapping's result. Throws `upstream` if the mapping produced nothing. */
export function clientBody(mapped: Json, attempt: Attempt): string {
  if (mapped === undefined)
    throw new GatewayError('upstream', `The answer of the upstream could not be translated for ${attempt.route.name}.`)
  const { vectors, complete } = attempt.binding.from
  const whole = complete ? completed(mapped, complete.response) : mapped
  const isEncoded = vectors && valueAt(vectors.form, attempt.input.outline, attempt.exchange) === 'base64'
  return releaseDigits(JSON.stringify(isEncoded ? encodeLists(whole, vectors.path) : whole))
}
