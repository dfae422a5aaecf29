// The value of a client's header for an upstream.

import { GatewayError } from '../core/errors.js'
import { isPlainValue } from '../core/text.js'

const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/**
 * The bytes of a value, as characters of the same numbers, which the HTTP client writes as they are. Throws
 * `invalid_request` if a control character is among them: the client would be refused everywhere.
 */
export function passedOn(name: string, value: string): string {
  if (isPlainValue(value)) return value
  if (CONTROL.test(value))
    throw new GatewayError('invalid_request', `The value of the header '${name}' has a control character.`, { code: 'invalid_header' })
  return Buffer.from(value).toString('latin1')
}
