// Finds pictures, sound, film and files in a request that a model is known not to take.

import type { GatewayError } from '../core/errors.js'
import { base64Bytes, isOmitted } from '../core/text.js'
import type { Body, Json } from '../plan.js'
import type { MediaRule } from '../snapshot/media.js'
import { unsupported } from './lost-fields.js'
import type { Input } from './read.js'

/** The refusal of a request with something that the model does not take; undefined if it takes all of it, or is not known to. */
export function refusalOf(rules: readonly MediaRule[], input: Input): GatewayError | undefined {
  // A form's files are still arriving.
  if (input.form) return undefined
  const { outline } = input
  for (const rule of rules) {
    if (reasonIn(rule, outline) === undefined) continue
    // A text that was cut does not show its kind, and may seem longer than it is.
    const why = isOmitted(outline) ? reasonIn(rule, input.body) : reasonIn(rule, outline)
    if (why !== undefined) return unsupported(rule.at, why)
  }
  return undefined
}

/** Why the model does not take what a member of a body holds. */
function reasonIn({ each, trait, isNone, kinds, most, bytes }: MediaRule, body: Body): string | undefined {
  const found = each(body)
  if (found === undefined || found === null) return undefined
  const list: readonly Json[] = Array.isArray(found) ? found : [found]
  if (list.length === 0) return undefined
  if (isNone) return `it takes no ${trait}`
  if (most !== undefined && list.length > most) return `it takes ${most} ${trait} at most, and not ${list.length}`
  if (kinds === undefined && bytes === undefined) return undefined
  for (const one of list) {
    const { kind, data } = partsOf(one)
    if (kinds !== undefined && kind !== undefined && !kinds.includes(kind))
      return `of ${trait} it takes ${kinds.join(', ')}, and not ${kind}`
    const size = data === undefined ? 0 : base64Bytes(data)
    if (bytes !== undefined && size > bytes) return `it takes ${trait} of ${bytes} bytes at most, and not of ${size}`
  }
  return undefined
}

/** The name of a MIME type that clients use for another one. */
const WRONG = 'image/jpg'
const RIGHT = 'image/jpeg'

/** The MIME type of one of them, if it is known, and its base64, if it is inline. */
function partsOf(one: Json): { kind?: string | undefined; data?: string | undefined } {
  if (typeof one === 'string') {
    if (!one.startsWith('data:')) return {}
    const comma = one.indexOf(',')
    const [kind = ''] = one.slice('data:'.length, comma < 0 ? undefined : comma).split(';')
    return { kind: named(kind), data: one.slice(comma + 1) }
  }
  if (typeof one !== 'object' || one === null) return {}
  const { kind, data } = one as Readonly<Record<string, Json>>
  return { kind: typeof kind === 'string' ? named(kind) : undefined, data: typeof data === 'string' ? data : undefined }
}

function named(kind: string): string {
  const name = kind.toLowerCase()
  return name === WRONG ? RIGHT : name
}
