// JSON Schemas of the data: expands our own keywords, resolves references, and derives the compiler's shapes. The
// validators, the types and the test generators use the same expanded schemas.

import { isObject } from '../../engine/core/members.js'
import { elementAt } from '../jsonata/element.js'
import { ANY, ARR, BOOL, FUN, NULL, NUM, OBJ, type Shape, STR, UNDEF, UNKNOWN } from '../jsonata/types.js'
import { nearest } from './suggest.js'

export type Schema = { [keyword: string]: unknown } | boolean

/** The base URI of schemas, for references between them. */
const BASE = 'https://sluice/schemas/'

export function schemaId(dialect: string, part: string): string {
  return `${BASE}${dialect}/${part}`
}

/** The id of the loose variant of a schema, which checks no values; references within it are the same. */
export function looseId(dialect: string, part: string): string {
  return `${LOOSE}${dialect}/${part}`
}

const LOOSE = 'https://sluice/loose/'

/** A schema in a document, and the id of that document, from which its references start. */
export interface Subschema<Form = Schema> {
  schema: Form
  base: string
}

export interface Union {
  by: string
  of: Record<string, Schema>
  other?: 'open' | 'closed'
  default?: string
}

/** Keywords with schemas by name, with one schema, with a list of them, and with data. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])
const WITH_ONE: ReadonlySet<string> = new Set([
  ...['additionalProperties', 'contains', 'contentSchema', 'else', 'if', 'items', 'not', 'propertyNames', 'then'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
])
const WITH_LIST: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'enum_numbers', 'examples', 'default'])

/** Says what a union with its already expanded branches becomes, beside the type and the tag. */
type UnionForm = (union: Union, branches: Readonly<Record<string, Schema>>) => Record<string, unknown>

/** Expands our own keywords to JSON Schema. `union` becomes if/then, so that an error names the branch it is in. */
export function expand(schema: Schema, form: UnionForm = asConditions): Schema {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(item => expand(item as Schema, form)) as unknown as Schema
  const result: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'union') continue
    if (DATA.has(keyword)) result[keyword] = value
    else if (BY_NAME.has(keyword) && typeof value === 'object' && value !== null) result[keyword] = expandEach(value, form)
    else result[keyword] = expand(value as Schema, form)
  }
  const union = (schema as { union?: Union }).union
  if (union) Object.assign(result, unionKeywords(union, result, form))
  return result
}

function expandEach(map: object, form: UnionForm): Record<string, Schema> {
  return Object.fromEntries(Object.entries(map).map(([name, item]) => [name, expand(item as Schema, form)]))
}

type Place = (string | number)[]

/**
 * Every schema inside a schema that is a mapping, itself included, with its pointer. `misplaced` gets what stands where
 * a schema, or a list or a mapping of schemas, is expected.
 */
export function everySchema(
  schema: unknown,
  pointer: Place,
  each: (schema: Record<string, unknown>, pointer: Place) => void,
  misplaced: (pointer: Place, detail: string) => void = () => undefined,
): void {
  if (typeof schema === 'boolean') return
  if (!isObject(schema)) {
    misplaced(pointer, 'a schema is a mapping of keywords, or true or false')
    return
  }
  each(schema, pointer)
  const visit = (inner: unknown, place: Place): void => everySchema(inner, place, each, misplaced)
  const visitByName = (map: unknown, place: Place): void => {
    if (!isObject(map)) misplaced(place, `${place.at(-1)} is a mapping of names to schemas`)
    else for (const [name, item] of Object.entries(map)) visit(item, [...place, name])
  }
  for (const [keyword, value] of Object.entries(schema)) {
    const place = [...pointer, keyword]
    if (keyword === 'union') {
      if (isObject(value)) visitByName(value.of, [...place, 'of'])
    } else if (BY_NAME.has(keyword)) visitByName(value, place)
    else if (WITH_ONE.has(keyword)) visit(value, place)
    else if (WITH_LIST.has(keyword)) {
      if (Array.isArray(value)) value.forEach((item, index) => void visit(item, [...place, index]))
      else misplaced(place, `${keyword} is a list of schemas`)
    }
  }
}

