// The line of an exchange in the access log, with the field names of OpenTelemetry where they exist.

import type { Exchange, LogEntry } from '../engine/core/exchange.js'
import { clientIdOf, factsOf, round } from '../engine/core/log.js'
import { NANO, spentBy } from '../engine/core/usage.js'
import { writtenMember } from '../engine/jsonata/events.js'

export const INFO = 30
const WARN = 40

/** The members of a log entry that a line has; one that is undefined is left out, also within `usage`. */
type Logged = Pick<LogEntry, 'status' | 'attempts' | 'bytesIn' | 'bytesOut'> & {
  [Name in 'key' | 'model' | 'target' | 'isPartial' | 'isMirror' | 'firstByte' | 'firstToken']?: LogEntry[Name] | undefined
} & { [Name in 'usage' | 'error' | 'failed' | 'cancelled' | 'consulted' | 'facts' | 'masked']?: object | undefined }

/** What a line says. `time` is milliseconds since 1970; `cost` and `charge` are in nano-units of the currency. */
export interface LineFacts {
  level: number
  time: number
  id: string
  clientId: string | undefined
  route: string | undefined
  method: string | undefined
  path: string | undefined
  log: Logged
  cost: number | undefined
  charge: number | undefined
  /** Milliseconds. */
  total: number
  upstream: object | undefined
}

/** What the line of an exchange says that took `total` milliseconds; `level` is that of `levelOf`. */
export function lineFactsOf(exchange: Exchange, total: number, level: number): LineFacts {
  const { log } = exchange
  const { cost, charge } = spentBy(exchange)
  return {
    level,
    time: Date.now(),
    id: exchange.id,
    clientId: clientIdOf(exchange),
    route: log.route?.name,
    method: exchange.method,
    path: exchange.path,
    log,
    cost,
    charge,
    total,
    upstream: log.call && factsOf(log.call),
  }
}

/**
 * A line. `cost` and, if different, `charge` are in the currency of the prices. Times are milliseconds. It never holds a body or
 * a secret; keys and tokens that a client put into it are masked before it is written. Written member by member: an object and
 * its JSON would take longer.
 */
export function accessLine({ level, time, id, clientId, route, method, path, log, cost, charge, total, upstream }: LineFacts): string {
  return (
    `{"level":${level},"time":${time},` +
    writtenMember('"id":', id, '') +
    writtenMember(',"client_id":', clientId, '') +
    writtenMember(',"route":', route, '') +
    writtenMember(',"method":', method, '') +
    writtenMember(',"path":', path, '') +
    writtenMember(',"key":', log.key, '') +
    writtenMember(',"model":', log.model, '') +
    writtenMember(',"target":', log.target, '') +
    writtenMember(',"status":', log.status, '') +
    writtenMember(',"attempts":', log.attempts > 1 ? log.attempts : undefined, '') +
    writtenMember(',"bytes_in":', log.bytesIn, '') +
    writtenMember(',"bytes_out":', log.bytesOut, '') +
    writtenMember(',"usage":', log.usage, '') +
    writtenMember(',"cost":', cost === undefined ? undefined : cost / NANO, '') +
    writtenMember(',"charge":', charge === undefined || charge === cost ? undefined : charge / NANO, '') +
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
    writtenMember(',"upstream":', upstream, '') +
    ',"msg":"request"}\n'
  )
}

/** The level of an exchange's line. */
export const levelOf = (exchange: Exchange): number => (isFailure(exchange) ? WARN : INFO)

/** A failure that is not the client's; one that another target made good counts as well. */
function isFailure({ log: { error, failed, status, call } }: Exchange): boolean {
  if (failed !== undefined) return true
  if (error === undefined || error.kind === 'not_implemented') return false
  // A broken stream has a good status, and a provider's 429 is about the operator's account.
  return status >= 500 || (call !== undefined && (status === 429 || status < 400))
}
