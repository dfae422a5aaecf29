// Generates code that brings accepted variants of a value into the schema's form: straight code from the schema, one
// function for each kind of value. It reads only members that the schema names, so an application's own JSON stays
// unchanged.

import { comment, exactName, type Js, joined, js, json } from '../jsonata/js.js'
import { resolveReference, type Schema, type SchemaSet, type Subschema, snakeOf, type Union } from '../read/schemas.js'

/** The leniencies that a reader may allow. */
const LENIENCIES = [
  'null_is_absent',
  'one_is_a_list',
  'number_in_text',
  'text_of_number',
  'flag_in_text',
  'enum_case',
  'enum_number',
  'snake_case_names',
  'url_safe_base64',
] as const
type Leniency = (typeof LENIENCIES)[number]

const NONE: ReadonlySet<string> = new Set()

/** A module under construction: functions that many values share are written once. */
export class Normalisers {
  private readonly texts: Js[] = []
  private readonly known = new Map<Js, Js>()

  constructor(private readonly set: SchemaSet) {}

  /** Exports a function that normalises a request. */
  addRequest(name: string, id: string, allowed: readonly string[]): void {
    this.add(name, id, { allowed: new Set(allowed), isStrict: false, spare: new Set() })
  }

  /**
   * The same for an answer. The function throws if a value has a type that cannot be converted; the `spare` members, which
   * hold usage, are left out then.
   */
  addAnswer(name: string, id: string, spare: readonly string[]): void {
    this.add(name, id, { allowed: PLAIN, isStrict: true, spare: new Set(spare) })
  }

  /** The same for an event, where no member is required: an event that lacks what a reader looks for means nothing to it. */
  addEvent(name: string, id: string, spare: readonly string[]): void {
    this.add(name, id, { allowed: PLAIN, isStrict: true, isEvent: true, spare: new Set(spare) })
  }

  private add(name: string, id: string, manner: Manner): void {
    const root = this.written(nodesOf(this.set, id), manner)
    this.texts.push(js`export const ${exactName(name)} = ${root ?? js`value => value`}`)
  }

  /** The name of a constant. */
  private constant(text: Js): Js {
    const name = this.known.get(text) ?? js`c${this.known.size}`
    if (!this.known.has(text)) this.texts.push(js`const ${name} = ${text}`)
    this.known.set(text, name)
    return name
  }

  print(engine: string): string {
    return [
      comment('Made from schemas/ by codegen; do not edit.'),
      js`import { numberIn, standardBase64, wrongType } from ${json(`${engine}/wire/json/lenient.js`)}`,
      ...this.texts,
      '',
    ].join('\n')
  }

  /** Writes a value's function, and those that it calls; returns its name, or undefined if nothing needs normalising. */
  private written(root: Value, manner: Manner): Js | undefined {
    const names = activeNames(root, manner, this.texts.length)
    for (const [value, name] of names) {
      // The spare members are top-level only, and so is what an answer cannot do without.
      const own = value === root ? manner : { ...manner, spare: NONE, isWithin: true }
      let isLeaf = true
      const calls = (inner: Value | undefined): Js | undefined => {
        const called = inner && names.get(inner)
        if (called !== undefined) isLeaf = false
        return called
      }
      const body = bodyOf(value, own, calls, text => this.constant(text))
      // A function that calls no other can be shared by schemas.
      const same = isLeaf ? this.known.get(body) : undefined
      if (isLeaf && same === undefined) this.known.set(body, name)
      this.texts.push(same === undefined ? js`function ${name}(v, at) {\n${body}\n}` : js`const ${name} = ${same}`)
    }
    return names.get(root)
  }
}

interface Manner {
  allowed: ReadonlySet<string>
  isStrict: boolean
  isEvent?: boolean
  /** The value is inside of the answer. */
  isWithin?: boolean
  spare: ReadonlySet<string>
}

