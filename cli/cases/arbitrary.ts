// Random values of a JSON Schema, as fast-check arbitraries: what the validators accept and nothing else, without trial
// and error, so that shrinking keeps them valid. A schema is taken apart into alternatives (a branch of each union and
// anyOf, references followed, allOf merged); each alternative is then made member by member.

import fc from 'fast-check'
import { resolveReference, type Schema, type SchemaSet, type Subschema, type Union } from '../../codegen/read/schemas.js'
import { jsonSchema, jsonValue, keyed, mostly, stringFor } from './words.js'

type Type = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

interface List {
  prefix: readonly Subschema[]
  items?: Subschema
}

/** What a value has to be, without references and choices. */
interface Flat {
  types: ReadonlySet<Type>
  values?: readonly unknown[]
  members: ReadonlyMap<string, readonly Subschema[]>
  required: ReadonlySet<string>
  absent: ReadonlySet<string>
  /** The only members that there may be. */
  allowed?: ReadonlySet<string>
  rest: readonly Subschema[]
  names: readonly Subschema[]
  lists: readonly List[]
  examples: readonly unknown[]
  patterns: readonly string[]
  bounds: Readonly<Partial<Record<Bound, number>>>
  /** How much likelier than others. */
  weight: number
}

const LEAST = ['minimum', 'minLength', 'minItems', 'minProperties'] as const
const MOST = ['maximum', 'maxLength', 'maxItems', 'maxProperties', 'max_base64_bytes'] as const
type Bound = (typeof LEAST)[number] | (typeof MOST)[number]

/** Keywords that say nothing of a value. A keyword that is not known here at all is an error: it would be ignored. */
const TALK = new Set([
  ...['title', 'description', 'source', 'default', 'deprecated', '$schema', '$defs', '$comment', 'expression', 'refers'],
  ...['contentEncoding', 'enum_numbers', 'also', 'kind_by_member'],
])
const MEANT = new Set<string>([
  ...LEAST,
  ...MOST,
  ...[
    'exclusiveMinimum',
    'exclusiveMaximum',
    'type',
    'enum',
    'const',
    'examples',
    'pattern',
    'properties',
    'required',
    'additionalProperties',
    'propertyNames',
  ],
  ...['items', 'prefixItems', '$ref', 'allOf', 'anyOf', 'oneOf', 'union'],
])

const TYPES: readonly Type[] = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']
const ANYTHING: Flat = {
  types: new Set(TYPES),
  members: new Map(),
  required: new Set(),
  absent: new Set(),
  rest: [],
  names: [],
  lists: [],
  examples: [],
  patterns: [],
  bounds: {},
  weight: 1,
}

export interface Options {
  /** Words that an open union does not know, and members that no schema names. Default true. */
  strange?: boolean
}

export interface Arbitraries {
  /** Values that all of these schemas accept. */
  of(...subschemas: Subschema[]): fc.Arbitrary<unknown>
}

