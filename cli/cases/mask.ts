// Masks secrets and provider ids in a recorded exchange.

import { maskSecrets } from '../../engine/upstream/redact.js'

/** Members that hold ids, of answers, calls, and people. */
const IS_ID = /^(?:id|.*_id|.*Id|system_fingerprint|user|safety_identifier|prompt_cache_key)$/
/** Members that the provider has sealed: long, and useless to others. */
const IS_SEALED = /^(?:signature|encrypted_content|thoughtSignature|thought_signature)$/

/** The value masked; equal ids have equal masks. */
export function masked<Value>(value: Value, secret: string | undefined): Value {
  const masks = new Map<string, string>()
  collect(value, undefined, masks)
  const text = (plain: string): string => {
    const known = masks.get(plain)
    if (known !== undefined) return known
    return maskSecrets(plain, [secret])
  }
  const visit = (item: unknown): unknown => {
    if (typeof item === 'string') return text(item)
    if (Array.isArray(item)) return item.map(visit)
    if (typeof item !== 'object' || item === null) return item
    return Object.fromEntries(Object.entries(item).map(([name, inner]) => [name, visit(inner)]))
  }
  return visit(value) as Value
}

function collect(item: unknown, name: string | undefined, masks: Map<string, string>): void {
  if (typeof item === 'string' && item !== '' && name !== undefined && !masks.has(item)) {
    // The prefix tells the kind of id, and mappings may read it.
    const kind = /^[A-Za-z]{2,10}[-_]/.exec(item)?.[0] ?? 'id-'
    if (IS_ID.test(name)) masks.set(item, `${kind}${masks.size + 1}`)
    else if (IS_SEALED.test(name)) masks.set(item, `sealed-${masks.size + 1}`)
  } else if (Array.isArray(item)) for (const inner of item) collect(inner, name, masks)
  else if (typeof item === 'object' && item !== null) for (const [key, inner] of Object.entries(item)) collect(inner, key, masks)
}