/** The leniencies that are safe in an answer, because the meaning is clear although the API documents another type. */
const PLAIN: ReadonlySet<Leniency> = new Set(['null_is_absent', 'number_in_text', 'text_of_number', 'flag_in_text'])

// Schemas without references ---------------------------------------------------------------------------------------

type Type = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

interface Value {
  types: ReadonlySet<Type>
  /** All values of an enumeration, or those with known numbers. */
  words: readonly string[]
  isClosed: boolean
  numbers: Readonly<Record<string, number>>
  isBase64: boolean
  members: Map<string, Value>
  required: ReadonlySet<string>
  rest?: Value
  items?: Value
  by?: string
  branches: Map<string, Value>
  /** The branch of objects that lack the discriminator. */
  unnamed?: string
}

type Applied = Subschema<Exclude<Schema, boolean>>

const TYPES: readonly Type[] = ['null', 'boolean', 'number', 'string', 'array', 'object']

function nodesOf(set: SchemaSet, id: string): Value {
  const done = new Map<string, Value>()
  const numbers = new Map<object, number>()
  const numberOf = (schema: object): number => {
    if (!numbers.has(schema)) numbers.set(schema, numbers.size)
    return numbers.get(schema) as number
  }

  /** A schema with everything that applies beside it: its reference, and all of `allOf`. */
  const together = (schema: Schema | undefined, base: string): Applied[] => {
    if (typeof schema !== 'object') return []
    const subschemas: Applied[] = [{ schema, base }]
    if (typeof schema.$ref === 'string') {
      const target = resolveReference(set, schema.$ref, base)
      if (target) subschemas.push(...together(target.schema, target.base))
    }
    for (const item of (schema.allOf as Schema[] | undefined) ?? []) subschemas.push(...together(item, base))
    return subschemas
  }

  const nodeOf = (subschemas: readonly Applied[]): Value => {
    const key = [...new Set(subschemas.map(({ schema }) => numberOf(schema)))].sort((one, other) => one - other).join('&')
    const known = done.get(key)
    if (known) return known
    const value: Value = {
      types: new Set(TYPES),
      words: [],
      isClosed: false,
      numbers: {},
      isBase64: false,
      members: new Map(),
      required: new Set(),
      branches: new Map(),
    }
    done.set(key, value)
    fill(value, subschemas)
    return value
  }

  const fill = (value: Value, given: readonly Applied[]): void => {
    const subschemas = [...given]
    const ofObjects = [...given]
    // Of several shapes, follow the one that its type alone distinguishes.
    for (const { schema, base } of given) {
      const choices = ((schema.anyOf ?? schema.oneOf) as Schema[] | undefined)?.map(item => together(item, base))
      if (choices === undefined) continue
      narrow(value, new Set(choices.flatMap(choice => [...typesOf(choice)])))
      for (const type of ['array', 'object', 'string'] as const) {
        const able = choices.filter(choice => choice.length === 0 || typesOf(choice).has(type))
        const [only, ...others] = able
        if (only === undefined || others.length > 0) continue
        const found = only.map(subschema => ({ ...subschema, schema: onlyOf(type, subschema.schema) }))
        subschemas.push(...found)
        if (type === 'object') ofObjects.push(...found)
      }
    }
    narrow(value, typesOf(given))
    const members = new Map<string, Applied[]>()
    const items: Applied[] = []
    const rest: Applied[] = []
    const required = new Set<string>()
    const add = (name: string, found: readonly Applied[]): void => void members.set(name, [...(members.get(name) ?? []), ...found])
    for (const { schema, base } of subschemas) {
      const { enum: all, enum_numbers: numbered, contentEncoding, union } = schema as { union?: Union } & Record<string, unknown>
      const words = (Array.isArray(all) ? all : 'const' in schema ? [schema.const] : []).filter(word => typeof word === 'string')
      if (words.length > 0) Object.assign(value, { words, isClosed: true })
      if (typeof numbered === 'object') {
        value.numbers = numbered as Record<string, number>
        if (!value.isClosed) value.words = Object.keys(value.numbers)
      }
      if (contentEncoding === 'base64') value.isBase64 = true
      for (const [name, item] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}))
        add(name, together(item, base))
      for (const name of (schema.required as string[] | undefined) ?? []) required.add(name)
      items.push(...together(schema.items as Schema | undefined, base))
      rest.push(...together(schema.additionalProperties as Schema | undefined, base))
      if (union) {
        value.by = union.by
        if (union.default !== undefined) value.unnamed = union.default
        const own = ofObjects.map(subschema => ({ ...subschema, schema: without(subschema.schema) }))
        for (const [name, item] of Object.entries(union.of)) value.branches.set(name, nodeOf([...own, ...together(item, base)]))
      }
    }
    for (const [name, found] of members) value.members.set(name, nodeOf(found))
    value.required = required
    if (items.length > 0) value.items = nodeOf(items)
    if (rest.length > 0) value.rest = nodeOf(rest)
  }

  const narrow = (value: Value, types: ReadonlySet<Type>): void => {
    value.types = new Set([...value.types].filter(type => types.has(type)))
  }
  // A derived schema must be the same object each time.
  const made = new Map<string, Exclude<Schema, boolean>>()
  const remade = (key: string, make: () => Exclude<Schema, boolean>): Exclude<Schema, boolean> => {
    const schema = made.get(key) ?? make()
    made.set(key, schema)
    return schema
  }
  /** The part that applies to every branch. */
  const without = (schema: Exclude<Schema, boolean>): Exclude<Schema, boolean> =>
    ['union', 'anyOf', 'oneOf'].some(keyword => keyword in schema)
      ? remade(`${numberOf(schema)} without`, () => {
          const { union: _union, anyOf: _anyOf, oneOf: _oneOf, ...own } = schema
          return own
        })
      : schema
  const KEYWORDS = {
    array: ['items'],
    object: ['properties', 'additionalProperties', 'union', 'required'],
    string: ['enum', 'const', 'enum_numbers', 'contentEncoding'],
  }
  const onlyOf = (type: keyof typeof KEYWORDS, schema: Exclude<Schema, boolean>): Exclude<Schema, boolean> =>
    remade(`${numberOf(schema)} ${type}`, () =>
      Object.fromEntries(KEYWORDS[type].filter(keyword => keyword in schema).map(keyword => [keyword, schema[keyword]])),
    )
  const typesOf = (subschemas: readonly Applied[]): Set<Type> => {
    let types = new Set(TYPES)
    for (const { schema } of subschemas) {
      const said = [schema.type ?? []].flat().map(type => (type === 'integer' ? 'number' : type)) as Type[]
      const values = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const] : undefined
      const own: readonly Type[] | undefined = said.length > 0 ? said : values ? values.map(typeOf) : schema.union ? ['object'] : undefined
      if (own) types = new Set([...types].filter(type => own.includes(type)))
    }
    return types
  }
  return nodeOf(together(set.get(id), id))
}

