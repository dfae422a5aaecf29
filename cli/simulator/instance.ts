// A valid value of a JSON Schema, always the same one: the simulated model uses it for arguments of tools, and for answers
// with a schema. Accepts the standard's types and Google's upper-case ones. It ignores `not`, `if` and keywords about other
// members, so a schema that relies on those may reject the value.

import { isObject } from '../../engine/core/members.js'
import { matching } from './pattern.js'

type Schema = Record<string, unknown>
type Walk = { root: Schema; depth: number; salt: number }

// The depth below which only required members are filled in, so that recursive schemas end; a schema that requires itself
// without end gets a null.
const DEEP = 4
const DEEPEST = 12

/** The salt distinguishes neighbouring values: texts and numbers vary with it if the schema allows. */
export function instance(schema: unknown, salt = 0): unknown {
  return value(schema, { root: isObject(schema) ? schema : {}, depth: 0, salt })
}

function value(given: unknown, walk: Walk): unknown {
  if (!isObject(given)) return 'text'
  if (walk.depth > DEEPEST) return null
  const schema = whole(given, walk.root)
  if ('const' in schema) return schema.const
  for (const chosen of [schema.enum, schema.examples])
    if (Array.isArray(chosen) && chosen.length > 0) return chosen[walk.salt % chosen.length]
  for (const name of ['example', 'default']) if (schema[name] !== undefined && schema[name] !== null) return schema[name]
  const branches = list(schema.anyOf ?? schema.oneOf).filter(isObject)
  if (branches.length > 0) {
    const { anyOf: _, oneOf: __, ...rest } = schema
    return value(merged([rest, chosen(branches, walk)]), walk)
  }
  return typed(schema, walk)
}

function typed(schema: Schema, walk: Walk): unknown {
  switch (kind(schema)) {
    case 'object':
      return members(schema, walk)
    case 'array':
      return elements(schema, walk)
    case 'number':
    case 'integer':
      return number(schema, walk.salt)
    case 'boolean':
      return walk.salt % 2 === 0
    case 'null':
      return null
    default:
      return text(schema, walk.salt)
  }
}

/** The first branch that is not null; deep down the first without further objects, if there is one. */
function chosen(branches: Schema[], walk: Walk): Schema {
  const full = branches.map(branch => whole(branch, walk.root))
  const flat = walk.depth < DEEP ? undefined : full.find(branch => !['object', 'array'].includes(kind(branch)))
  return flat ?? full.find(branch => kind(branch) !== 'null') ?? full[0] ?? {}
}

function members(schema: Schema, walk: Walk): Schema {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = list(schema.required).filter(name => typeof name === 'string')
  const known = Object.keys(properties)
  const filled = walk.depth < DEEP ? [...known, ...required.filter(name => !known.includes(name))] : required
  const named = filled.map((name, index) => [
    name,
    value(properties[name] ?? {}, { ...walk, depth: walk.depth + 1, salt: walk.salt + index }),
  ])
  const most = typeof schema.maxProperties === 'number' ? schema.maxProperties : Number.POSITIVE_INFINITY
  const kept = named.length <= most ? named : named.filter(([name]) => required.includes(String(name)))
  const extra = isObject(schema.additionalProperties) ? schema.additionalProperties : {}
  for (let index = kept.length; index < Number(schema.minProperties ?? 0); index++) {
    kept.push([`member_${index}`, value(extra, { ...walk, depth: walk.depth + 1, salt: index })])
  }
  return Object.fromEntries(kept)
}

function elements(schema: Schema, walk: Walk): unknown[] {
  const first = list(schema.prefixItems)
  const least = Number(schema.minItems ?? 0)
  const most = Number(schema.maxItems ?? Number.POSITIVE_INFINITY)
  const wanted = Math.min(Math.max(least, first.length, walk.depth < DEEP ? 1 : 0), most)
  const items = schema.contains ?? schema.items ?? {}
  return Array.from({ length: wanted }, (_, index) =>
    value(first[index] ?? items, { ...walk, depth: walk.depth + 1, salt: walk.salt + index }),
  )
}

