// Generates a function for each client dialect from the schema of its requests: it walks a request once and reports what
// the schema does not name (engine/wire/json/unnamed.ts). Straight code, so that it costs no more than reading the keys.
//
// An object whose schema names no member holds the application's own data, as does one with `additionalProperties: true`:
// their members are skipped.

import { comment, exactName, indented, type Js, joined, js, json } from '../jsonata/js.js'
import { resolveReference, type Schema, type SchemaSet, type Subschema, type Union } from '../read/schemas.js'

/** The facts about a value, however its schema expresses them. */
interface Form {
  members: Map<string, Subschema[]>
  /** The schemas of other members. */
  rest: Subschema[]
  items: Subschema[]
  unions: { union: Union; base: string }[]
  /** Members are named, so an unnamed one can be detected. */
  isNamed: boolean
  isOpen: boolean
  /** The members that determine the kind of the object: every member, or one of these. */
  kinds: 'each' | readonly string[] | undefined
}

/** The text of a module with a function for each name, and the names that got one. */
export function printUnnamed(set: SchemaSet, names: ReadonlyMap<string, string>): { text: string; names: ReadonlySet<string> } {
  const found = new Set<string>()
  const lines = [comment('Made from schemas/ by codegen; do not edit.')]
  const numbers = new Map<unknown, number>()
  const keyOf = (subschemas: readonly Subschema[]): string => {
    const all = subschemas.map(({ schema }) => {
      if (!numbers.has(schema)) numbers.set(schema, numbers.size)
      return numbers.get(schema) as number
    })
    return [...new Set(all)].sort((left, right) => left - right).join('&')
  }
  const printed = new Map<string, Js | undefined>()
  /** The name of the function for a value with some subschemas; undefined if there is nothing to check. */
  const print = (key: string, form: Form, isRoot = false): Js | undefined => {
    if (printed.has(key)) return printed.get(key)
    const name = js`look${printed.size}`
    // A reference back to here needs the name before the function is complete.
    const matters = (form.isNamed && !form.isOpen) || form.unions.length > 0
    printed.set(key, matters ? name : undefined)
    const inner = (subschemas: readonly Subschema[]): Js | undefined =>
      subschemas.length === 0 ? undefined : print(keyOf(subschemas), formOf(set, subschemas))
    const items = inner(form.items)
    const rest = inner(form.rest)
    const members = [...form.members].map(([member, subschemas]) => [member, inner(subschemas)] as const)
    if (!matters && items === undefined && rest === undefined && members.every(([, look]) => look === undefined)) return undefined
    printed.set(key, name)

    const body: Js[] = []
    const at = (member: string): Js => (isRoot ? json(member) : js`at + ${json(`.${member}`)}`)
    body.push(js`if (typeof value !== 'object' || value === null) return`)
    if (items === undefined) body.push(js`if (Array.isArray(value)) return`)
    else
      body.push(
        js`if (Array.isArray(value)) {`,
        js`const here = at + '[]'`,
        js`for (const item of value) ${items}(item, here, found)`,
        js`return`,
        js`}`,
      )
    const [choice] = form.unions
    if (choice !== undefined) {
      const { union } = choice
      const { by } = union
      body.push(js`const kind = value[${json(by)}]`, js`switch (kind) {`)
      for (const [tag, schema] of Object.entries(union.of)) {
        const branch = merged({ ...form, unions: [] }, formOf(set, [{ schema, base: choice.base }]))
        branch.isNamed = true
        if (!branch.members.has(by)) branch.members.set(by, [])
        const look = print(`${key}#${by}=${JSON.stringify(tag)}`, branch)
        const call = look === undefined ? js`` : js`${look}(value, at, found)`
        const isDefault = union.default === tag
        body.push(js`${isDefault ? js`case undefined: case null: ` : js``}case ${json(tag)}: ${call}; return`)
      }
      body.push(js`default: ${form.isOpen ? js`` : js`found.kind(at, ${json(by)}, kind); `}return`, js`}`)
    } else {
      const plain = members.filter(([, look]) => look === undefined).map(([member]) => member)
      const cases =
        plain.length > 0
          ? [
              js`${joined(
                plain.map(member => js`case ${json(member)}:`),
                ' ',
              )} break`,
            ]
          : []
      for (const [member, look] of members)
        if (look !== undefined) cases.push(js`case ${json(member)}: ${look}(value[key], ${at(member)}, found); break`)
      if (rest !== undefined) cases.push(js`default: ${rest}(value[key], at + '.*', found)`)
      else if (form.isNamed && !form.isOpen && form.rest.length === 0) cases.push(js`default: ${otherwise(form)}`)
      if (cases.length > 0) body.push(js`for (const key in value) switch (key) {`, ...cases.map(line => indented(1, line)), js`}`)
    }
    lines.push(js`function ${name}(value, at, found) {`, ...body.map(line => indented(1, line)), js`}`)
    return name
  }
  for (const [name, id] of names) {
    const subschemas = [{ schema: set.get(id) as Schema, base: id }]
    const look = print(`${keyOf(subschemas)} of ${name}`, formOf(set, subschemas), true)
    if (look === undefined) continue
    found.add(name)
    lines.push(js`export const ${exactName(name)} = (body, found) => ${look}(body, '', found)`)
  }
  return { text: `${lines.join('\n')}\n`, names: found }
}

