// The shapes of constants in the data, and of requests.

import { ANY, ARR, BOOL, FUN, NULL, NUM, OBJ, type Shape, STR } from '../jsonata/types.js'
import { looseId, type SchemaSet, schemaId, shapeOf } from '../read/schemas.js'

/** Tables have only the rows that are written in the file. */
export function shapeOfTables(tables: Record<string, Record<string, unknown>>): Shape {
  const members = Object.entries(tables).map(([name, table]): [string, Shape] => [name, { ...shapeOfValue(table), closed: true }])
  const missing = { rule: 'jsonata/table', words: 'there is no table' }
  return { bits: OBJ, members: new Map(members), closed: true, isNamed: true, missing }
}

/** The shape of a constant. */
export function shapeOfValue(value: unknown): Shape {
  if (value === null) return { bits: NULL }
  if (Array.isArray(value)) return { bits: ARR }
  if (typeof value === 'object')
    return { bits: OBJ, members: new Map(Object.entries(value).map(([name, item]) => [name, shapeOfValue(item)])) }
  const bits: Record<string, number> = { string: STR, number: NUM, boolean: BOOL }
  return { bits: bits[typeof value] ?? ANY & ~FUN }
}

/** The shape of a dialect's requests that satisfy their schema; of a dialect without a schema, that they are objects. */
export function shapeOfRequest(schemas: SchemaSet, dialect: string): Shape {
  return shapeOrObject(schemas, schemaId(dialect, 'request'))
}

/** The same of requests that satisfy the loosened schema. */
export function looseShapeOfRequest(loose: SchemaSet, dialect: string): Shape {
  return shapeOrObject(loose, looseId(dialect, 'request'))
}

function shapeOrObject(schemas: SchemaSet, id: string): Shape {
  return schemas.has(id) ? shapeOf(schemas, id) : { bits: OBJ }
}