export function arbitraries(set: SchemaSet, options: Options = {}): Arbitraries {
  const isStrange = options.strange !== false
  const numbers = new WeakMap<object, number>()
  let count = 0
  const numberOf = ({ schema }: Subschema): string => {
    if (typeof schema === 'boolean') return String(schema)
    if (!numbers.has(schema)) numbers.set(schema, count++)
    return String(numbers.get(schema))
  }
  const keyOf = (subschemas: readonly Subschema[]): string => [...new Set(subschemas.map(numberOf))].join('&')

  const flats = new Map<string, readonly Flat[]>()
  const alternatives = (subschemas: readonly Subschema[]): readonly Flat[] => {
    const key = keyOf(subschemas)
    let found = flats.get(key)
    if (found === undefined) {
      found = subschemas.map(alternativesOf).reduce(both, [ANYTHING]).filter(isPossible)
      flats.set(key, found)
    }
    return found
  }
  /** Whether there is a value at all: two schemas of one member may contradict each other. */
  const isPossible = (flat: Flat): boolean =>
    flat.types.size > 0 &&
    (flat.values === undefined || flat.values.length > 0) &&
    [...flat.required].every(
      name =>
        !flat.absent.has(name) &&
        (flat.allowed?.has(name) ?? true) &&
        ((flat.members.get(name)?.length ?? 0) < 2 || alternatives(flat.members.get(name) ?? []).length > 0),
    )

  const alternativesOf = ({ schema, base }: Subschema): readonly Flat[] => {
    if (schema === true) return [ANYTHING]
    if (schema === false) return []
    for (const keyword of Object.keys(schema))
      if (!TALK.has(keyword) && !MEANT.has(keyword)) throw new Error(`cli/cases/arbitrary.ts does not know the keyword ${keyword}`)
    const at = (item: unknown): Subschema => ({ schema: item as Schema, base })
    let result: readonly Flat[] = [ownOf(schema, at)]
    if (typeof schema.$ref === 'string') {
      const target = resolveReference(set, schema.$ref, base)
      if (target === undefined) throw new Error(`${schema.$ref} leads nowhere from ${base}`)
      result = both(result, alternativesOf(target))
    }
    for (const item of (schema.allOf as unknown[] | undefined) ?? []) result = both(result, alternativesOf(at(item)))
    if (Array.isArray(schema.oneOf)) result = both(result, exclusive(schema.oneOf.map(item => alternativesOf(at(item)))))
    if (Array.isArray(schema.anyOf))
      result = both(
        result,
        schema.anyOf.flatMap(item => alternativesOf(at(item))),
      )
    const { union } = schema as { union?: Union }
    if (union) result = both(result, branchesOf(union, at, schema))
    return result
  }

  const branchesOf = (union: Union, at: (item: unknown) => Subschema, schema: Exclude<Schema, boolean>): readonly Flat[] => {
    const { by, of } = union
    const known = Object.keys(of)
    const tagged = (tag: unknown, isRequired: boolean): Flat => ({
      ...ANYTHING,
      types: new Set(['object']),
      members: new Map([[by, [at(tag)]]]),
      required: new Set(isRequired ? [by] : []),
    })
    const branches = known.flatMap(name =>
      both([tagged({ const: name }, true)], alternativesOf(at(of[name]))).map(flat => ({ ...flat, weight: flat.weight * 8 })),
    )
    if (union.default !== undefined) {
      const untagged: Flat = { ...ANYTHING, types: new Set(['object']), absent: new Set([by]) }
      branches.push(...both([untagged], alternativesOf(at(of[union.default]))).map(flat => ({ ...flat, weight: flat.weight * 8 })))
    }
    if (union.other === 'open' && isStrange)
      branches.push(tagged({ enum: ['of_tomorrow', 'x'].filter(word => !known.includes(word)) }, true))
    // Declared so beside the union, the member may be null: that is as good as absent.
    const declared = (schema.properties as Record<string, Schema> | undefined)?.[by]
    if (declared !== undefined && union.default !== undefined)
      branches.push(...both([tagged({ type: 'null' }, true)], alternativesOf(at(of[union.default]))))
    return branches
  }

  const built = new Map<string, fc.Arbitrary<unknown>>()
  const build = (subschemas: readonly Subschema[], depth: number, hint: string): fc.Arbitrary<unknown> => {
    const key = `${keyOf(subschemas)} ${depth} ${hint}`
    let found = built.get(key)
    if (found === undefined) {
      const choices = alternatives(subschemas).flatMap(flat => choicesOf(flat, depth, hint))
      if (choices.length === 0) throw new Error(`nothing satisfies ${JSON.stringify(subschemas)}`)
      // Deep down only what ends soon.
      const ending = depth > DEEPEST ? choices.filter(({ ends }) => ends) : choices
      found = weighted(ending.length > 0 ? ending : choices)
      built.set(key, found)
    }
    return found
  }

  const choicesOf = (flat: Flat, depth: number, hint: string): Choice[] => {
    const { weight, bounds } = flat
    if (flat.values !== undefined) return [{ arbitrary: fc.constantFrom(...flat.values), weight: weight * 4, ends: true }]
    const isAny = flat.types.size === TYPES.length && flat.members.size === 0 && flat.required.size === 0 && flat.lists.length === 0
    if (isAny) return [{ arbitrary: jsonValue, weight: weight * 4, ends: true }]
    const choices: Choice[] = []
    const add = (type: Type, times: number, ends: boolean, make: () => fc.Arbitrary<unknown>): void => {
      if (flat.types.has(type)) choices.push({ arbitrary: make(), weight: weight * times, ends })
    }
    add('boolean', 4, true, () => fc.boolean())
    if (!flat.types.has('number')) add('integer', 4, true, () => integerIn(bounds))
    add('number', 4, true, () => numberIn(bounds))
    add('string', 4, true, () => stringFor({ hint, examples: flat.examples, patterns: flat.patterns, bounds }))
    if (depth <= DEEPEST + 4) {
      add('array', 6, false, () => listOf(flat, depth))
      add('object', 6, false, () => objectOf(flat, depth, hint))
    } else if (choices.length === 0 && !flat.types.has('null')) {
      throw new Error('a schema requires infinite values')
    }
    // Last: shrinking goes to the first, and null hides much.
    add('null', 1, true, () => fc.constant(null))
    return choices
  }

  const listOf = ({ lists, bounds }: Flat, depth: number): fc.Arbitrary<unknown> => {
    const at = (index: number): Subschema[] => lists.flatMap(({ prefix, items }) => prefix[index] ?? (items === undefined ? [] : [items]))
    const ahead = Math.max(0, ...lists.map(({ prefix }) => prefix.length))
    const least = bounds.minItems ?? 0
    const most = Math.min(bounds.maxItems ?? Number.POSITIVE_INFINITY, Math.max(least, depth > DEEPEST ? 0 : depth < 2 ? 7 : 4))
    const element = (index: number): fc.Arbitrary<unknown> => build(at(index), depth + 1, '')
    if (most === 0) return fc.constant([])
    const tail = fc.array(element(ahead), { minLength: Math.max(0, least - ahead), maxLength: Math.max(0, most - ahead) })
    if (ahead === 0) return tail
    const whole = fc
      .tuple(fc.tuple(...Array.from({ length: ahead }, (_, index) => element(index))), tail)
      .map(([first, rest]) => [...first, ...rest])
    return least > 0
      ? whole
      : weighted([
          { arbitrary: whole, weight: 9 },
          { arbitrary: fc.constant([]), weight: 1 },
        ])
  }

  const objectOf = (flat: Flat, depth: number, hint: string): fc.Arbitrary<unknown> => {
    const { members, required, absent, allowed, bounds } = flat
    const possible = [...members].filter(
      ([name, subschemas]) => !absent.has(name) && (allowed?.has(name) ?? true) && alternatives(subschemas).length > 0,
    )
    const optional = possible.filter(([name]) => !required.has(name))
    // Lists and objects are what mappings work at: they are twice as likely as plain controls.
    const weights = new Map(
      optional.map(([name, subschemas]) => [
        name,
        alternatives(subschemas).some(({ types }) => types.has('array') || types.has('object')) ? 2 : 1,
      ]),
    )
    const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
    const wanted = depth > DEEPEST ? 0 : depth === 0 ? 7 : depth < 4 ? 2.5 : 1.5
    const chance = (name: string): number => Math.min(0.6, (wanted * (weights.get(name) ?? 1)) / Math.max(1, total))
    const entries: [string, fc.Arbitrary<unknown>][] = [
      ...[...required].map((name): [string, fc.Arbitrary<unknown>] => [name, build(members.get(name) ?? [], depth + 1, name)]),
      ...(wanted === 0 ? [] : optional).map(([name, subschemas]): [string, fc.Arbitrary<unknown>] => [
        name,
        mostly(chance(name), build(subschemas, depth + 1, name)),
      ]),
    ]
    const known = keyed(entries)
    const more = moreOf(flat, depth, hint)
    const parts = [...(more === undefined ? [] : [more]), known]
    if ((bounds.minProperties ?? 0) > required.size) {
      if (bounds.minProperties !== 1) throw new Error('minProperties is supported only as 1')
      parts.unshift(fc.oneof(...optional.map(([name, subschemas]) => keyed([[name, build(subschemas, depth + 1, name)]]))))
    }
    return parts.length === 1 ? known : fc.tuple(...parts).map(list => Object.assign({}, ...list) as Record<string, unknown>)
  }

  /** Members that the schema does not name. */
  const moreOf = (
    { members, absent, allowed, rest, names, bounds, types }: Flat,
    depth: number,
    hint: string,
  ): fc.Arbitrary<Record<string, unknown>> | undefined => {
    if (allowed !== undefined || depth > DEEPEST || !types.has('object')) return undefined
    const free = (bounds.maxProperties ?? 8) - members.size
    if (free < 1) return undefined
    if (rest.length > 0) {
      const key = stringFor({ hint: 'name', examples: [], patterns: [], bounds: longest(names) }).map(text =>
        members.has(text) || absent.has(text) ? `x_${text}` : text,
      )
      return fc.dictionary(key, build(rest, depth + 1, ''), { maxKeys: Math.min(free, 3) })
    }
    if (/schema|parameters/i.test(hint)) {
      return mostlyEmpty(
        0.9,
        jsonSchema.map(schema => without(schema, members, absent)),
      )
    }
    if (members.size === 0)
      return fc
        .dictionary(fc.constantFrom('a', 'city', 'type', 'name', 'x y', 'ключ', 'input'), jsonValue, { maxKeys: 3 })
        .map(value => without(value, members, absent))
    return isStrange ? mostlyEmpty(0.03, keyed([['x_unknown', jsonValue]])) : undefined
  }
  const longest = (names: readonly Subschema[]): Flat['bounds'] => (names.length === 0 ? {} : (alternatives(names)[0] as Flat).bounds)

  return { of: (...subschemas) => build(subschemas, 0, '') }
}

