// What is known of values that are written down.

import { ANY, ARR, BOOL, FUN, NULL, NUM, OBJ, type Shape, STR } from '../jsonata/types.js'

/** Tables have no other rows than those that are written down. */
export function shapeOfTables(tables: Record<string, Record<string, unknown>>): Shape {
  const members = Object.entries(tables).map(([name, table]): [string, Shape] => [name, { ...shapeOfValue(table), closed: true }])
  return { bits: OBJ, members: new Map(members), closed: true }
}

/** What is known of a constant. */
export function shapeOfValue(value: unknown): Shape {
  if (value === null) return { bits: NULL }
  if (Array.isArray(value)) return { bits: ARR }
  if (typeof value === 'object')
    return { bits: OBJ, members: new Map(Object.entries(value).map(([name, item]) => [name, shapeOfValue(item)])) }
  const bits: Record<string, number> = { string: STR, number: NUM, boolean: BOOL }
  return { bits: bits[typeof value] ?? ANY & ~FUN }
}
