// The names that the schemas of answers and events list, for a check of the expressions that read them. Nothing else is taken
// from such a schema: what a provider sends need not satisfy it.

import { ANY, ARR, FUN, OBJ, type Shape } from '../jsonata/types.js'
import { bitsOfType, resolveReference, type Schema, type SchemaSet, type Subschema, type Union } from './schemas.js'

type Applied = Subschema<Schema | undefined>
type Plain = Exclude<Schema, boolean>

const COMBINED = ['anyOf', 'oneOf', 'allOf'] as const

/** The members that a schema lists, at every depth. Where one of several schemas is open, any member may be read. */
export function namesIn(set: SchemaSet, id: string): Shape {
  const numbers = new Map<object, number>()
  const known = new Map<string, Shape>()
  const numberOf = (schema: object): number => {
    const number = numbers.get(schema) ?? numbers.size
    numbers.set(schema, number)
    return number
  }

  /** The schemas that may hold for a value, without references and choices; undefined if one of them says nothing. */
  const plainOf = (subschemas: readonly Applied[]): Map<Plain, string> | undefined => {
    const found = new Map<Plain, string>()
    const visit = ({ schema, base }: Applied): boolean => {
      if (schema === false) return true
      if (schema === undefined || schema === true) return false
      if (found.has(schema)) return true
      found.set(schema, base)
      if (typeof schema.$ref === 'string') {
        const target = resolveReference(set, schema.$ref, base)
        if (target === undefined || !visit(target)) return false
      }
      const { union } = schema as { union?: Union }
      const more = [...COMBINED.flatMap(keyword => (schema[keyword] as Schema[] | undefined) ?? []), ...Object.values(union?.of ?? {})]
      for (const keyword of ['then', 'else'] as const) if (schema[keyword] !== undefined) more.push(schema[keyword] as Schema)
      return more.every(item => visit({ schema: item, base }))
    }
    return subschemas.every(visit) ? found : undefined
  }

  const shapeOf = (subschemas: readonly Applied[]): Shape => {
    const plain = plainOf(subschemas)
    if (plain === undefined) return { bits: ANY & ~FUN }
    const key = [...plain.keys()]
      .map(numberOf)
      .sort((one, other) => one - other)
      .join(' ')
    const done = known.get(key)
    if (done) return done
    const result: Shape = { bits: 0 }
    known.set(key, result)
    const members = new Map<string, Applied[]>()
    const items: Applied[] = []
    let isOpen = false
    for (const [schema, base] of plain) {
      const { union } = schema as { union?: Union }
      const combines = typeof schema.$ref === 'string' || union !== undefined || COMBINED.some(keyword => schema[keyword] !== undefined)
      const bits = bitsOfType(schema)
      if (bits !== undefined) result.bits |= bits
      else if (!combines) result.bits |= schema.properties ? OBJ : schema.items ? ARR : ANY & ~FUN
      for (const [name, item] of Object.entries((schema.properties as Record<string, Schema> | undefined) ?? {}))
        members.set(name, [...(members.get(name) ?? []), { schema: item, base }])
      if (union !== undefined && !members.has(union.by)) members.set(union.by, [{ schema: { type: 'string' }, base }])
      if (schema.items !== undefined && !Array.isArray(schema.items)) items.push({ schema: schema.items as Schema, base })
      const lists = schema.properties !== undefined || combines || schema.additionalProperties === false
      const isObject = bits === undefined ? schema.enum === undefined && !('const' in schema) : (bits & OBJ) !== 0
      if ((isObject && !lists && schema.items === undefined) || isPassing(schema)) isOpen = true
    }
    if (result.bits === 0) result.bits = ANY & ~FUN
    if (items.length > 0) result.items = shapeOf(items)
    if (members.size > 0) {
      result.members = new Map([...members].map(([name, of]) => [name, shapeOf(of)]))
      result.isNamed = !isOpen
    }
    return result
  }
  return shapeOf([{ schema: set.get(id), base: id }])
}

/** Whether a schema says that there are members that it does not list. */
function isPassing({ additionalProperties, patternProperties }: Plain): boolean {
  return patternProperties !== undefined || (additionalProperties !== undefined && additionalProperties !== false)
}
