// The kinds of failure.

import type { Kind } from '../../engine/plan.js'

/** The kinds, with the status of each unless a dialect sets another. */
export const KINDS: Readonly<Record<Kind, number>> = {
  invalid_request: 400,
  authentication: 401,
  billing: 402,
  permission: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media: 415,
  rate_limit: 429,
  internal: 500,
  not_implemented: 501,
  upstream: 502,
  unavailable: 503,
  timeout: 504,
  overloaded: 503,
}
