// An upstream's words, without what must not leave the house.

import type { Target } from './world.js'

const KEY_LIKE = /\b(?:sk|pk|rk|key)-[A-Za-z0-9_*.-]{8,}|\b[a-z]{2,5}[-_][A-Za-z0-9]{24,}|\bAIza[\w-]{20,}|\bBearer\s+[\w.~+/=-]{8,}/g
const PRIVATE_HOST =
  /(?<![\w.-])(?:https?:\/\/)?(?:localhost|127(?:\.\d+){3}|10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}|[\w.-]+\.(?:internal|local|svc|lan))(?![\w.-]*\w)(?::\d+)?(?:\/[^\s"']*)?/gi
const MAX_LENGTH = 4000

/** A message with keys, secrets and internal hosts taken out, and of bounded length. */
export function mask(text: string, target: Target): string {
  // What is cut off is not searched.
  let masked = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
  if (target.secret !== undefined && target.secret.length > 3) masked = masked.replaceAll(target.secret, '***')
  masked = masked.replaceAll(KEY_LIKE, '***').replaceAll(PRIVATE_HOST, '***')
  if (target.host !== '' && new URL(target.provider.base).host !== target.host) masked = masked.replaceAll(target.host, '***')
  return masked
}