/** How many levels are filled freely; below only what must be there. */
const DEEPEST = 9

interface Choice {
  arbitrary: fc.Arbitrary<unknown>
  weight: number
  ends?: boolean
}

function weighted(choices: readonly Choice[]): fc.Arbitrary<unknown> {
  if (choices.length === 1) return (choices[0] as Choice).arbitrary
  return fc.oneof({ withCrossShrink: true }, ...choices.map(({ arbitrary, weight }) => ({ arbitrary, weight })))
}

function mostlyEmpty(chance: number, arbitrary: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc.oneof(
    { withCrossShrink: true },
    { arbitrary: fc.constant({}), weight: Math.round((1 - chance) * 100) },
    { arbitrary, weight: Math.round(chance * 100) },
  )
}

function without(
  value: Record<string, unknown>,
  members: ReadonlyMap<string, unknown>,
  absent: ReadonlySet<string>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !members.has(name) && !absent.has(name)))
}

function integerIn({ minimum, maximum }: Flat['bounds']): fc.Arbitrary<number> {
  const least = Math.ceil(minimum ?? -2147483648)
  const most = Math.floor(maximum ?? Number.MAX_SAFE_INTEGER)
  const near = Math.max(least, Math.min(0, most))
  return fc.oneof(
    { withCrossShrink: true },
    { arbitrary: fc.integer({ min: near, max: Math.min(most, near + 5000) }), weight: 5 },
    { arbitrary: fc.integer({ min: least, max: most }), weight: 1 },
  )
}

