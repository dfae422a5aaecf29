// The line of an exchange in the access log, with the field names of OpenTelemetry where they exist.

import type { Exchange } from '../engine/core/exchange.js'
import { factsOf, round } from '../engine/core/log.js'
import { LONGEST_ID } from '../engine/core/text.js'
import { NANO, spentBy } from '../engine/core/usage.js'
import { writtenMember } from '../engine/jsonata/events.js'

/**
 * The members of a line, as JSON. `cost` and, if different, `charge` are in the currency of the prices. Times are milliseconds.
 * It never holds a body or a secret; keys and tokens that a client put into it are masked before it is written. Written member
 * by member: an object and its JSON would take longer.
 */
export function accessLine(exchange: Exchange, total: number): string {
  const { log } = exchange
  const { cost, charge } = spentBy(exchange)
  return (
    writtenMember('"id":', exchange.id, '') +
    writtenMember(',"client_id":', exchange.headers['x-request-id']?.slice(0, LONGEST_ID), '') +
    writtenMember(',"route":', log.route?.name, '') +
    writtenMember(',"method":', exchange.method, '') +
    writtenMember(',"path":', exchange.path, '') +
    writtenMember(',"key":', log.key, '') +
    writtenMember(',"model":', log.model, '') +
    writtenMember(',"target":', log.target, '') +
    writtenMember(',"status":', log.status, '') +
    writtenMember(',"attempts":', log.attempts > 1 ? log.attempts : undefined, '') +
    writtenMember(',"bytes_in":', log.bytesIn, '') +
    writtenMember(',"bytes_out":', log.bytesOut, '') +
    writtenMember(',"usage":', log.usage, '') +
    writtenMember(',"cost":', cost === undefined ? undefined : cost / NANO, '') +
    writtenMember(',"charge":', charge === undefined || log.times === undefined ? undefined : charge / NANO, '') +
    writtenMember(',"partial":', log.isPartial, '') +
    writtenMember(',"mirror":', log.isMirror, '') +
    writtenMember(',"first_byte":', round(log.firstByte), '') +
    writtenMember(',"first_token":', round(log.firstToken), '') +
    writtenMember(',"total":', round(total), '') +
    writtenMember(',"error":', log.error, '') +
    writtenMember(',"failed":', log.failed, '') +
    writtenMember(',"cancelled":', log.cancelled, '') +
    writtenMember(',"calls":', log.consulted, '') +
    writtenMember(',"facts":', log.facts, '') +
    writtenMember(',"masked":', log.masked, '') +
    writtenMember(',"upstream":', log.call && factsOf(log.call), '')
  )
}

/** Whether a line reports a failure that is not the client's; a failure that another target made good counts as well. */
export function isFailure({ log: { error, failed, status, call } }: Exchange): boolean {
  if (failed !== undefined) return true
  if (error === undefined || error.kind === 'not_implemented') return false
  // A broken stream has a good status, and a provider's 429 is about the operator's account.
  return status >= 500 || (call !== undefined && (status === 429 || status < 400))
}
