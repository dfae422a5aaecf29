// Takes out of a recorded exchange what is nobody else's: secrets, and ids of a provider's own.

import { maskKeys } from '../../engine/upstream/redact.js'

/** Members whose texts are ids. */
const IS_ID = /^(?:id|.*_id|.*Id|system_fingerprint)$/
/** Members whose texts are sealed by the provider: long, and of use to nobody else. */
const IS_SEALED = /^(?:signature|encrypted_content|thoughtSignature|thought_signature)$/

/** The same value; an id has the same mask wherever it stands. */
export function masked<Value>(value: Value, secret: string | undefined): Value {
  const masks = new Map<string, string>()
  collect(value, undefined, masks)
  const text = (plain: string): string => {
    const known = masks.get(plain)
    if (known !== undefined) return known
    return maskKeys(secret === undefined || secret === '' ? plain : plain.replaceAll(secret, '***'))
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
    // What kind of id it is stands in its beginning, and mappings may look at that.
    const kind = /^[A-Za-z]{2,10}[-_]/.exec(item)?.[0] ?? 'id-'
    if (IS_ID.test(name)) masks.set(item, `${kind}${masks.size + 1}`)
    else if (IS_SEALED.test(name)) masks.set(item, `sealed-${masks.size + 1}`)
  } else if (Array.isArray(item)) for (const inner of item) collect(inner, name, masks)
  else if (typeof item === 'object' && item !== null) for (const [key, inner] of Object.entries(item)) collect(inner, key, masks)
}
