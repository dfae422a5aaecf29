// The headers that report limits to callers, in the form of their dialect.

import type { RateHeaders, RateLimitFormat } from '../plan.js'
import { INPUT, type Kind, type Meter, OUTPUT, REQUESTS, TOKENS } from './meter.js'

/**
 * The headers of an answer. Of several limits of one kind, they report the one with the least left.
 * @param time now on the clock of the meters, in milliseconds
 */
export function rateLimitHeaders(format: RateLimitFormat, meters: readonly Meter[], time: number): Record<string, string> {
  const headers: Record<string, string> = {}
  tell(headers, format, format.requests, tightest(meters, REQUESTS, time), time)
  tell(headers, format, format.tokens, tightest(meters, TOKENS, time), time)
  tell(headers, format, format.inputTokens, tightest(meters, INPUT, time), time)
  tell(headers, format, format.outputTokens, tightest(meters, OUTPUT, time), time)
  return headers
}

function tightest(meters: readonly Meter[], kind: Kind, time: number): Meter | undefined {
  let found: Meter | undefined
  for (const meter of meters) if (meter.kind === kind && (found === undefined || meter.left(time) < found.left(time))) found = meter
  return found
}

function tell(
  headers: Record<string, string>,
  format: RateLimitFormat,
  names: RateHeaders | undefined,
  meter: Meter | undefined,
  time: number,
): void {
  if (names === undefined || meter === undefined) return
  if (names.limit !== undefined) headers[names.limit] = String(meter.limit)
  if (names.remaining !== undefined) headers[names.remaining] = String(meter.left(time))
  if (names.reset !== undefined)
    headers[names.reset] = format.reset === 'duration' ? durationText(meter.reset(time)) : timestampText(Date.now() + meter.reset(time))
}

/** `120ms`, `8.64s`, `6m0s`, `1h0m5s`: milliseconds as a duration. */
export function durationText(milliseconds: number): string {
  const whole = Math.ceil(milliseconds)
  if (whole < 1_000) return whole === 0 ? '0s' : `${whole}ms`
  const hours = Math.floor(whole / 3_600_000)
  const minutes = Math.floor((whole % 3_600_000) / 60_000)
  const seconds = `${(whole % 60_000) / 1_000}s`
  if (hours > 0) return `${hours}h${minutes}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}

let lastSecond = 0
let lastText = ''

/** `2027-01-31T18:00:00Z`: milliseconds since 1970, rounded up to the second, in which many answers fall. */
function timestampText(milliseconds: number): string {
  const second = Math.ceil(milliseconds / 1_000)
  if (second !== lastSecond) {
    lastSecond = second
    lastText = new Date(second * 1_000).toISOString().replace('.000', '')
  }
  return lastText
}