/** The allowed keywords: JSON Schema 2020-12, our own, and the sources of its facts. */
const KEYWORDS: ReadonlySet<string> = new Set(
  `$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary additionalProperties allOf also anyOf const contains
  contentEncoding contentMediaType contentSchema default dependentRequired dependentSchemas deprecated description else enum enum_numbers examples
  exclusiveMaximum exclusiveMinimum format if items kind_by_member max_base64_bytes maxContains maxItems maxLength maxProperties maximum minContains
  minItems minLength minProperties minimum multipleOf not oneOf pattern patternProperties prefixItems properties propertyNames readOnly
  required source then title type unevaluatedItems unevaluatedProperties union uniqueItems writeOnly`
    .trim()
    .split(/\s+/),
)

/** Formats, which describe a value and are not checked. */
const FORMATS: ReadonlySet<string> = new Set(
  `binary byte date date-time double duration email float hostname http-date idn-email idn-hostname int32 int64 ipv4 ipv6 iri iri-reference
  json-pointer password regex relative-json-pointer time uri uri-reference uri-template uuid unixtime`
    .trim()
    .split(/\s+/),
)

/** Keywords with invalid values: each with its pointer and what is wrong. */
export function wrongKeywords(schema: unknown): { pointer: Place; detail: string }[] {
  const found: { pointer: Place; detail: string }[] = []
  const misplaced = (pointer: Place, detail: string): void => void found.push({ pointer, detail })
  const check = (item: Record<string, unknown>, pointer: Place): void => {
    const { type, pattern, union, kind_by_member: kinds } = item
    // The usual cause is an unquoted description with a comma inside braces.
    for (const name of Object.keys(item))
      if (!KEYWORDS.has(name)) {
        const near = nearest([...KEYWORDS], name)
        const hint = near === undefined ? 'does a text want quotes?' : `did you mean ${near}?`
        found.push({ pointer: [...pointer, name], detail: `${name} is not a keyword (${hint})` })
      }
    for (const name of type === undefined ? [] : [type].flat())
      if (typeof name !== 'string' || !Object.hasOwn(TYPES, name))
        found.push({ pointer: [...pointer, 'type'], detail: `${String(name)} is not a type` })
    if (pattern !== undefined) {
      try {
        new RegExp(String(pattern), 'u')
      } catch (error) {
        found.push({ pointer: [...pointer, 'pattern'], detail: (error as Error).message })
      }
    }
    if (typeof item.format === 'string' && !FORMATS.has(item.format))
      found.push({ pointer: [...pointer, 'format'], detail: `${item.format} is not a format of JSON Schema or OpenAPI` })
    if (kinds !== undefined && kinds !== 'each' && !(Array.isArray(kinds) && kinds.every(name => typeof name === 'string')))
      found.push({ pointer: [...pointer, 'kind_by_member'], detail: 'the value is neither `each` nor a list of members' })
    if (union !== undefined) {
      const { by, of } = Object(union) as Partial<Union>
      if (typeof by !== 'string' || !isObject(union) || of === undefined)
        found.push({
          pointer: [...pointer, 'union'],
          detail: 'a union has `by`, the name of a member, and `of`, a schema for each of its values',
        })
    }
  }
  everySchema(schema, [], check, misplaced)
  return found
}

function unionKeywords(union: Union, known: Record<string, unknown>, form: UnionForm): Record<string, unknown> {
  const { by, of, other } = union
  const tag = other === 'open' ? { type: 'string' } : { type: 'string', enum: Object.keys(of) }
  const { allOf, ...keywords } = form(union, expandEach(of, form))
  const all = [...((known.allOf as unknown[] | undefined) ?? []), ...((allOf as unknown[] | undefined) ?? [])]
  return {
    type: 'object',
    ...(union.default === undefined && { required: [...new Set([...((known.required as string[] | undefined) ?? []), by])] }),
    properties: {
      ...(known.properties as object | undefined),
      [by]: { ...tag, ...(known.properties as Record<string, object> | undefined)?.[by] },
    },
    ...keywords,
    ...(all.length > 0 && { allOf: all }),
  }
}

const asConditions: UnionForm = ({ by, default: usual }, branches) => ({
  allOf: Object.entries(branches).map(([name, branch]) => {
    const is = { properties: { [by]: { const: name } } }
    const test = usual === name ? { anyOf: [{ not: { required: [by] } }, is] } : { ...is, required: [by] }
    return { if: test, then: branch }
  }),
})

/** For validators, which look at the tag once: the keywords `tag` and `tagged`. */
export const asTagged: UnionForm = ({ by, default: usual }, branches) => ({ tag: { by, default: usual }, tagged: branches })

/** Every schema of every dialect, by id. */
export type SchemaSet = ReadonlyMap<string, Schema>