function numberIn({ minimum = -1000, maximum = 1_000_000 }: Flat['bounds']): fc.Arbitrary<number> {
  return fc.oneof(
    { withCrossShrink: true },
    { arbitrary: fc.constantFrom(...[minimum, maximum, 0, 1].filter(value => value >= minimum && value <= maximum)), weight: 2 },
    { arbitrary: fc.integer({ min: Math.ceil(minimum * 100), max: Math.floor(maximum * 100) }).map(value => value / 100), weight: 4 },
    // JSON has no -0.
    { arbitrary: fc.double({ min: minimum, max: maximum, noNaN: true }).map(value => value + 0), weight: 1 },
  )
}

/** One of several, and none of the others: each lacks something that the others demand. */
function exclusive(choices: readonly (readonly Flat[])[]): readonly Flat[] {
  return choices.flatMap((flats, at) =>
    flats.map(flat => {
      const absent = choices.toSpliced(at, 1).map(others => [...(others[0]?.required ?? [])].find(name => !flat.required.has(name)))
      if (absent.includes(undefined)) throw new Error('oneOf is supported only for objects with different required members')
      return { ...flat, absent: new Set([...flat.absent, ...(absent as string[])]) }
    }),
  )
}

/** A schema's own keywords, without those that choose or refer. */
function ownOf(schema: Exclude<Schema, boolean>, at: (item: unknown) => Subschema): Flat {
  const properties = Object.entries((schema.properties as Record<string, unknown> | undefined) ?? {})
  const { additionalProperties } = schema
  const isClosed = additionalProperties === false
  const bounds: Partial<Record<Bound, number>> = {}
  for (const name of [...LEAST, ...MOST]) if (typeof schema[name] === 'number') bounds[name] = schema[name] as number
  // What lies beyond a bound begins a hundredth behind it.
  if (typeof schema.exclusiveMinimum === 'number') bounds.minimum = schema.exclusiveMinimum + 0.01
  if (typeof schema.exclusiveMaximum === 'number') bounds.maximum = schema.exclusiveMaximum - 0.01
  return {
    types: schema.type === undefined ? ANYTHING.types : new Set([schema.type].flat() as Type[]),
    ...('const' in schema ? { values: [schema.const] } : Array.isArray(schema.enum) && { values: schema.enum }),
    members: new Map(properties.map(([name, item]) => [name, [at(item)]])),
    required: new Set((schema.required as string[] | undefined) ?? []),
    absent: new Set(),
    ...(isClosed && { allowed: new Set(properties.map(([name]) => name)) }),
    rest: typeof additionalProperties === 'object' ? [at(additionalProperties)] : [],
    names: schema.propertyNames === undefined ? [] : [at(schema.propertyNames)],
    lists:
      schema.items === undefined && schema.prefixItems === undefined
        ? []
        : [
            {
              prefix: ((schema.prefixItems as unknown[] | undefined) ?? []).map(at),
              ...(schema.items !== undefined && { items: at(schema.items) }),
            },
          ],
    examples: (schema.examples as unknown[] | undefined) ?? [],
    patterns: typeof schema.pattern === 'string' ? [schema.pattern] : [],
    bounds,
    weight: 1,
  }
}

