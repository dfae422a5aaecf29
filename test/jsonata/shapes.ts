// The strictest schema that accepts all of some values.

import { ARR, BOOL, NULL, NUM, OBJ, type Shape, STR, UNDEF } from '../../codegen/jsonata/types.js'

type Fields = Record<string, unknown>

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

function kindOf(value: unknown): number {
  if (value === null) return NULL
  if (Array.isArray(value)) return ARR
  return { undefined: UNDEF, string: STR, number: NUM, boolean: BOOL }[typeof value as string] ?? OBJ
}

export function shapeOfAll(values: readonly unknown[]): Shape {
  const bits = values.reduce<number>((sum, value) => sum | kindOf(value), 0)
  const shape: Shape = { bits }
  const texts = values.filter(value => typeof value === 'string')
  if (texts.length > 0) shape.values = [...new Set(texts)]
  const items = values.filter(value => Array.isArray(value)).flat()
  if (items.length > 0) shape.items = shapeOfAll(items)
  const objects = values.filter(isObject)
  if (objects.length === 0) return shape
  const whole: Shape = { ...shape, members: membersOf(objects), closed: true }
  const by = Object.keys(objects[0] as Fields).find(key =>
    objects.every(object => Object.hasOwn(object, key) && typeof object[key] === 'string'),
  )
  if (by === undefined) return whole
  const words = [...new Set(objects.map(object => object[by] as string))]
  const branches = words.map((word): [string, Shape] => [
    word,
    { bits: OBJ, members: membersOf(objects.filter(object => object[by] === word)), closed: true },
  ])
  return { ...whole, by, branches: new Map(branches) }
}

function membersOf(objects: readonly Fields[]): Map<string, Shape> {
  const names = new Set(objects.flatMap(object => Object.keys(object)))
  return new Map(
    [...names].map(name => [name, shapeOfAll(objects.map(object => (Object.hasOwn(object, name) ? object[name] : undefined)))]),
  )
}