/** The loose variants of schemas: only types and required members. Optional members may be null. */
export function loosened(set: SchemaSet): Map<string, Schema> {
  return new Map([...set].map(([id, schema]) => [id.replace(BASE, LOOSE), loose(schema)]))
}

/** Keywords that stay, those with one schema, and those with a list of schemas. */
const KEPT: ReadonlySet<string> = new Set(['$ref', 'type', 'required', 'if'])
const ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'then', 'else'])
const SOME: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])

function loose(schema: Schema): Schema {
  if (typeof schema !== 'object' || schema === null) return true
  const result: Record<string, unknown> = {}
  const { union } = schema as { union?: Union }
  for (const [keyword, value] of Object.entries(schema)) {
    if (KEPT.has(keyword)) result[keyword] = value
    // Without their values branches may overlap.
    else if (SOME.has(keyword)) result[keyword === 'oneOf' ? 'anyOf' : keyword] = (value as Schema[]).map(loose)
    else if (ONE.has(keyword)) {
      if (typeof value === 'object') result[keyword] = loose(value as Schema)
    } else if (keyword === '$defs') result[keyword] = mapped(value as Record<string, Schema>, loose)
    else if (keyword === 'properties') {
      const required = new Set([...((schema.required as string[] | undefined) ?? []), ...(union && !union.default ? [union.by] : [])])
      result[keyword] = mapped(value as Record<string, Schema>, (item, name) => (required.has(name) ? loose(item) : nullable(loose(item))))
    } else if (keyword === 'union') result[keyword] = { ...(value as Union), of: mapped((value as Union).of, loose), other: 'open' }
  }
  const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const] : undefined
  if (values && result.type === undefined) result.type = [...new Set(values.map(typeName))]
  // Where words are also written as numbers, a number that the schema does not know is one that the provider may know.
  const also = schema.also ?? (schema.enum_numbers === undefined ? undefined : 'integer')
  if (also !== undefined) result.type = [result.type, also].flat()
  return result
}

function nullable(schema: Schema): Schema {
  if (typeof schema !== 'object' || Object.keys(schema).length === 0) return schema
  const { type } = schema
  const isPlain = type !== undefined && !['$ref', 'anyOf', 'allOf', 'union', 'if'].some(keyword => keyword in schema)
  if (!isPlain) return { anyOf: [schema, { type: 'null' }] }
  return [type].flat().includes('null') ? schema : { ...schema, nullable: true }
}

function mapped(all: Record<string, Schema>, change: (schema: Schema, name: string) => Schema): Record<string, Schema> {
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, change(schema, name)]))
}