function typeOf(value: unknown): Type {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : (typeof value as Type)
}

// Normalising a value ----------------------------------------------------------------------------------------------

/** The function names of all values under a root that need normalising, the root included. */
function activeNames(root: Value, manner: Manner, salt: number): Map<Value, Js> {
  const all = new Set<Value>()
  const visit = (value: Value): void => {
    if (all.has(value)) return
    all.add(value)
    for (const inner of innerOf(value)) visit(inner)
  }
  visit(root)
  const active = new Set([...all].filter(value => isActive(value, manner)))
  for (let before = -1; before !== active.size; ) {
    before = active.size
    for (const value of all) if (!active.has(value) && innerOf(value).some(inner => active.has(inner))) active.add(value)
  }
  return new Map([...active].map((value, index) => [value, js`n${salt}_${index}`]))
}

function innerOf(value: Value): Value[] {
  const more = [value.items, value.rest].filter(item => item !== undefined)
  return [...value.members.values(), ...value.branches.values(), ...more]
}

const only = ({ types }: Value, type: Type): boolean => types.has(type) && [...types].every(one => one === type || one === 'null')

function isActive(value: Value, { allowed, isStrict }: Manner): boolean {
  const { types, words, numbers, members } = value
  if (isStrict && types.size < TYPES.length) return true
  if (types.has('string') && value.isBase64 && allowed.has('url_safe_base64')) return true
  if (words.length > 0 && allowed.has('enum_case')) return true
  if (Object.keys(numbers).length > 0 && allowed.has('enum_number')) return true
  if (types.has('number') && !types.has('string') && allowed.has('number_in_text')) return true
  if (types.has('string') && !types.has('number') && words.length === 0 && allowed.has('text_of_number')) return true
  if (only(value, 'boolean') && allowed.has('flag_in_text')) return true
  if (only(value, 'array') && allowed.has('one_is_a_list')) return true
  if (allowed.has('null_is_absent')) for (const member of members.values()) if (!member.types.has('null')) return true
  return allowed.has('snake_case_names') && [...members.keys()].some(name => snakeOf(name) !== name)
}

