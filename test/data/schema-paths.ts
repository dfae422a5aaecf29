// The paths of the values that a schema describes.

import { resolveReference, type Schema, type Subschema, type Union } from '../../codegen/read/schemas.js'
import { project } from '../properties/plan.js'

export type Applied = Subschema<Exclude<Schema, boolean>>

/** A schema, what it refers to, and its alternatives. */
function together(schema: unknown, base: string): Applied[] {
  if (typeof schema !== 'object' || schema === null) return schema === true ? [{ schema: {}, base }] : []
  const own = schema as Exclude<Schema, boolean>
  const target = typeof own.$ref === 'string' ? resolveReference(project.schemas, own.$ref, base) : undefined
  const others = [own.anyOf, own.oneOf, own.allOf].flatMap(list => (list as unknown[] | undefined) ?? [])
  const { union } = own as { union?: Union }
  const all = [...others, ...Object.values(union?.of ?? {})].flatMap(one => together(one, base))
  return [{ schema: own, base }, ...(target ? together(target.schema, target.base) : []), ...all]
}

/** The paths, from a schema on, of the schemas that a test picks. A schema within itself is not entered again. */
export function pathsOf(id: string, isPicked: (applied: Applied) => boolean): string[] {
  const below = (subschemas: readonly Applied[], path: string, seen: readonly unknown[]): string[] => {
    const fresh = subschemas.filter(({ schema }) => !seen.includes(schema))
    return fresh.flatMap(({ schema, base }) => {
      const known = [...seen, schema]
      return [
        ...(isPicked({ schema, base }) ? [path] : []),
        ...below(together(schema.items, base), `${path}[]`, known),
        ...below(together(schema.additionalProperties, base), `${path}.*`, known),
        ...Object.entries((schema.properties as Record<string, unknown> | undefined) ?? {}).flatMap(([name, member]) =>
          below(together(member, base), path === '' ? name : `${path}.${name}`, known),
        ),
      ]
    })
  }
  return [...new Set(below(together(project.schemas.get(id), id), '', []))]
}
