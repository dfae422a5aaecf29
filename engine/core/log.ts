// The access log: one line of JSON for each exchange, in the words of the field.

import type { Exchange } from './exchange.js'

/** What a line says. Times are milliseconds. Never a key, a body or a secret. */
export function accessLine(exchange: Exchange, total: number): Record<string, unknown> {
  const { log } = exchange
  return {
    id: exchange.id,
    route: log.route?.name,
    method: exchange.method,
    path: exchange.path,
    key: log.key,
    model: log.model,
    target: log.target,
    status: log.status,
    attempts: log.attempts > 1 ? log.attempts : undefined,
    bytes_in: log.bytesIn,
    bytes_out: log.bytesOut,
    usage: log.usage,
    partial: log.isPartial,
    first_byte: round(log.firstByte),
    first_token: round(log.firstToken),
    total: round(total),
    error: log.error,
    failed: log.failed,
  }
}

function round(time: number | undefined): number | undefined {
  return time === undefined ? undefined : Math.round(time * 100) / 100
}