/** The code for an unnamed member. */
function otherwise({ kinds }: Form): Js {
  if (kinds === 'each') return js`found.memberKind(at, key, value[key])`
  if (kinds === undefined) return js`found.member(at, key, value[key])`
  const isKnown = joined(
    kinds.map(member => js`value[${json(member)}] != null`),
    ' || ',
  )
  return js`if (${isKnown}) found.member(at, key, value[key]); else found.memberKind(at, key, value[key])`
}

function nothing(): Form {
  return { members: new Map(), rest: [], items: [], unions: [], isNamed: false, isOpen: false, kinds: undefined }
}

function merged(one: Form, other: Form): Form {
  const members = new Map(one.members)
  for (const [name, subschemas] of other.members) members.set(name, [...(members.get(name) ?? []), ...subschemas])
  return {
    members,
    rest: [...one.rest, ...other.rest],
    items: [...one.items, ...other.items],
    unions: [...one.unions, ...other.unions],
    isNamed: one.isNamed || other.isNamed,
    isOpen: one.isOpen || other.isOpen,
    kinds: one.kinds ?? other.kinds,
  }
}

/** Combines everything that some schemas say about one value; of alternatives, the union. */
function formOf(set: SchemaSet, subschemas: readonly Subschema[]): Form {
  const open = new Set<Schema>()
  const visit = ({ schema, base }: Subschema): Form => {
    if (typeof schema !== 'object' || schema === null || open.has(schema)) return nothing()
    open.add(schema)
    const own = nothing()
    if (typeof schema.properties === 'object') {
      own.isNamed = true
      for (const [name, item] of Object.entries(schema.properties as Record<string, Schema>))
        own.members.set(name, [{ schema: item, base }])
    }
    if (schema.additionalProperties === true) own.isOpen = true
    else if (typeof schema.additionalProperties === 'object') own.rest.push({ schema: schema.additionalProperties as Schema, base })
    if (typeof schema.items === 'object') own.items.push({ schema: schema.items as Schema, base })
    if (schema.kind_by_member !== undefined) own.kinds = schema.kind_by_member as Form['kinds']
    const { union } = schema as { union?: Union }
    if (union) own.unions.push({ union, base })
    let result = own
    if (typeof schema.$ref === 'string') {
      const target = resolveReference(set, schema.$ref, base)
      if (target) result = merged(result, visit(target))
    }
    for (const item of (schema.allOf as Schema[] | undefined) ?? []) result = merged(result, visit({ schema: item, base }))
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      for (const item of (schema[keyword] as Schema[] | undefined) ?? []) {
        const form = visit({ schema: item, base })
        result = merged(result, { ...form, isOpen: form.isOpen || isAnyObject(item, form) })
      }
    }
    open.delete(schema)
    return result
  }
  return subschemas.map(visit).reduce(merged, nothing())
}

/** Whether an alternative is an object without declared members. */
function isAnyObject(schema: Schema, form: Form): boolean {
  if (typeof schema !== 'object') return schema
  return [schema.type].flat().includes('object') && !form.isNamed && form.unions.length === 0 && form.rest.length === 0
}
