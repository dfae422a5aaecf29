// What two grammars share is a definition of one of them, to which the other refers by the name of its file. Validators, defaults
// and pages look at one grammar alone, so each gets the definitions that it refers to.

import type { Schema } from './schemas.js'

const ELSEWHERE = /^([a-z_]+)\.yaml#\/\$defs\/([a-z_]+)$/
const HERE = '#/$defs/'

/** A grammar, with the definitions of others that it refers to among its own. */
export function withShared(grammar: Schema, grammarOf: (name: string) => Schema | undefined): Schema {
  const taken: Record<string, unknown> = {}
  /** Copies by what they are made of: what an alias of YAML makes one object stays one. */
  const copies = new Map<unknown, unknown>()

  const take = (file: string, name: string): string => {
    const key = `${file}_${name}`
    if (taken[key] === undefined) {
      const found = definitionsOf(grammarOf(file))[name]
      if (found === undefined) throw new Error(`${file}.yaml${HERE}${name} refers to nothing`)
      taken[key] = {}
      taken[key] = copied(found, file)
    }
    return `${HERE}${key}`
  }
  const referred = (reference: string, file: string | undefined): string => {
    const [, other, name] = ELSEWHERE.exec(reference) ?? []
    if (other !== undefined && name !== undefined) return take(other, name)
    return file === undefined ? reference : take(file, reference.slice(HERE.length))
  }
  const copied = (value: unknown, file: string | undefined): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const known = copies.get(value)
    if (known !== undefined) return known
    const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : {}
    copies.set(value, copy)
    for (const [key, part] of Object.entries(value)) {
      const own = key === '$ref' && typeof part === 'string' ? referred(part, file) : copied(part, file)
      Object.assign(copy, { [key]: own })
    }
    return copy
  }

  const whole = copied(grammar, undefined) as Schema
  return Object.keys(taken).length === 0 ? grammar : ({ ...(whole as object), $defs: { ...definitionsOf(whole), ...taken } } as Schema)
}

function definitionsOf(grammar: Schema | undefined): Record<string, unknown> {
  return (grammar as { $defs?: Record<string, unknown> } | undefined)?.$defs ?? {}
}