/** The name of the function for an inner value, if it has one. */
type Calls = (value: Value | undefined) => Js | undefined

function bodyOf(value: Value, manner: Manner, names: Calls, constant: (text: Js) => Js): Js {
  const { allowed, isStrict } = manner
  const { types } = value
  const quoted = json([...types].join(' or '))
  const wrong = isStrict ? js`wrongType(at, ${quoted})` : js`v`
  const lines: Js[] = []
  const items = names(value.items)
  const eachItem =
    items === undefined ? js`` : js`for (let i = 0; i < v.length; i++) { const a = v[i], b = ${items}(a, at); if (b !== a) v[i] = b } `
  const isList = only(value, 'array') && allowed.has('one_is_a_list')

  lines.push(js`if (typeof v === 'object') {`)
  lines.push(js`if (v === null) return ${types.has('null') ? js`v` : wrong}`)
  if (types.has('array')) lines.push(js`if (Array.isArray(v)) { ${eachItem}return v }`)
  // Some writers have no empty object, and send an empty list instead.
  else if (isStrict)
    lines.push(
      js`if (Array.isArray(v)) return ${types.has('object') && value.required.size === 0 ? js`v.length === 0 ? {} : ${wrong}` : wrong}`,
    )
  else lines.push(js`if (Array.isArray(v)) return v`)
  if (types.has('object')) lines.push(...objectLines(value, manner, names))
  else if (isList) lines.push(js`v = [v]; ${eachItem}return v`)
  else lines.push(js`return ${wrong}`)
  lines.push(js`}`)

  const isWord = value.words.length > 0
  if (types.has('string')) {
    if (isWord && allowed.has('enum_case')) {
      const words = constant(wordsOf(value))
      lines.push(js`if (typeof v === 'string') return ${words}[v] ?? ${words}[v.toLowerCase()] ?? v`)
    } else if (value.isBase64 && allowed.has('url_safe_base64')) lines.push(js`if (typeof v === 'string') return standardBase64(v)`)
    if (isWord && allowed.has('enum_number') && Object.keys(value.numbers).length > 0)
      lines.push(js`if (typeof v === 'number') return ${constant(numbersOf(value))}[v] ?? v`)
    else if (!types.has('number') && !isWord && allowed.has('text_of_number')) lines.push(js`if (typeof v === 'number') return String(v)`)
  }
  if (types.has('number') && !types.has('string') && allowed.has('number_in_text'))
    lines.push(js`if (typeof v === 'string') return numberIn(v) ?? ${wrong}`)
  else if (only(value, 'boolean') && allowed.has('flag_in_text'))
    lines.push(js`if (typeof v === 'string') return v === 'true' ? true : v === 'false' ? false : ${wrong}`)
  // A single value is wrapped only if the schema expects a list of objects.
  if (isList && !isStrict) lines.push(js`v = [v]; ${eachItem}return v`)
  else if (isStrict) {
    const left = (['string', 'number', 'boolean'] as const)
      .filter(type => types.has(type))
      .map(type => js`typeof v === '${exactName(type)}'`)
    lines.push(js`return ${left.length === 0 ? wrong : left.length === 3 ? js`v` : js`${joined(left, ' || ')} ? v : ${wrong}`}`)
  } else lines.push(js`return v`)
  return joined(lines, '\n')
}

