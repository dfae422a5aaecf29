// Makes the client's body from a provider's whole answer.

import { GatewayError } from '../core/errors.js'
import { valueAt } from '../core/members.js'
import type { Json } from '../plan.js'
import { completed } from '../wire/json/complete.js'
import { releaseDigits } from '../wire/json/digits.js'
import { encodeLists, reshape } from '../wire/json/vectors.js'
import type { Attempt } from './attempt.js'

/** The provider's bytes, for a client of the same dialect. */
export function clientBytes(bytes: Buffer, attempt: Attempt): Buffer {
  const { vectors } = attempt.binding.from
  return vectors ? reshape(bytes, vectors.path, wantsBase64(attempt)) : bytes
}

/** The text of a mapping's result. Throws `upstream` if the mapping produced nothing. */
export function clientBody(mapped: Json, attempt: Attempt): string {
  if (mapped === undefined)
    throw new GatewayError('upstream', `The answer of the upstream could not be translated for ${attempt.route.name}.`)
  const { vectors, complete } = attempt.binding.from
  const whole = complete ? completed(mapped, complete.response) : mapped
  return releaseDigits(JSON.stringify(vectors && wantsBase64(attempt) ? encodeLists(whole, vectors.path) : whole))
}

function wantsBase64({ binding, input, exchange }: Attempt): boolean {
  const { vectors } = binding.from
  return vectors !== undefined && valueAt(vectors.form, input.outline, exchange) === 'base64'
}