/** What satisfies one of the left and one of the right. */
function both(left: readonly Flat[], right: readonly Flat[]): readonly Flat[] {
  return left
    .flatMap(one => right.map(other => (one === ANYTHING ? other : other === ANYTHING ? one : merged(one, other))))
    .filter(({ types }) => types.size > 0)
}

function merged(one: Flat, other: Flat): Flat {
  const types = new Set([...one.types].filter(type => other.types.has(type) || (type === 'integer' && other.types.has('number'))))
  if (one.types.has('number') && !other.types.has('number') && other.types.has('integer')) types.add('integer')
  const members = new Map(one.members)
  for (const [name, subschemas] of other.members) members.set(name, [...(members.get(name) ?? []), ...subschemas])
  const bounds: Partial<Record<Bound, number>> = { ...one.bounds }
  for (const name of LEAST)
    if (other.bounds[name] !== undefined) bounds[name] = Math.max(other.bounds[name], bounds[name] ?? other.bounds[name])
  for (const name of MOST)
    if (other.bounds[name] !== undefined) bounds[name] = Math.min(other.bounds[name], bounds[name] ?? other.bounds[name])
  const allowed =
    one.allowed && other.allowed ? new Set([...one.allowed].filter(name => other.allowed?.has(name))) : (one.allowed ?? other.allowed)
  const values =
    one.values && other.values
      ? one.values.filter(value => other.values?.some(item => JSON.stringify(item) === JSON.stringify(value)))
      : (one.values ?? other.values)
  return {
    types,
    ...(values && { values: values.filter(value => hasType(value, types)) }),
    members,
    required: new Set([...one.required, ...other.required]),
    absent: new Set([...one.absent, ...other.absent]),
    ...(allowed && { allowed }),
    rest: [...one.rest, ...other.rest],
    names: [...one.names, ...other.names],
    lists: [...one.lists, ...other.lists],
    examples: [...one.examples, ...other.examples],
    patterns: [...one.patterns, ...other.patterns],
    bounds,
    weight: one.weight * other.weight,
  }
}

function hasType(value: unknown, types: ReadonlySet<Type>): boolean {
  if (value === null) return types.has('null')
  if (Array.isArray(value)) return types.has('array')
  if (typeof value === 'number') return types.has('number') || (types.has('integer') && Number.isInteger(value))
  return types.has(typeof value as Type)
}
