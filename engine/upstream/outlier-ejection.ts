// How a target fares: what it failed at lately puts it aside for a while, and what it refuses may be served by another.

import { now } from '../core/deadlines.js'
import type { GatewayError } from '../core/errors.js'
import type { Target } from '../snapshot/model.js'

/** What is wrong with the request is wrong everywhere. */
const FINAL: ReadonlySet<string> = new Set([
  'invalid_request',
  'too_large',
  'unsupported_media',
  'internal',
  'permission',
  'authentication',
])

export function isRetryable(error: GatewayError): boolean {
  return !FINAL.has(error.kind)
}

/** Milliseconds. */
const ASIDE = 5_000
const ASIDE_MOST = 120_000

/** What one caller's account has used up, or may not. */
const OF_AN_ACCOUNT: ReadonlySet<string> = new Set(['rate_limit', 'billing'])

export function eject(target: Target, error: GatewayError): void {
  if (target.isCallers && OF_AN_ACCOUNT.has(error.kind)) return
  const { health } = target
  health.failures++
  const asked = Number(error.more.retryAfter) * 1000
  const time = Number.isFinite(asked) && asked > 0 ? Math.min(asked, ASIDE_MOST) : Math.min(ASIDE * 2 ** (health.failures - 1), ASIDE_MOST)
  health.ejectedUntil = now() + time
}

export function recordSuccess(target: Target): void {
  target.health.failures = 0
  target.health.ejectedUntil = 0
}