/** The first of some likely numbers within all bounds. */
function number(schema: Schema, salt: number): number {
  const integer = kind(schema) === 'integer'
  const step = numeric(schema.multipleOf) ?? (integer ? 1 : undefined)
  const unit = step ?? 1
  // Older schemas mark an exclusive bound by a boolean beside it.
  const low = numeric(schema.minimum)
  const above = schema.exclusiveMinimum === true ? low : numeric(schema.exclusiveMinimum)
  const high = numeric(schema.maximum)
  const below = schema.exclusiveMaximum === true ? high : numeric(schema.exclusiveMaximum)
  const floor = Math.max(low ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY)
  const ceiling = Math.min(high ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY)
  const next = Math.ceil(floor / unit) * unit
  const last = Math.floor(ceiling / unit) * unit
  const fits = (found: number): boolean =>
    Number.isFinite(found) &&
    found >= floor &&
    found <= ceiling &&
    found !== above &&
    found !== below &&
    (step === undefined || Number.isInteger(found / step)) &&
    (!integer || Number.isInteger(found))
  return [(1 + salt) * unit, next + salt * unit, next, next + unit, last, last - unit, (floor + ceiling) / 2].find(fits) ?? 0
}

function numeric(given: unknown): number | undefined {
  return typeof given === 'number' ? given : undefined
}

const FORMATS: Record<string, (salt: number) => string> = {
  'date-time': salt => `2026-01-01T00:00:${two(salt)}Z`,
  date: salt => `2026-01-${two((salt % 28) + 1)}`,
  time: salt => `12:00:${two(salt)}Z`,
  duration: salt => `PT${salt + 1}S`,
  email: salt => `someone${salt || ''}@example.com`,
  hostname: salt => `host${salt}.example.com`,
  ipv4: salt => `192.0.2.${salt % 256}`,
  ipv6: salt => `2001:db8::${(salt % 65_536).toString(16)}`,
  uri: salt => `https://example.com/${salt || ''}`,
  'uri-reference': salt => `/${salt || ''}`,
  uuid: salt => `00000000-0000-4000-8000-${String(salt).padStart(12, '0')}`,
  byte: () => 'dGV4dA==',
}

function text(schema: Schema, salt: number): string {
  if (typeof schema.pattern === 'string') return matching(schema.pattern, Number(schema.minLength ?? 0))
  const format = typeof schema.format === 'string' ? FORMATS[schema.format] : undefined
  if (format) return format(salt)
  const words = salt === 0 ? 'text' : `text ${salt}`
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : words.length
  return words.padEnd(Number(schema.minLength ?? 0), ' text').slice(0, Math.max(most, Number(schema.minLength ?? 0)))
}

/** A schema with references resolved and `allOf` merged. */
function whole(schema: Schema, root: Schema, followed = 0): Schema {
  if (followed > DEEPEST) return {}
  const { $ref, allOf, ...own } = schema
  const target = typeof $ref === 'string' ? found($ref, root) : undefined
  const inner = [...(isObject(target) ? [target] : []), ...list(allOf).filter(isObject)].map(one => whole(one, root, followed + 1))
  return inner.length === 0 ? own : merged([...inner, own])
}

function merged(schemas: Schema[]): Schema {
  const all = Object.assign({}, ...schemas) as Schema
  const properties = Object.assign({}, ...schemas.map(schema => schema.properties)) as Schema
  const required = [...new Set(schemas.flatMap(schema => list(schema.required)))]
  return { ...all, ...(Object.keys(properties).length > 0 && { properties }), ...(required.length > 0 && { required }) }
}

function found(reference: string, root: Schema): unknown {
  if (!reference.startsWith('#')) return undefined
  const steps = reference.slice(1).split('/').filter(Boolean)
  return steps.reduce<unknown>((at, step) => {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(at) ? at[name] : Array.isArray(at) ? at[Number(name)] : undefined
  }, root)
}

/** The type, or a guess from the other keywords. */
function kind(schema: Schema): string {
  const types = list(Array.isArray(schema.type) ? schema.type : [schema.type])
    .filter(type => typeof type === 'string')
    .map(type => type.toLowerCase())
  const named = types.find(type => type !== 'null') ?? types[0]
  if (named !== undefined) return named
  if ('properties' in schema || 'required' in schema || 'additionalProperties' in schema) return 'object'
  if ('items' in schema || 'prefixItems' in schema) return 'array'
  return 'minimum' in schema || 'maximum' in schema || 'multipleOf' in schema ? 'number' : 'string'
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function two(number: number): string {
  return String(number % 60).padStart(2, '0')
}
