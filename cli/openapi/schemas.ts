// The schemas of the data as components of an OpenAPI document: our own keywords become JSON Schema, and references between
// files become references between components.

import type { Schema, SchemaSet, Union } from '../../codegen/read/schemas.js'

/** Keywords that only the compiler and the validators use. `source` is for the authors of the data. */
const OURS: ReadonlySet<string> = new Set([
  'source',
  'also',
  'enum_numbers',
  'kind_by_member',
  'max_base64_bytes',
  'union',
  '$schema',
  '$id',
])
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'examples', 'default', 'required', 'type'])

/** `https://…/schemas/chat/request` as the component `chat.request`. */
function componentOf(id: string): string {
  return id.split('/').slice(-2).join('.')
}

/** All schemas of the data, by component name. */
export function componentsOf(set: SchemaSet): Record<string, unknown> {
  return Object.fromEntries(
    [...set].map(([id, schema]) => [componentOf(id), shown(schema, id)]).sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
  )
}

export function referenceTo(id: string): { $ref: string } {
  return { $ref: `#/components/schemas/${componentOf(id)}` }
}

function shown(schema: Schema, base: string): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(item => shown(item as Schema, base))
  const result: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (OURS.has(keyword)) continue
    if (keyword === '$ref') result.$ref = rewritten(value as string, base)
    else if (DATA.has(keyword)) result[keyword] = value
    else if (BY_NAME.has(keyword) && typeof value === 'object' && value !== null)
      result[keyword] = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shown(item as Schema, base)]))
    else result[keyword] = shown(value as Schema, base)
  }
  const { union } = schema as { union?: Union }
  return union === undefined ? result : { ...result, ...branches(union, base, result) }
}

function rewritten(reference: string, base: string): string {
  const url = new URL(reference, base)
  return `#/components/schemas/${componentOf(`${url.origin}${url.pathname}`)}${url.hash.slice(1)}`
}

/** A union as branches of which exactly one matches, each with its value of the discriminator. */
function branches({ by, of, other, default: usual }: Union, base: string, known: Record<string, unknown>): Record<string, unknown> {
  const named = Object.entries(of).map(([name, schema]) => ({
    title: name,
    allOf: [shown(schema, base)],
    properties: { [by]: { const: name } },
    ...(usual !== name && { required: [by] }),
  }))
  const rest = { title: `another ${by}`, properties: { [by]: { type: 'string', not: { enum: Object.keys(of) } } }, required: [by] }
  const fits = { anyOf: other === 'open' ? [...named, rest] : named }
  return { type: 'object', ...(known.anyOf === undefined ? fits : { allOf: [...((known.allOf as unknown[]) ?? []), fits] }) }
}

/** Whether a schema describes a file in a form: an object with name, type and bytes. */
export function isFile(schema: unknown): boolean {
  const { properties } = Object(schema) as { properties?: Record<string, unknown> }
  return properties !== undefined && 'filename' in properties && 'data' in properties
}
