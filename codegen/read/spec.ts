// The spec of our own YAML, from schemas/config: for each key its description, default, examples and whether it is a
// secret. Types, defaults, documentation and editors use the same files.

import { Ajv2020 } from 'ajv/dist/2020.js'
import { addShorthand } from './ajv.js'

/** A JSON Schema as it is written in schemas/config. */
export type SpecSchema = Record<string, unknown>

/** One key of a file. */
export interface KeySpec {
  /** The names from the root of the file; `*` is any name and `[]` any element of a list. */
  path: readonly string[]
  /** The schema of its value, with references resolved. */
  schema: SpecSchema
  isRequired: boolean
  /** The path of an earlier key with the same members. */
  same?: readonly string[]
}

/**
 * Every key of a grammar, in the order of the file. A definition that several keys share is listed once; the others name
 * the first of them in `same`.
 */
export function keysOf(grammar: SpecSchema): KeySpec[] {
  const keys: KeySpec[] = []
  const followed = new Map<unknown, readonly string[]>()
  /** Where the elements of a list or a map that has no members of its own are listed already: its own path would have no section. */
  const listedBefore = (schema: SpecSchema): readonly string[] | undefined => {
    const item = schema.additionalProperties ?? schema.items
    if (schema.properties !== undefined || typeof item !== 'object' || item === null) return undefined
    return followed.get(membersIn(baseOf(grammar, item)))
  }
  const visit = (schema: SpecSchema, path: readonly string[]): void => {
    for (const [name, item] of Object.entries(membersOf(schema.properties))) {
      const at = [...path, name]
      const resolved = resolve(grammar, item)
      const isRequired = Array.isArray(schema.required) && schema.required.includes(name)
      const base = membersIn(baseOf(grammar, item))
      const same = hasMembers(grammar, resolved) ? followed.get(base) : undefined
      keys.push({ path: at, schema: resolved, isRequired, ...(same && { same }) })
      if (same === undefined) descend(resolved, base, at)
    }
  }
  const descend = (schema: SpecSchema, base: unknown, path: readonly string[]): void => {
    if (!followed.has(base)) followed.set(base, listedBefore(schema) ?? path)
    visit(schema, path)
    for (const [part, name] of [
      ['additionalProperties', '*'],
      ['items', '[]'],
    ] as const) {
      const item = schema[part]
      if (typeof item !== 'object' || item === null) continue
      const inner = membersIn(baseOf(grammar, item))
      if (!followed.has(inner)) descend(resolve(grammar, item), inner, [...path, name])
    }
  }
  descend(grammar, membersIn(grammar), [])
  return keys
}

/** A schema with its reference resolved; keywords beside the reference win. */
export function resolve(grammar: SpecSchema, schema: unknown): SpecSchema {
  const { $ref, ...own } = schema as SpecSchema
  if (typeof $ref !== 'string') return own
  return { ...resolve(grammar, definition(grammar, $ref)), ...own }
}

const fillers = new WeakMap<object, (value: unknown) => void>()

/** A copy of a valid value, with the grammar's defaults for absent keys; a text that is short for an object is that object. */
export function withDefaults(grammar: SpecSchema, value: unknown): unknown {
  let fill = fillers.get(grammar)
  if (fill === undefined) {
    // A rule about several keys may forbid writing a default, so this ajv does not validate.
    const ajv = new Ajv2020({ strict: false, allErrors: true, useDefaults: true, validateSchema: false, code: { optimize: false } })
    addShorthand(ajv)
    fill = ajv.compile(grammar)
    fillers.set(grammar, fill)
  }
  const copy = structuredClone(value)
  fill(copy)
  return copy
}

/** Whether the spec lists keys of a value. */
export function hasMembers(grammar: SpecSchema, schema: SpecSchema): boolean {
  if (schema.properties !== undefined) return true
  return [schema.additionalProperties, schema.items].some(
    item => typeof item === 'object' && item !== null && hasMembers(grammar, resolve(grammar, item)),
  )
}

function baseOf(grammar: SpecSchema, schema: unknown): unknown {
  const { $ref } = schema as SpecSchema
  return typeof $ref === 'string' ? definition(grammar, $ref) : schema
}

/** What tells whether two schemas have the same members: a YAML alias makes them one object. */
function membersIn(schema: unknown): unknown {
  return (schema as SpecSchema).properties ?? schema
}

function definition(grammar: SpecSchema, reference: string): unknown {
  const name = reference.replace('#/$defs/', '')
  const found = membersOf(grammar.$defs)[name]
  if (found === undefined) throw new Error(`${reference} refers to nothing`)
  return found
}

function membersOf(value: unknown): Record<string, unknown> {
  return (value ?? {}) as Record<string, unknown>
}