function typeName(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

export function resolveReference(set: SchemaSet, reference: string, base: string): Subschema | undefined {
  let url: URL
  let pointer: string
  try {
    url = new URL(reference, base)
    pointer = decodeURIComponent(url.hash.slice(1))
  } catch {
    return undefined
  }
  const file = `${url.origin}${url.pathname}`
  const found = set.get(file)
  if (found === undefined) return undefined
  let schema: unknown = found
  for (const part of pointer.split('/').slice(1)) {
    schema = (schema as Record<string, unknown> | undefined)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
    if (schema === undefined) return undefined
  }
  return { schema: schema as Schema, base: file }
}

const references = new WeakMap<SchemaSet, Map<string, ReadonlySet<string>>>()

/** The ids of a schema and of all schemas that it refers to, directly or indirectly. */
export function closureOf(set: SchemaSet, id: string): ReadonlySet<string> {
  let known = references.get(set)
  if (known === undefined) references.set(set, (known = new Map()))
  const found = new Set([id])
  for (const next of found) {
    let direct = known.get(next)
    if (direct === undefined) known.set(next, (direct = referredTo(set, next)))
    for (const other of direct) found.add(other)
  }
  return found
}

function referredTo(set: SchemaSet, id: string): ReadonlySet<string> {
  const found = new Set<string>()
  everySchema(set.get(id), [], ({ $ref: reference }) => {
    const base = typeof reference === 'string' ? resolveReference(set, reference, id)?.base : undefined
    if (base !== undefined) found.add(base)
  })
  return found
}

/** Keywords whose schemas apply to the value itself. */
const IN_PLACE = ['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'] as const

/** The schemas that apply to the same value as a schema. */
function besides(set: SchemaSet, { schema, base }: Subschema<unknown>): Subschema<unknown>[] {
  if (!isObject(schema)) return []
  const target = typeof schema.$ref === 'string' ? resolveReference(set, schema.$ref, base) : undefined
  const branches = [...Object.values(Object(Object(schema.union).of)), ...Object.values(Object(schema.dependentSchemas))]
  const own = [...IN_PLACE.flatMap(keyword => schema[keyword] ?? []), ...branches]
  return [...own.map(item => ({ schema: item, base })), ...(target ? [target] : [])]
}

/** References that lead back to themselves without a step into the value, so that checking one value never ends. */
export function circularReferences(set: SchemaSet, id: string): { pointer: Place; reference: string }[] {
  const found: { pointer: Place; reference: string }[] = []
  everySchema(set.get(id), [], (schema, pointer) => {
    if (typeof schema.$ref !== 'string') return
    const reached = new Map<unknown, Subschema<unknown>>()
    const reach = (from: Subschema<unknown>): void => {
      for (const next of besides(set, from)) if (!reached.has(next.schema)) reached.set(next.schema, next)
    }
    reach({ schema, base: id })
    for (const next of reached.values()) reach(next)
    if (reached.has(schema)) found.push({ pointer: [...pointer, '$ref'], reference: schema.$ref })
  })
  return found
}

/** Broken references: each with its pointer. */
export function danglingReferences(set: SchemaSet, id: string): { pointer: Place; reference: string }[] {
  const found: { pointer: Place; reference: string }[] = []
  everySchema(set.get(id), [], ({ $ref: reference }, pointer) => {
    if (typeof reference === 'string' && !resolveReference(set, reference, id)) found.push({ pointer: [...pointer, '$ref'], reference })
  })
  return found
}

const TYPES: Readonly<Record<string, number>> = {
  string: STR,
  number: NUM,
  integer: NUM,
  boolean: BOOL,
  null: NULL,
  array: ARR,
  object: OBJ,
}
const JSON_VALUE = ANY & ~UNDEF & ~FUN

/** The types that a schema names, as bits; undefined if it names none. */
export function bitsOfType({ type, nullable, enum: values, ...rest }: Exclude<Schema, boolean>): number | undefined {
  const all = type === undefined ? (Array.isArray(values) ? values : 'const' in rest ? [rest.const] : undefined) : undefined
  if (type === undefined && all === undefined) return undefined
  const bits = all
    ? all.reduce((sum: number, item) => sum | bitOf(item), 0)
    : [type].flat().reduce((sum: number, name) => sum | (TYPES[String(name)] ?? 0), 0)
  return bits | (nullable === true ? NULL : 0)
}

/** The compiler's shape of the values that a schema accepts. Recursive schemas give recursive shapes. */
export function shapeOf(set: SchemaSet, id: string): Shape {
  const known = new Map<unknown, Shape>()
  // Shapes that do not have all of their members yet: a recursive schema leads back to them.
  const unfinished = new Set<Shape>()
  const shape = (schema: Schema | undefined, base: string): Shape => {
    if (schema === undefined || schema === true) return { bits: JSON_VALUE }
    if (schema === false) return { bits: UNDEF }
    const done = known.get(schema)
    if (done) return done
    const result: Shape = { bits: JSON_VALUE }
    known.set(schema, result)
    unfinished.add(result)
    fill(result, schema, base)
    unfinished.delete(result)
    return result
  }
  const narrow = (result: Shape, other: Shape): void => {
    result.bits &= other.bits
    if (other.items && !result.items) result.items = other.items
    if (other.values && !result.values) result.values = other.values
    if (other.members) result.members = new Map([...(result.members ?? []), ...other.members])
    if (other.branches) Object.assign(result, { by: other.by, branches: other.branches })
    if (other.isNamed && !unfinished.has(other)) result.isNamed = true
    if (other.alternatives) result.alternatives = other.alternatives
  }
  const fill = (result: Shape, schema: Exclude<Schema, boolean>, base: string): void => {
    if (typeof schema.$ref === 'string') {
      const target = resolveReference(set, schema.$ref, base)
      if (target) narrow(result, shape(target.schema, target.base))
    }
    const { type } = schema
    if (typeof type === 'string') result.bits &= TYPES[type] ?? JSON_VALUE
    else if (Array.isArray(type)) result.bits &= type.reduce((sum: number, name: string) => sum | (TYPES[name] ?? 0), 0)
    if (schema.nullable === true) result.bits |= NULL
    if (Array.isArray(schema.enum)) {
      result.bits &= schema.enum.reduce((sum: number, item) => sum | bitOf(item), 0)
      if (schema.enum.every(item => typeof item === 'string')) result.values = schema.enum
    }
    if ('const' in schema) {
      result.bits &= bitOf(schema.const)
      if (typeof schema.const === 'string') result.values = [schema.const]
    }
    const required = new Set((schema.required as string[] | undefined) ?? [])
    if (schema.properties) {
      if (type === undefined && !schema.$ref) result.bits &= JSON_VALUE
      result.members ??= new Map()
      result.isNamed = true
      for (const [name, item] of Object.entries(schema.properties as Record<string, Schema>)) {
        const found = shape(item, base)
        result.members.set(name, required.has(name) ? found : optional(found))
      }
    } else if (required.size > 0 && result.members) {
      for (const name of required) {
        const found = result.members.get(name)
        if (found) result.members.set(name, { ...found, bits: found.bits & ~UNDEF })
      }
    }
    // With an explicit `additionalProperties: true` other members may be read.
    if (schema.additionalProperties === true) result.rest = UNKNOWN
    if (typeof schema.additionalProperties === 'object') result.rest = optional(shape(schema.additionalProperties as Schema, base))
    if (schema.items !== undefined && !Array.isArray(schema.items)) result.items = shape(schema.items as Schema, base)
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const list = schema[keyword] as Schema[] | undefined
      if (list === undefined) continue
      const shapes = list.map(item => shape(item, base))
      narrow(result, either(shapes))
      // Beside members of its own, a choice only says more of them.
      if (!schema.properties && !schema.$ref) result.alternatives = shapes
    }
    for (const item of (schema.allOf as Schema[] | undefined) ?? []) {
      if (typeof item === 'object' && !('if' in item)) narrow(result, shape(item, base))
    }
    const { union } = schema as { union?: Union }
    if (union) {
      result.bits &= OBJ
      const entries = Object.entries(union.of).map(([name, item]) => [name, shape(item, base)] as const)
      const whole = either(
        entries.map(([, item]) => item),
        union.other === 'open',
      )
      whole.members ??= new Map()
      const tag: Shape = { bits: STR, ...(union.other !== 'open' && { values: Object.keys(union.of) }) }
      whole.members.set(union.by, union.default === undefined ? tag : optional(tag))
      result.members = new Map([...whole.members, ...(result.members ?? [])])
      result.by = union.by
      // A member of only one branch is not listed for the union.
      result.isNamed = false
      result.branches = new Map(entries)
    }
  }
  return shape(set.get(id), id)
}