function objectLines(value: Value, manner: Manner, names: Calls): Js[] {
  const { allowed, isStrict, isEvent, isWithin } = manner
  const lines: Js[] = []
  const { by } = value
  if (by !== undefined) {
    const tag = js`v[${json(by)}]`
    lines.push(js`switch (${tag}) {`)
    for (const [name, branch] of value.branches) {
      const call = names(branch)
      if (call !== undefined) lines.push(js`case ${json(name)}: return ${call}(v, at)`)
    }
    const unnamed = value.unnamed === undefined ? undefined : value.branches.get(value.unnamed)
    const call = names(unnamed)
    if (call !== undefined) lines.push(js`case undefined: case null: return ${call}(v, at)`)
    lines.push(js`}`)
    const isThere = isEvent ? js`${tag} != null && ` : js``
    if (isStrict && unnamed === undefined) lines.push(js`if (${isThere}typeof ${tag} !== 'string') wrongType(${json(by)}, "string")`)
  }
  const cases = new Map<string, Js>()
  const renamed = new Map<string, Js>()
  for (const [name, member] of value.members) {
    const call = names(member)
    const isNull = allowed.has('null_is_absent') && !member.types.has('null')
    // A required list or object is the answer itself. One within it that is null is empty.
    const mustBe = isStrict && !isEvent && !isWithin && value.required.has(name) && (only(member, 'array') || only(member, 'object'))
    const key = json(name)
    const snake = snakeOf(name)
    const made = call === undefined ? js`a` : js`${call}(a, ${key})`
    const onNull = isNull && !mustBe ? js`if (a === null) delete v[key]; else ` : js``
    if (call !== undefined && manner.spare.has(name))
      cases.set(name, js`const a = v[key]; try { const b = ${made}; if (b !== a) v[key] = b } catch { delete v[key] }`)
    else if (onNull !== js`` || call !== undefined)
      cases.set(name, js`const a = v[key]; ${onNull}${call === undefined ? js`{}` : js`{ const b = ${made}; if (b !== a) v[key] = b }`}`)
    if (allowed.has('snake_case_names') && snake !== name)
      renamed.set(
        snake,
        js`const a = v[key]; delete v[key]; if (v[${key}] == null${isNull ? js` && a !== null` : js``}) v[${key}] = ${made}`,
      )
  }
  // A spelling that the schema also has is renamed all the same.
  const unique = [...new Map([...cases, ...renamed])].map(([name, text]) => js`case ${json(name)}: { ${text}; break }`)
  const rest = names(value.rest)
  if (rest !== undefined) unique.push(js`default: { const a = v[key], b = ${rest}(a, key); if (b !== a) v[key] = b }`)
  if (unique.length > 0) lines.push(js`for (const key in v) switch (key) {`, ...unique, js`}`)
  lines.push(js`return v`)
  return lines
}

/** Each value, also in lower case if that is not another value. */
function wordsOf({ words }: Value): Js {
  const found = new Map(words.map(word => [word, word]))
  for (const word of words) if (!found.has(word.toLowerCase())) found.set(word.toLowerCase(), word)
  return js`{ __proto__: null, ${joined(
    [...found].map(([key, word]) => js`${json(key)}: ${json(word)}`),
    ', ',
  )} }`
}

function numbersOf({ numbers }: Value): Js {
  return js`{ __proto__: null, ${joined(
    Object.entries(numbers).map(([word, number]) => js`${number}: ${json(word)}`),
    ', ',
  )} }`
}