function bitOf(value: unknown): number {
  if (value === null) return NULL
  if (Array.isArray(value)) return ARR
  return TYPES[typeof value] ?? OBJ
}

function optional(shape: Shape): Shape {
  // The shape may still be under construction, so the copy reads it lazily.
  return new Proxy(shape, {
    get: (target, name) => (name === 'bits' ? target.bits | UNDEF : Reflect.get(target, name)),
  })
}

/** The values of an enumeration are known only if every shape lists its own. */
function withValues(shape: Shape, shapes: readonly Shape[]): Shape {
  const { values: _values, ...rest } = shape
  const all = shapes.map(item => item.values)
  return all.every(values => values !== undefined) ? { ...rest, values: [...new Set(all.flat())] } : rest
}

/** The shape of a value that has one of several shapes. */
function either(shapes: Shape[], isOpen = false): Shape {
  const result: Shape = { bits: isOpen ? OBJ : 0 }
  for (const shape of shapes) result.bits |= shape.bits
  const objects = shapes.filter(shape => (shape.bits & OBJ) !== 0)
  const names = new Set(objects.flatMap(shape => [...(shape.members?.keys() ?? [])]))
  if (names.size > 0) {
    result.members = new Map()
    for (const name of names) {
      const found = objects.map(shape => shape.members?.get(name))
      const present = found.filter(item => item !== undefined)
      const isUnknown = isOpen || present.length < found.length
      const first = elementAt(present, 0)
      // Only facts on which all branches agree are known.
      const same = present.every(
        item =>
          item.members === first.members && item.items === first.items && item.rest === first.rest && item.branches === first.branches,
      )
      const bits = present.reduce((sum, item) => sum | item.bits, 0)
      result.members.set(name, isUnknown ? { bits: ANY & ~FUN } : same ? withValues({ ...first, bits }, present) : { bits })
    }
  }
  const lists = shapes.filter(shape => (shape.bits & ARR) !== 0)
  if (lists.length === 1 && lists[0]?.items) result.items = lists[0].items
  return result
}

/** A camel-case name in snake case. */
export const snakeOf = (name: string): string => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
